// Connections to a PostgreSQL server's database that outlive the server: while it is away they
// wait for it, and say so.
//
// What comes to nothing is done again in two places only. A statement outside of a transaction is
// run again if no row of it was given: whoever changes rows does so in a transaction. A transaction
// is done again by its owner (Connection::recover), also one whose COMMIT may have happened, as its
// answer was lost: what is stored a second time must find itself. (The server could be asked by the
// transaction's number, txid_status(); but after a crash it gives numbers again, to others.)
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "host/records/postgres_connect.h"
#include "host/records/sql.h"

namespace fettle::records {

class PostgresStatement;

struct PostgresOptions {
  PostgresLogin login;
  std::chrono::seconds server_wait{600};        // how long a lost server is waited for, each time
  std::function<void(const std::string&)> say;  // a line for people, now and then; may be null
};

class PostgresConnection final : public Connection {
 public:
  static Result<std::unique_ptr<PostgresConnection>> open(PostgresOptions options);
  ~PostgresConnection() override;

  Result<Statement> prepare(std::string_view sql) const override;
  Result<void> execute(const char* sql) const override;
  bool in_transaction() const override { return in_transaction_; }
  Result<void> recover(Error error) const override;

  PGconn* handle() const { return handle_.get(); }
  std::string role() const;  // who is logged in

 private:
  friend class PostgresStatement;
  explicit PostgresConnection(PostgresOptions options);
  Result<void> begin(Writers writers) const override;
  Result<void> commit() const override;
  void roll_back() const override;

  // --- for statements ---
  // The Error of `result`, after which nothing more of its statement comes.
  Error refused(const PGresult* result) const;
  // Before another statement is sent: takes in what this one has still to give.
  void take_all() const;

  Result<void> wait_for_server() const;
  // What a thread's queries change is not what its owner sees of the connection.
  PostgresOptions options_;
  mutable PostgresHandle handle_;
  mutable bool in_transaction_ = false;
  mutable Trouble trouble_ = Trouble::Final;      // of the last error
  mutable PostgresStatement* reading_ = nullptr;  // whose rows are still coming
  mutable int tries_ = 0;                         // since something was stored or read
  mutable std::chrono::steady_clock::time_point first_try_;
};

}  // namespace fettle::records
