// The one door to SQLite: connections, statements and transactions that close
// themselves, and SQLite's result codes turned into Errors that name the file.
#pragma once

#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "schemas/wire/result.h"

namespace fettle::records {

class Connection;

// A prepared statement. Columns count from 0, parameters from 1, as in SQLite.
// Must not outlive its connection.
class Statement {
 public:
  Statement& bind(int at, std::int64_t value);
  Statement& bind(int at, double value);
  Statement& bind(int at, std::string_view text);                     // copied
  Statement& bind_blob(int at, std::span<const std::uint8_t> bytes);  // copied
  Statement& bind_null(int at);
  Statement& bind(int at, const std::optional<double>& value) {
    return value ? bind(at, *value) : bind_null(at);
  }
  // True: a row is there. False: the statement has ended.
  Result<bool> step();
  // Runs to the end, drops rows, and makes the statement ready for new values.
  Result<void> run();
  void reset();

  bool is_null(int column) const;
  std::int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;
  std::span<const std::uint8_t> blob(int column) const;  // good until the next step

 private:
  friend class Connection;
  struct Finalize {
    void operator()(sqlite3_stmt* s) const { sqlite3_finalize(s); }
  };
  Statement(const Connection* connection, sqlite3_stmt* handle)
      : connection_(connection), handle_(handle) {}
  const Connection* connection_;
  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
};

class Connection {
 public:
  // flags: SQLITE_OPEN_*. lock_wait: how long a statement waits for another
  // process's lock before it fails with Timeout.
  static Result<std::unique_ptr<Connection>> open(const std::string& path, int flags,
                                                  std::chrono::milliseconds lock_wait);
  // All of `from` as it is now, in memory; errors still name its file.
  static Result<std::unique_ptr<Connection>> in_memory_copy(const Connection& from);
  Result<Statement> prepare(std::string_view sql) const;
  Result<void> execute(const char* sql) const;
  // One number that `sql` yields; `sql` must yield a row.
  Result<std::int64_t> number(std::string_view sql) const;

  // The error that `code` (an extended SQLite result code) stands for.
  Error error(int code) const;
  std::int64_t last_row() const { return sqlite3_last_insert_rowid(handle_.get()); }
  int changes() const { return sqlite3_changes(handle_.get()); }
  bool in_transaction() const { return sqlite3_get_autocommit(handle_.get()) == 0; }
  const std::string& path() const { return path_; }
  sqlite3* handle() const { return handle_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* c) const { sqlite3_close_v2(c); }
  };
  Connection(std::string path, sqlite3* handle, std::chrono::milliseconds lock_wait)
      : path_(std::move(path)), handle_(handle), lock_wait_(lock_wait) {}
  std::string path_;
  std::unique_ptr<sqlite3, Close> handle_;
  std::chrono::milliseconds lock_wait_;
};

// BEGIN IMMEDIATE … COMMIT; rolled back when it goes out of scope uncommitted.
class Transaction {
 public:
  static Result<Transaction> begin(const Connection& connection);
  Result<void> commit();
  Transaction(Transaction&& other) noexcept
      : connection_(std::exchange(other.connection_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();

 private:
  explicit Transaction(const Connection* connection) : connection_(connection) {}
  const Connection* connection_;  // null: ended
};

}  // namespace fettle::records
