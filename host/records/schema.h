// How a record database is opened, whichever kind its name says.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "host/records/file_system.h"
#include "host/records/sql.h"

namespace fettle::records {

struct OpenOptions {
  bool read_only = false;
  bool create = true;  // false: a missing database is NotFound
  std::chrono::milliseconds lock_wait{60'000};
  const FileSystemProbe* file_system = nullptr;  // null: the system's; must outlive the call

  // --- of servers: what happens when one is lost and comes back ---
  std::chrono::seconds server_wait{600};        // how long it is waited for, each time
  std::function<void(const std::string&)> say;  // a line for people, now and then in a wait
  std::function<bool()> give_up;                // asked several times a second in a wait
};

// `name`: a file (sqlite_file.h has its errors), or a server's database as libpq's URL,
// postgresql://USER@HOST/DATABASE (postgres_schema.h).
Result<std::unique_ptr<Connection>> open_checked(const std::string& name,
                                                 const OpenOptions& options);

// The name as it may be shown: without a URL's password.
std::string shown_database(const std::string& name);
// A server's database, no file.
bool is_server(const std::string& name);

}  // namespace fettle::records
