// The rows of a broker's state in SQLite (state_file.h). Which bytes a blob has is not here
// (state_blobs.h), only that it is kept.
#pragma once

#include "host/fleet/broker_state.h"
#include "host/records/sqlite.h"

namespace fettle::fleet {

// Malformed: no state of a broker, or one of a later version. An older one becomes one of this.
// Makes the tables in an empty file, with `instance` as the broker's.
Result<void> check_tables(const records::Connection& connection, std::uint64_t instance);

// All rows; of blobs the hashes and owners. Malformed: a row that nobody wrote.
Result<BrokerState> read_rows(const records::Connection& connection);

class StateRows {
 public:
  // `connection` must outlive it.
  static Result<StateRows> prepare(const records::Connection& connection);
  // One change, in the caller's transaction.
  Result<void> apply(const StateChange& change);

 private:
  struct Row;
  explicit StateRows(std::vector<records::Statement> statements)
      : statements_(std::move(statements)) {}
  std::vector<records::Statement> statements_;  // as kStatements
};

}  // namespace fettle::fleet
