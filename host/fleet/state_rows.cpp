// Tables and rows of a broker's state (state_rows.h).
#include "host/fleet/state_rows.h"

#include <algorithm>
#include <cstring>

#include "schemas/wire/limits.h"

namespace fettle::fleet {
namespace {

using records::Connection;
using records::Statement;

constexpr std::int64_t kApplication = 0x46425354;  // "FBST"
constexpr std::int64_t kVersion = 3;               // 1: without reservations; 2: without kinds

constexpr const char* kTables =
    "CREATE TABLE run (instance INTEGER NOT NULL);"
    "CREATE TABLE sessions (client INTEGER, session INTEGER, key TEXT NOT NULL, key_name TEXT NOT "
    "NULL, device_key TEXT NOT NULL, name TEXT NOT NULL, priority INTEGER, number INTEGER, "
    "PRIMARY KEY (client, session)) WITHOUT ROWID;"
    "CREATE TABLE trials (client INTEGER, session INTEGER, trial INTEGER, board TEXT NOT NULL, "
    "request BLOB NOT NULL, blobs BLOB NOT NULL, attempts INTEGER NOT NULL, lease INTEGER, "
    "agent_key TEXT, agent_name TEXT, agent_boards TEXT, agent_device_keys TEXT, "
    "agent_instance INTEGER, agent_board TEXT, device INTEGER, allowed_ms INTEGER, "
    "PRIMARY KEY (client, session, trial));"
    "CREATE TABLE outcomes (client INTEGER, session INTEGER, trial INTEGER, message BLOB NOT NULL, "
    "PRIMARY KEY (client, session, trial));"
    "CREATE TABLE pins (key TEXT PRIMARY KEY, name TEXT NOT NULL, device_keys TEXT NOT NULL, board "
    "TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE blobs (hash TEXT PRIMARY KEY, owner TEXT NOT NULL) WITHOUT ROWID;";
constexpr const char* kKinds = "ALTER TABLE sessions ADD COLUMN kind TEXT NOT NULL DEFAULT ''";
constexpr const char* kReservations =
    "CREATE TABLE reservations (board TEXT PRIMARY KEY, board_name TEXT NOT NULL, key TEXT NOT "
    "NULL, key_name TEXT NOT NULL, note TEXT NOT NULL, until_unix_ms INTEGER NOT NULL) "
    "WITHOUT ROWID;";

enum Write : std::size_t {
  kAddSession,
  kDropSession,
  kDropTrials,
  kDropOutcomes,
  kAddTrial,
  kAddLease,
  kDropLease,
  kDropTrial,
  kAddOutcome,
  kDropOutcome,
  kAddPin,
  kDropPin,
  kAddBlob,
  kDropBlob,
  kAddReservation,
  kDropReservation
};
constexpr const char* kStatements[] = {
    "INSERT OR REPLACE INTO sessions VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    "DELETE FROM sessions WHERE client = ?1 AND session = ?2",
    "DELETE FROM trials WHERE client = ?1 AND session = ?2",
    "DELETE FROM outcomes WHERE client = ?1 AND session = ?2",
    "INSERT OR REPLACE INTO trials (client, session, trial, board, request, blobs, attempts) "
    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    "UPDATE trials SET attempts = ?4, lease = ?5, agent_key = ?6, agent_name = ?7, "
    "agent_boards = ?8, agent_device_keys = ?9, agent_instance = ?10, agent_board = ?11, "
    "device = ?12, allowed_ms = ?13 WHERE client = ?1 AND session = ?2 AND trial = ?3",
    "UPDATE trials SET lease = NULL, attempts = ?4 "
    "WHERE client = ?1 AND session = ?2 AND trial = ?3",
    "DELETE FROM trials WHERE client = ?1 AND session = ?2 AND trial = ?3",
    "INSERT OR REPLACE INTO outcomes VALUES (?1, ?2, ?3, ?4)",
    "DELETE FROM outcomes WHERE client = ?1 AND session = ?2 AND trial = ?3",
    "INSERT OR REPLACE INTO pins VALUES (?1, ?2, ?3, ?4)",
    "DELETE FROM pins WHERE key = ?1",
    "INSERT OR REPLACE INTO blobs VALUES (?1, ?2)",
    "DELETE FROM blobs WHERE hash = ?1",
    "INSERT OR REPLACE INTO reservations VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    "DELETE FROM reservations WHERE board = ?1",
};

std::int64_t signed_of(std::uint64_t value) { return static_cast<std::int64_t>(value); }
std::uint64_t unsigned_of(std::int64_t value) { return static_cast<std::uint64_t>(value); }

// Words of an allow list have no spaces.
std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : " ") + word;
  return all;
}
std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

