// Tables, indexes and pragmas of the record database.
//
// Journal: write-ahead log, synchronous=NORMAL. Each trial is one transaction. A
// process killed at any moment loses nothing that was committed, as the log's pages
// are the kernel's by then; so a kill -9 costs the trials in flight only. A power
// cut may cost the last commits, never the file. FULL would make the loop wait for
// a flush of the disk per trial and guard only against the power cut. Where the
// log cannot be had (network file systems), the rollback journal is used with FULL.
#include "host/records/schema.h"

#include "host/records/migrate.h"

#include <sys/stat.h>
#include <unistd.h>
#include <fstream>

namespace fettle::records {
namespace {

// Texts that repeat (workload, target, device facts) are stored once. `outcome` is
// the whole outcome as JSON (outcome_json.h), the truth; the columns before it are
// copies of what queries filter by.
constexpr const char* kTables = R"sql(
CREATE TABLE workloads (
  id        INTEGER PRIMARY KEY,
  canonical TEXT NOT NULL,                 -- the compute DAG, JSON
  hash      TEXT NOT NULL,
  title     TEXT NOT NULL DEFAULT '',      -- for people
  source    TEXT NOT NULL DEFAULT '',      -- the operator that wrote the DAG, JSON
  UNIQUE (canonical, hash)
);
CREATE TABLE targets (
  id        INTEGER PRIMARY KEY,
  canonical TEXT NOT NULL UNIQUE
);
-- One row per state a device was seen in: a new kernel or driver is a new row.
CREATE TABLE devices (
  id           INTEGER PRIMARY KEY,
  device_key   TEXT NOT NULL,
  board_id     TEXT NOT NULL,
  device_index INTEGER NOT NULL,
  emulated     INTEGER NOT NULL DEFAULT 0,
  board_facts  TEXT NOT NULL DEFAULT '',   -- JSON; '' when not known
  device_facts TEXT NOT NULL DEFAULT '',
  UNIQUE (device_key, board_id, device_index, board_facts, device_facts)
);
CREATE TABLE sessions (
  id         INTEGER PRIMARY KEY,
  session    TEXT NOT NULL UNIQUE,         -- hex
  name       TEXT NOT NULL DEFAULT '',     -- for people: the network or file
  device_key TEXT NOT NULL DEFAULT '',
  options    TEXT NOT NULL DEFAULT '{}',   -- JSON
  seed       TEXT NOT NULL DEFAULT '0',    -- 64 bits, decimal
  software   TEXT NOT NULL DEFAULT '',
  host       TEXT NOT NULL DEFAULT '',     -- where it ran, for `state` while it runs
  process    TEXT NOT NULL DEFAULT '',
  started_ms INTEGER NOT NULL DEFAULT 0,
  ended_ms   INTEGER,
  state      TEXT NOT NULL CHECK (state IN ('running', 'finished', 'interrupted', 'failed', 'killed', 'unknown')),
  reason     TEXT NOT NULL DEFAULT ''      -- why it was interrupted or failed
);
CREATE TABLE trials (
  id            INTEGER PRIMARY KEY,
  session_id    INTEGER NOT NULL REFERENCES sessions,
  workload_id   INTEGER NOT NULL REFERENCES workloads,
  target_id     INTEGER NOT NULL REFERENCES targets,
  device_id     INTEGER NOT NULL REFERENCES devices,
  configuration TEXT NOT NULL,
  program_hash  TEXT NOT NULL,             -- '' when it was not built
  unix_ms       INTEGER NOT NULL,
  operations    REAL NOT NULL,
  peak_gflops   REAL NOT NULL,
  build_ns      INTEGER NOT NULL,
  reused        INTEGER NOT NULL,          -- 1: the outcome of an identical artifact, not measured again
  nanoseconds   REAL,                      -- median per run; NULL: failed, censored, or clock is not time
  censored      INTEGER NOT NULL DEFAULT 0,
  clock         TEXT,                      -- NULL: failed
  stage         TEXT,                      -- NULL: measured
  code          TEXT,
  message       TEXT,
  outcome       TEXT NOT NULL,
  UNIQUE (session_id, workload_id, target_id, device_id, configuration, unix_ms)
);
CREATE INDEX trials_by_task ON trials (workload_id, target_id, nanoseconds);
CREATE INDEX trials_by_program ON trials (program_hash) WHERE program_hash <> '';
CREATE TABLE calibrations (
  id          INTEGER PRIMARY KEY,
  device_id   INTEGER NOT NULL REFERENCES devices,
  threads     INTEGER NOT NULL,
  unix_ms     INTEGER NOT NULL,
  figures     TEXT NOT NULL,               -- JSON object of numbers
  UNIQUE (device_id, threads, unix_ms)
);
)sql";

Result<void> create_tables(const Connection& connection) {
  Result<Transaction> transaction = Transaction::begin(connection);
  if (!transaction) return std::move(transaction).error();
  // Another process may have been first.
  Result<std::int64_t> id = connection.number("PRAGMA application_id");
  if (!id) return std::move(id).error();
  if (*id == kApplicationId) return {};
  if (Result<void> made = connection.execute(kTables); !made) return made;
  const std::string stamp = "PRAGMA application_id=" + std::to_string(kApplicationId) +
                            ";PRAGMA user_version=" + std::to_string(kSchemaVersion);
  if (Result<void> stamped = connection.execute(stamp.c_str()); !stamped) return stamped;
  return transaction->commit();
}

Error other_application(const std::string& path) {
  return {ErrorCode::VersionMismatch,
          "'" + path + "' is another program's database: name another file for fettle's records",
          {}};
}

Error other_version(const std::string& path, std::int64_t version) {
  const std::string text = "database '" + path + "' has schema version " + std::to_string(version) +
                           ", this fettle reads version " + std::to_string(kSchemaVersion) + ": ";
  return {ErrorCode::VersionMismatch,
          text + "use the newer fettle that wrote it, or name another file",
          {}};
}

// What would run when a row is read or written, and is not fettle's.
Result<void> check_no_foreign_code(const Connection& connection) {
  Result<Statement> found = connection.prepare(
      "SELECT type, name FROM sqlite_schema WHERE type IN ('trigger', 'view') OR "
      "sql LIKE 'CREATE VIRTUAL%' LIMIT 1");
  if (!found) return std::move(found).error();
  Result<bool> row = found->step();
  if (!row) return std::move(row).error();
  if (!*row) return {};
  return Error{ErrorCode::Malformed,
               "database '" + connection.path() + "' holds a " + found->text(0) + ", '" +
                   found->text(1) + "', which fettle did not make: drop it, or name another file",
               {}};
}

// Its schema version; an empty file has got its tables.
Result<std::int64_t> checked_version(const Connection& connection, bool may_create) {
  Result<std::int64_t> id = connection.number("PRAGMA application_id");
  if (!id) return std::move(id).error();
  Result<std::int64_t> version = connection.number("PRAGMA user_version");
  if (!version) return std::move(version).error();
  if (*id == kApplicationId) {
    if (*version < 1 || *version > kSchemaVersion) {
      return other_version(connection.path(), *version);
    }
    if (Result<void> own = check_no_foreign_code(connection); !own) return std::move(own).error();
    return *version;
  }
  Result<std::int64_t> tables = connection.number("SELECT count(*) FROM sqlite_schema");
  if (!tables) return std::move(tables).error();
  if (*id != 0 || *version != 0 || *tables != 0) return other_application(connection.path());
  if (!may_create) {
    return Error{
        ErrorCode::NotFound, "'" + connection.path() + "' is empty: it holds no records", {}};
  }
  if (Result<void> made = create_tables(connection); !made) return std::move(made).error();
  return kSchemaVersion;
}

Result<void> set_journal(const Connection& connection, DatabasePlace place) {
  if (place == DatabasePlace::Network) {
    return connection.execute("PRAGMA journal_mode=DELETE; PRAGMA synchronous=FULL");
  }
  Result<Statement> statement = connection.prepare("PRAGMA journal_mode=WAL");
  if (!statement) return std::move(statement).error();
  Result<bool> row = statement->step();
  if (!row) return std::move(row).error();
  const bool wal = *row && statement->text(0) == "wal";
  return connection.execute(wal ? "PRAGMA synchronous=NORMAL" : "PRAGMA synchronous=FULL");
}

// A log file holds commits that are not in the database file yet.
bool has_log(const std::string& path) {
  struct stat facts{};
  return stat((path + "-wal").c_str(), &facts) == 0 && facts.st_size > 0;
}

// Whether its last writer left the file so that readers look for a log: bytes 18 and 19 are 2
// (sqlite.org/fileformat.html).
bool in_log_form(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char header[20] = {};
  return file.read(header, sizeof header) && header[18] == 2;
}

Error log_on_a_network(const std::string& path) {
  return {ErrorCode::Io,
          "database '" + path +
              "' is on a network file system and has a write-ahead log beside it, which works on "
              "local disks only: copy both files to one (" +
              path + " and " + path + "-wal), and open it there",
          {}};
}

// '?', '#' and '%' mean something in a URI.
std::string uri_of(const std::string& path) {
  std::string uri = "file:";
  for (const char c : path) {
    if (c == '?')
      uri += "%3f";
    else if (c == '#')
      uri += "%23";
    else if (c == '%')
      uri += "%25";
    else
      uri += c;
  }
  return uri;
}

Result<std::unique_ptr<Connection>> open_read_only(const std::string& path,
                                                   const OpenOptions& options,
                                                   DatabasePlace place) {
  // A reader of a write-ahead log writes the log's index beside it. In a folder
  // where it may not, and with no log, the file cannot change: read it as such. So on a
  // network file system, where the log's index cannot be shared.
  if (access(path.c_str(), R_OK) == 0 && !has_log(path)) {
    const std::size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    if (access(folder.c_str(), W_OK) != 0 ||
        (place == DatabasePlace::Network && in_log_form(path))) {
      return Connection::open(uri_of(path) + "?immutable=1", SQLITE_OPEN_READONLY | SQLITE_OPEN_URI,
                              options.lock_wait);
    }
  }
  return Connection::open(path, SQLITE_OPEN_READONLY, options.lock_wait);
}

}  // namespace

