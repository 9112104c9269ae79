// Statements on a PostgreSQL server (postgres_statement.h).
#include "host/records/postgres_statement.h"

#include <array>
#include <charconv>
#include <cstdlib>

#include "host/records/postgres_text.h"

namespace fettle::records {
namespace {

// Of pg_type: what a parameter is, where its place leaves it open.
constexpr Oid kBytea = 17, kInt8 = 20, kText = 25, kFloat8 = 701;
constexpr int kFewResults = 4;  // more than those are not read just to be dropped

bool holds_row(const PGresult* result) {
  return PQntuples(result) > 0 && (PQresultStatus(result) == PGRES_SINGLE_TUPLE ||
                                   PQresultStatus(result) == PGRES_TUPLES_OK);
}

bool is_error(const PGresult* result) {
  const ExecStatusType status = PQresultStatus(result);
  return status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE ||
         status == PGRES_NONFATAL_ERROR;
}

template <typename Number>
std::string text_of(Number value) {
  std::array<char, 64> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  return {digits.data(), end};
}

}  // namespace

void PostgresStatement::put(int at, Value value) {
  if (values_.size() < static_cast<std::size_t>(at)) values_.resize(static_cast<std::size_t>(at));
  values_[static_cast<std::size_t>(at) - 1] = std::move(value);
}
void PostgresStatement::bind(int at, std::int64_t value) {
  put(at, {text_of(value), kInt8, false});
}
void PostgresStatement::bind(int at, double value) { put(at, {text_of(value), kFloat8, false}); }
void PostgresStatement::bind(int at, std::string_view text) {
  put(at, {to_postgres_text(text), kText, false});
}
void PostgresStatement::bind_blob(int at, std::span<const std::uint8_t> bytes) {
  put(at, {std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), kBytea, true});
}
void PostgresStatement::bind_null(int at) { put(at, {}); }

bool PostgresStatement::send() {
  std::vector<Oid> types;
  std::vector<const char*> texts;
  std::vector<int> lengths, formats;
  for (const Value& value : values_) {
    types.push_back(value.type);
    texts.push_back(value.text ? value.text->c_str() : nullptr);
    lengths.push_back(value.text ? static_cast<int>(value.text->size()) : 0);
    formats.push_back(value.binary ? 1 : 0);
  }
  connection_->take_all();
  PGconn* handle = connection_->handle();
  if (PQsendQueryParams(handle, sql_.c_str(), static_cast<int>(values_.size()), types.data(),
                        texts.data(), lengths.data(), formats.data(), 0) != 1) {
    return false;
  }
  PQsetSingleRowMode(handle);
  connection_->reading_ = this;
  return true;
}

PostgresResult PostgresStatement::next() {
  if (!taken_.empty()) {
    PostgresResult result = std::move(taken_.front());
    taken_.pop_front();
    return result;
  }
  if (connection_->reading_ != this) return {nullptr, PQclear};
  PostgresResult result(PQgetResult(connection_->handle()), PQclear);
  if (!result) connection_->reading_ = nullptr;
  return result;
}

void PostgresStatement::take_all() {
  while (connection_->reading_ == this) {
    PostgresResult result(PQgetResult(connection_->handle()), PQclear);
    if (result)
      taken_.push_back(std::move(result));
    else
      connection_->reading_ = nullptr;
  }
}

Result<void> PostgresStatement::start() {
  for (;;) {
    const bool sent = send();
    row_ = sent ? next() : PostgresResult(nullptr, PQclear);
    if (row_ && !is_error(row_.get())) {
      state_ = State::Reading;
      return {};
    }
    Error error = connection_->refused(row_.get());
    abandon();
    if (connection_->in_transaction()) return error;
    if (Result<void> again = connection_->recover(std::move(error)); !again) return again;
  }
}

Result<bool> PostgresStatement::step() {
  if (state_ == State::Ended) return false;
  if (state_ == State::Ready) {
    if (Result<void> started = start(); !started) return std::move(started).error();
  } else {
    row_ = next();
  }
  for (; row_; row_ = next()) {
    if (is_error(row_.get())) {
      Error error = connection_->refused(row_.get());
      abandon();
      return error;
    }
    if (holds_row(row_.get())) return true;
  }
  state_ = State::Ended;
  if (!connection_->in_transaction()) connection_->tries_ = 0;
  return false;
}

// Its rows are wanted no more.
void PostgresStatement::abandon() {
  taken_.clear();
  for (int read = 0; connection_->reading_ == this; ++read) {
    // In a transaction a cancel would end that as well.
    if (read == kFewResults && !connection_->in_transaction()) {
      const std::unique_ptr<PGcancel, decltype(&PQfreeCancel)> cancel(
          PQgetCancel(connection_->handle()), PQfreeCancel);
      std::array<char, 256> why{};
      if (cancel) PQcancel(cancel.get(), why.data(), static_cast<int>(why.size()));
    }
    if (!next()) break;
  }
  row_.reset();
  state_ = State::Ready;
}

void PostgresStatement::reset() {
  abandon();
  values_.clear();
}

bool PostgresStatement::is_null(int column) const {
  return !row_ || PQgetisnull(row_.get(), 0, column) != 0;
}
std::int64_t PostgresStatement::integer(int column) const {
  return is_null(column) ? 0 : std::strtoll(PQgetvalue(row_.get(), 0, column), nullptr, 10);
}
double PostgresStatement::real(int column) const {
  if (is_null(column)) return 0;
  const char* const text = PQgetvalue(row_.get(), 0, column);
  double value = 0;
  std::from_chars(text, text + PQgetlength(row_.get(), 0, column), value);
  return value;
}
std::string PostgresStatement::text(int column) const {
  if (is_null(column)) return {};
  return from_postgres_text({PQgetvalue(row_.get(), 0, column),
                             static_cast<std::size_t>(PQgetlength(row_.get(), 0, column))});
}

std::span<const std::uint8_t> PostgresStatement::blob(int column) const {
  bytes_.clear();
  if (is_null(column)) return {};
  std::size_t size = 0;
  const auto* text = reinterpret_cast<const unsigned char*>(PQgetvalue(row_.get(), 0, column));
  const std::unique_ptr<unsigned char, decltype(&PQfreemem)> read(PQunescapeBytea(text, &size),
                                                                  PQfreemem);
  if (read) bytes_.assign(reinterpret_cast<const char*>(read.get()), size);
  return {reinterpret_cast<const std::uint8_t*>(bytes_.data()), bytes_.size()};
}

}  // namespace fettle::records
