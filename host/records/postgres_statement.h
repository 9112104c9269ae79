// A statement on a PostgreSQL server: one message there, and its rows one by one as they come, so
// that a long answer is never whole in memory.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "host/records/postgres.h"

namespace fettle::records {

using PostgresResult = std::unique_ptr<PGresult, decltype(&PQclear)>;

class PostgresStatement final : public StatementBody {
 public:
  PostgresStatement(const PostgresConnection* connection, std::string sql)
      : connection_(connection), sql_(std::move(sql)), row_(nullptr, PQclear) {}
  ~PostgresStatement() override { abandon(); }
  PostgresStatement(const PostgresStatement&) = delete;

  void bind(int at, std::int64_t value) override;
  void bind(int at, double value) override;
  void bind(int at, std::string_view text) override;
  void bind_blob(int at, std::span<const std::uint8_t> bytes) override;
  void bind_null(int at) override;
  Result<bool> step() override;
  void reset() override;
  bool is_null(int column) const override;
  std::int64_t integer(int column) const override;
  double real(int column) const override;
  std::string text(int column) const override;
  std::span<const std::uint8_t> blob(int column) const override;

  // The rest of the rows into memory: the connection is wanted by another statement.
  void take_all();

 private:
  struct Value {
    std::optional<std::string> text;  // nothing: NULL
    Oid type = 0;                     // 0: as its place wants it
    bool binary = false;
  };
  enum class State { Ready, Reading, Ended };

  void put(int at, Value value);
  bool send();  // false: libpq would not
  Result<void> start();
  void abandon();
  PostgresResult next();  // null: nothing more comes

  const PostgresConnection* connection_;
  std::string sql_;
  std::vector<Value> values_;
  State state_ = State::Ready;
  std::deque<PostgresResult> taken_;
  PostgresResult row_;
  mutable std::string bytes_;  // of the last blob()
};

}  // namespace fettle::records
