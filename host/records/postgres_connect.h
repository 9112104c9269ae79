// One connection to a PostgreSQL server, made within a time and set up as the records need it.
#pragma once

#include <libpq-fe.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "host/records/postgres_errors.h"

namespace fettle::records {

inline constexpr int kOldestPostgres = 12;  // its first to write doubles so that they read back

struct ClosePostgres {
  void operator()(PGconn* connection) const { PQfinish(connection); }
};
using PostgresHandle = std::unique_ptr<PGconn, ClosePostgres>;

struct PostgresLogin {
  std::string url, shown;  // shown: without its password
  bool read_only = false;
  std::chrono::milliseconds lock_wait{10'000};
  std::chrono::seconds most{10};  // to be let in
  std::function<bool()> give_up;  // asked several times a second; may be null
};

struct PostgresAnswer {
  PostgresHandle handle;  // null: `refusal` says why
  Refusal refusal;
};

// Errors, beside those of refused_connection():
//   VersionMismatch  the server is older than kOldestPostgres
//   Unsupported      the database's encoding is not UTF-8
//   Canceled         give_up said so
PostgresAnswer connect_postgres(const PostgresLogin& login);

}  // namespace fettle::records