std::vector<wire::Hash> hashes_of(ByteView bytes) {
  std::vector<wire::Hash> all(bytes.size() / sizeof(wire::Hash));
  if (!all.empty()) std::memcpy(all.data(), bytes.data(), all.size() * sizeof(wire::Hash));
  return all;
}
ByteView bytes_of(const std::vector<wire::Hash>& hashes) {
  return {reinterpret_cast<const std::uint8_t*>(hashes.data()), hashes.size() * sizeof(wire::Hash)};
}

std::int64_t unix_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<milliseconds>(now).count();
}

SharedBytes shared(ByteView bytes) { return share({bytes.begin(), bytes.end()}); }

SessionKey session_at(const Statement& row) {
  return {unsigned_of(row.integer(0)), unsigned_of(row.integer(1))};
}
TrialKey trial_at(const Statement& row) { return {session_at(row), unsigned_of(row.integer(2))}; }

// Calls `take` for each row of `sql`.
template <typename Take>
Result<void> each_row(const Connection& connection, const char* sql, const Take& take) {
  auto statement = connection.prepare(sql);
  if (!statement) return std::move(statement).error();
  while (true) {
    auto row = statement->step();
    if (!row) return std::move(row).error();
    if (!*row) return {};
    if (auto taken = take(*statement); !taken) return taken;
  }
}

Result<void> read_trial(const Statement& row, BrokerState& state) {
  const ByteView blobs = row.blob(5);
  if (blobs.size() % sizeof(wire::Hash) != 0 || row.blob(4).empty()) {
    return Error{ErrorCode::Malformed, "a trial without a request, or with half a hash"};
  }
  const TrialKey key = trial_at(row);
  const auto attempts = static_cast<std::uint32_t>(row.integer(6));
  state.trials.push_back({key, row.text(3), shared(row.blob(4)), hashes_of(blobs), attempts});
  if (row.is_null(7)) return {};
  SavedLease lease;
  lease.key = key;
  lease.lease = unsigned_of(row.integer(7));
  lease.who = {row.text(9), wire::Role::Agent, row.text(8), split(row.text(11)),
               split(row.text(10))};
  lease.agent_instance = unsigned_of(row.integer(12));
  lease.board_id = row.text(13);
  lease.device = static_cast<std::uint32_t>(row.integer(14));
  lease.allowed = milliseconds(row.integer(15));
  lease.attempts = attempts;
  if (lease.lease == 0 || lease.agent_instance == 0 || lease.device >= limits::kDevices) {
    return Error{ErrorCode::Malformed, "a lease that no broker gave"};
  }
  state.leases.push_back(std::move(lease));
  return {};
}

// Half of it may have been overwritten: not found out by chance later.
Result<void> check_pages(const Connection& connection) {
  auto check = connection.prepare("PRAGMA quick_check(1)");
  if (!check) return std::move(check).error();
  const auto row = check->step();
  if (!row) return row.error();
  if (!*row || check->text(0) != "ok") {
    return Error{ErrorCode::Malformed, *row ? check->text(0) : "no answer from quick_check"};
  }
  return {};
}

}  // namespace