Result<std::unique_ptr<Connection>> open_checked(const std::string& path,
                                                 const OpenOptions& options) {
  struct stat facts{};
  const bool exists = stat(path.c_str(), &facts) == 0;
  if (path.empty()) return Error{ErrorCode::InvalidArgument, "the database has no file name", {}};
  if (exists && S_ISDIR(facts.st_mode)) {
    return Error{ErrorCode::InvalidArgument, "'" + path + "' is a folder: name a file in it", {}};
  }
  const bool may_create = options.create && !options.read_only;
  if (!exists && !may_create) {
    return Error{ErrorCode::NotFound,
                 "no database '" + path + "': 'fettle tune … --db " + path + "' makes one",
                 {}};
  }
  const Result<DatabasePlace> place = place_of(
      path, may_create, options.file_system != nullptr ? *options.file_system : system_probe());
  if (!place) return place.error();
  if (*place == DatabasePlace::Network && has_log(path)) return log_on_a_network(path);
  Result<std::unique_ptr<Connection>> opened =
      options.read_only
          ? open_read_only(path, options, *place)
          : Connection::open(path, SQLITE_OPEN_READWRITE | (may_create ? SQLITE_OPEN_CREATE : 0),
                             options.lock_wait);
  if (!opened) return std::move(opened).error();
  const Connection& connection = **opened;
  if (*place == DatabasePlace::Network && !options.read_only) {
    // Alone, SQLite needs no shared memory to leave the log's form.
    if (Result<void> left = connection.execute("PRAGMA locking_mode=EXCLUSIVE; PRAGMA "
                                               "journal_mode=DELETE; PRAGMA locking_mode=NORMAL");
        !left) {
      return std::move(left).error();
    }
  }
  Result<std::int64_t> version = checked_version(connection, may_create);
  if (!version) return std::move(version).error();
  if (options.read_only && *version < kSchemaVersion) return migrated_copy(connection, *version);
  if (!options.read_only) {
    if (sqlite3_db_readonly(connection.handle(), "main") == 1)
      return connection.error(SQLITE_READONLY);
    if (Result<void> set = set_journal(connection, *place); !set) return std::move(set).error();
    if (*version < kSchemaVersion) {
      if (Result<void> done = migrate(connection, *version); !done) return std::move(done).error();
    }
    if (Result<void> set = connection.execute("PRAGMA foreign_keys=ON"); !set)
      return std::move(set).error();
  }
  return opened;
}

}  // namespace fettle::records
