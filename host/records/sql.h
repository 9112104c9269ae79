// Connections, statements and transactions, whichever database is behind them: a file of SQLite's
// (sqlite.h) or a PostgreSQL server (postgres.h). SQL that reaches both is SQLite's, as far as
// PostgreSQL knows it too; dialect.h says what differs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "schemas/wire/result.h"

namespace fettle::records {

// What each kind of database does for a Statement, which says what it means.
class StatementBody {
 public:
  virtual ~StatementBody() = default;
  virtual void bind(int at, std::int64_t value) = 0;
  virtual void bind(int at, double value) = 0;
  virtual void bind(int at, std::string_view text) = 0;
  virtual void bind_blob(int at, std::span<const std::uint8_t> bytes) = 0;
  virtual void bind_null(int at) = 0;
  virtual Result<bool> step() = 0;
  virtual void reset() = 0;
  virtual bool is_null(int column) const = 0;
  virtual std::int64_t integer(int column) const = 0;
  virtual double real(int column) const = 0;
  virtual std::string text(int column) const = 0;
  virtual std::span<const std::uint8_t> blob(int column) const = 0;
};

// A prepared statement. Columns count from 0, parameters (?1, ?2, …) from 1, as in SQLite.
// Must not outlive its connection.
class Statement {
 public:
  explicit Statement(std::unique_ptr<StatementBody> body) : body_(std::move(body)) {}

  Statement& bind(int at, std::int64_t value) { return body_->bind(at, value), *this; }
  Statement& bind(int at, double value) { return body_->bind(at, value), *this; }
  Statement& bind(int at, std::string_view text) { return body_->bind(at, text), *this; }  // copied
  Statement& bind_blob(int at, std::span<const std::uint8_t> bytes) {                      // copied
    return body_->bind_blob(at, bytes), *this;
  }
  Statement& bind_null(int at) { return body_->bind_null(at), *this; }
  Statement& bind(int at, const std::optional<double>& value) {
    return value ? bind(at, *value) : bind_null(at);
  }

  // True: a row is there. False: the statement has ended.
  Result<bool> step() { return body_->step(); }
  // Runs to the end, drops rows, and makes the statement ready for new values.
  Result<void> run();
  // As run(); the first row's first column, for … RETURNING id. Nothing: there was no row.
  Result<std::optional<std::int64_t>> run_for_number();
  void reset() { body_->reset(); }

  bool is_null(int column) const { return body_->is_null(column); }
  std::int64_t integer(int column) const { return body_->integer(column); }
  double real(int column) const { return body_->real(column); }
  std::string text(int column) const { return body_->text(column); }
  // Good until the next step.
  std::span<const std::uint8_t> blob(int column) const { return body_->blob(column); }

 private:
  std::unique_ptr<StatementBody> body_;
};

// Whether transactions of this kind may write side by side, where the database can do that.
// SQLite has one writer at a time in any case.
enum class Writers { Many, One };

// For one thread at a time.
class Connection {
 public:
  virtual ~Connection() = default;
  virtual Result<Statement> prepare(std::string_view sql) const = 0;
  // One statement or several, without parameters.
  virtual Result<void> execute(const char* sql) const = 0;
  // One number that `sql` yields; `sql` must yield a row.
  Result<std::int64_t> number(std::string_view sql) const;

  virtual bool in_transaction() const = 0;
  // Behind a transaction that failed with `error` and is rolled back: success says that it is worth
  // to do the same again, now, as the server was lost and is back. Else the error to give up with.
  virtual Result<void> recover(Error error) const { return error; }
  // As people read it: a file's path, or a server's URL without its password.
  const std::string& path() const { return path_; }

 protected:
  explicit Connection(std::string path) : path_(std::move(path)) {}
  std::string path_;

 private:
  friend class Transaction;
  virtual Result<void> begin(Writers writers) const = 0;
  virtual Result<void> commit() const = 0;
  virtual void roll_back() const = 0;
};

// Rolled back when it goes out of scope uncommitted. Locks are waited for at its beginning.
class Transaction {
 public:
  static Result<Transaction> begin(const Connection& connection, Writers writers = Writers::One);
  // After an error nothing of it is stored.
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