Result<void> check_tables(const Connection& connection, std::uint64_t instance) {
  const auto application = connection.number("PRAGMA application_id");
  if (!application) return application.error();
  const auto version = connection.number("PRAGMA user_version");
  if (!version) return version.error();
  if (*application == 0 && *version == 0) {
    const auto others = connection.number("SELECT count(*) FROM sqlite_schema");
    if (!others) return others.error();
    if (*others != 0) return Error{ErrorCode::Malformed, "it is a database of something else"};
    auto transaction = records::Transaction::begin(connection);
    if (!transaction) return std::move(transaction).error();
    for (const std::string& sql :
         {std::string(kTables), std::string(kReservations), std::string(kKinds),
          "PRAGMA application_id = " + std::to_string(kApplication),
          "PRAGMA user_version = " + std::to_string(kVersion),
          "INSERT INTO run VALUES (" + std::to_string(signed_of(instance)) + ")"}) {
      if (auto done = connection.execute(sql.c_str()); !done) return done;
    }
    return transaction->commit();
  }
  if (*application == kApplication && *version >= 1 && *version < kVersion) {
    if (auto whole = check_pages(connection); !whole) return whole;
    auto transaction = records::Transaction::begin(connection);
    if (!transaction) return std::move(transaction).error();
    for (const std::string& sql :
         {std::string(*version < 2 ? kReservations : ""), std::string(kKinds),
          "PRAGMA user_version = " + std::to_string(kVersion)}) {
      if (auto done = connection.execute(sql.c_str()); !done) return done;
    }
    return transaction->commit();
  }
  if (*application == kApplication && *version > kVersion) {
    return Error{ErrorCode::VersionMismatch,
                 "it was written by a later fettle (state of version " + std::to_string(*version) +
                     ", this one knows " + std::to_string(kVersion) +
                     "): start that one, or give this broker another folder (--state)"};
  }
  if (*application != kApplication || *version != kVersion) {
    return Error{ErrorCode::Malformed, "it is no broker's state of version " +
                                           std::to_string(kVersion) + " (application " +
                                           std::to_string(*application) + ", version " +
                                           std::to_string(*version) + ")"};
  }
  return check_pages(connection);
}

Result<BrokerState> read_rows(const Connection& connection) {
  BrokerState state;
  const auto instance = connection.number("SELECT instance FROM run");
  if (!instance) return instance.error();
  state.instance = unsigned_of(*instance);
  if (state.instance == 0) return Error{ErrorCode::Malformed, "a broker without an instance"};
  auto read = each_row(connection, "SELECT * FROM sessions", [&](const Statement& row) {
    state.sessions.push_back({session_at(row),
                              {row.text(3), wire::Role::Client, row.text(2), {}, {}},
                              row.text(4),
                              row.text(5),
                              static_cast<int>(row.integer(6)),
                              unsigned_of(row.integer(7)),
                              row.text(8)});
    return Result<void>();
  });
  if (read) {
    read = each_row(connection, "SELECT * FROM trials ORDER BY rowid",
                    [&](const Statement& row) { return read_trial(row, state); });
  }
  if (read) {
    read = each_row(connection, "SELECT * FROM outcomes ORDER BY rowid", [&](const Statement& row) {
      state.outcomes.push_back({trial_at(row), shared(row.blob(3))});
      return Result<void>();
    });
  }
  if (read) {
    read = each_row(connection, "SELECT * FROM pins", [&](const Statement& row) {
      state.pins.push_back(
          {{row.text(1), wire::Role::Agent, row.text(0), split(row.text(2)), {}}, row.text(3)});
      return Result<void>();
    });
  }
  if (read) {
    const std::int64_t now = unix_ms();
    read = each_row(connection, "SELECT * FROM reservations", [&](const Statement& row) {
      const std::int64_t until = row.integer(5);
      if (until < 0 || until > (std::int64_t{1} << 50)) {
        return Result<void>(Error{ErrorCode::Malformed, "a reservation until no time there is"});
      }
      state.reservations.push_back({row.text(0),
                                    row.text(1),
                                    {row.text(3), wire::Role::Client, row.text(2), {}, {}},
                                    row.text(4),
                                    milliseconds(until - now)});
      return Result<void>();
    });
  }
  if (!read) return std::move(read).error();
  return state;
}

Result<StateRows> StateRows::prepare(const Connection& connection) {
  std::vector<Statement> statements;
  for (const char* sql : kStatements) {
    auto statement = connection.prepare(sql);
    if (!statement) return std::move(statement).error();
    statements.push_back(std::move(*statement));
  }
  return StateRows(std::move(statements));
}

// What each change writes.
struct StateRows::Row {
  std::vector<Statement>& statements;

