// The one door to SQLite: its connections and statements, which close themselves, and its result
// codes turned into Errors that name the file.
#pragma once

#include <sqlite3.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "host/records/sql.h"

namespace fettle::records {

class SqliteConnection final : public Connection {
 public:
  // flags: SQLITE_OPEN_*. lock_wait: how long a statement waits for another
  // process's lock before it fails with Timeout.
  static Result<std::unique_ptr<SqliteConnection>> open(const std::string& path, int flags,
                                                        std::chrono::milliseconds lock_wait);
  // All of `from` as it is now, in memory; errors still name its file.
  static Result<std::unique_ptr<SqliteConnection>> in_memory_copy(const SqliteConnection& from);

  Result<Statement> prepare(std::string_view sql) const override;
  Result<void> execute(const char* sql) const override;
  bool in_transaction() const override { return sqlite3_get_autocommit(handle_.get()) == 0; }

  // The error that `code` (an extended SQLite result code) stands for.
  Error error(int code) const;
  sqlite3* handle() const { return handle_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* c) const { sqlite3_close_v2(c); }
  };
  SqliteConnection(std::string path, sqlite3* handle, std::chrono::milliseconds lock_wait)
      : Connection(std::move(path)), handle_(handle), lock_wait_(lock_wait) {}
  Result<void> begin(Writers writers) const override;
  Result<void> commit() const override;
  void roll_back() const override;

  std::unique_ptr<sqlite3, Close> handle_;
  std::chrono::milliseconds lock_wait_;
};

}  // namespace fettle::records
