// What statements and transactions do alike on all databases (sql.h).
#include "host/records/sql.h"

namespace fettle::records {

Result<void> Statement::run() {
  for (;;) {
    Result<bool> row = step();
    if (!row) return std::move(row).error();
    if (!*row) break;
  }
  reset();
  return {};
}

Result<std::optional<std::int64_t>> Statement::run_for_number() {
  Result<bool> row = step();
  if (!row) return std::move(row).error();
  std::optional<std::int64_t> number;
  if (*row) number = integer(0);
  // To its end: there it is stored.
  if (Result<void> done = *row ? run() : Result<void>(); !done) return std::move(done).error();
  reset();
  return number;
}

Result<std::int64_t> Connection::number(std::string_view sql) const {
  Result<Statement> statement = prepare(sql);
  if (!statement) return std::move(statement).error();
  Result<bool> row = statement->step();
  if (!row) return std::move(row).error();
  if (!*row) return Error{ErrorCode::Internal, "no row from: " + std::string(sql), {}};
  return statement->integer(0);
}

Result<Transaction> Transaction::begin(const Connection& connection, Writers writers) {
  if (Result<void> begun = connection.begin(writers); !begun) return std::move(begun).error();
  return Transaction(&connection);
}

Result<void> Transaction::commit() {
  if (Result<void> done = connection_->commit(); !done) return done;
  connection_ = nullptr;
  return {};
}

Transaction::~Transaction() {
  if (connection_ != nullptr) connection_->roll_back();
}

}  // namespace fettle::records