  static Statement& with(Statement& statement, const SessionKey& key) {
    return statement.bind(1, signed_of(key.client)).bind(2, signed_of(key.session));
  }
  static Statement& with(Statement& statement, const TrialKey& key) {
    return with(statement, key.session).bind(3, signed_of(key.trial));
  }
  Result<void> operator()(const SavedSession& saved) {
    return with(statements[kAddSession], saved.key)
        .bind(3, std::string_view(saved.who.public_key))
        .bind(4, std::string_view(saved.who.name))
        .bind(5, std::string_view(saved.device_key))
        .bind(6, std::string_view(saved.name))
        .bind(7, std::int64_t{saved.priority})
        .bind(8, signed_of(saved.number))
        .bind(9, std::string_view(saved.kind))
        .run();
  }
  Result<void> operator()(const SessionEnded& ended) {
    for (const Write write : {kDropSession, kDropTrials, kDropOutcomes}) {
      if (auto done = with(statements[write], ended.key).run(); !done) return done;
    }
    return {};
  }
  Result<void> operator()(const SavedTrial& saved) {
    return with(statements[kAddTrial], saved.key)
        .bind(4, std::string_view(saved.board_id))
        .bind_blob(5, *saved.request)
        .bind_blob(6, bytes_of(saved.blobs))
        .bind(7, std::int64_t{saved.attempts})
        .run();
  }
  Result<void> operator()(const SavedLease& saved) {
    return with(statements[kAddLease], saved.key)
        .bind(4, std::int64_t{saved.attempts})
        .bind(5, signed_of(saved.lease))
        .bind(6, std::string_view(saved.who.public_key))
        .bind(7, std::string_view(saved.who.name))
        .bind(8, std::string_view(joined(saved.who.boards)))
        .bind(9, std::string_view(joined(saved.who.device_keys)))
        .bind(10, signed_of(saved.agent_instance))
        .bind(11, std::string_view(saved.board_id))
        .bind(12, std::int64_t{saved.device})
        .bind(13, std::int64_t{saved.allowed.count()})
        .run();
  }
  Result<void> operator()(const LeaseEnded& ended) {
    return with(statements[kDropLease], ended.key).bind(4, std::int64_t{ended.attempts}).run();
  }
  Result<void> operator()(const SavedOutcome& saved) {
    if (auto done = with(statements[kDropTrial], saved.key).run(); !done) return done;
    return with(statements[kAddOutcome], saved.key).bind_blob(4, *saved.message).run();
  }
  Result<void> operator()(const OutcomeForgotten& forgotten) {
    return with(statements[kDropOutcome], forgotten.key).run();
  }
  Result<void> operator()(const SavedPin& pin) {
    return statements[kAddPin]
        .bind(1, std::string_view(pin.who.public_key))
        .bind(2, std::string_view(pin.who.name))
        .bind(3, std::string_view(joined(pin.who.device_keys)))
        .bind(4, std::string_view(pin.board))
        .run();
  }
  Result<void> operator()(const PinGone& gone) {
    return statements[kDropPin].bind(1, std::string_view(gone.public_key)).run();
  }
  Result<void> operator()(const SavedReservation& saved) {
    return statements[kAddReservation]
        .bind(1, std::string_view(saved.board_id))
        .bind(2, std::string_view(saved.board_name))
        .bind(3, std::string_view(saved.who.public_key))
        .bind(4, std::string_view(saved.who.name))
        .bind(5, std::string_view(saved.note))
        .bind(6, unix_ms() + std::int64_t{saved.left.count()})
        .run();
  }
  Result<void> operator()(const ReservationEnded& ended) {
    return statements[kDropReservation].bind(1, std::string_view(ended.board_id)).run();
  }
  Result<void> operator()(const SavedBlob& saved) {
    return statements[kAddBlob]
        .bind(1, std::string_view(to_hex(saved.hash)))
        .bind(2, std::string_view(saved.owner))
        .run();
  }
  Result<void> operator()(const BlobGone& gone) {
    return statements[kDropBlob].bind(1, std::string_view(to_hex(gone.hash))).run();
  }
};

Result<void> StateRows::apply(const StateChange& change) {
  return std::visit(Row{statements_}, change);
}

}  // namespace fettle::fleet
