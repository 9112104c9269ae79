// A file as a record database: opened, checked, made (sqlite_file.h).
//
// Journal: write-ahead log, synchronous=NORMAL. Each trial is one transaction. A
// process killed at any moment loses nothing that was committed, as the log's pages
// are the kernel's by then; so a kill -9 costs the trials in flight only. A power
// cut may cost the last commits, never the file. FULL would make the loop wait for
// a flush of the disk per trial and guard only against the power cut. Where the
// log cannot be had (network file systems), the rollback journal is used with FULL.
#include "host/records/sqlite_file.h"

#include <sys/stat.h>
#include <unistd.h>
#include <fstream>

#include "host/records/migrate.h"
#include "host/records/tables.h"

namespace fettle::records {
namespace {

Result<void> make_tables(const Connection& connection) {
  Result<Transaction> transaction = Transaction::begin(connection);
  if (!transaction) return std::move(transaction).error();
  // Another process may have been first.
  Result<std::int64_t> id = connection.number("PRAGMA application_id");
  if (!id) return std::move(id).error();
  if (*id == kApplicationId) return {};
  if (Result<void> made = connection.execute(create_tables(Dialect::Sqlite).c_str()); !made)
    return made;
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
  if (Result<void> made = make_tables(connection); !made) return std::move(made).error();
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

Result<std::unique_ptr<SqliteConnection>> open_read_only(const std::string& path,
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
      return SqliteConnection::open(uri_of(path) + "?immutable=1",
                                    SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, options.lock_wait);
    }
  }
  // Of those that only read, none may take the log's files away at its end, and they would stay.
  const bool cleans = place == DatabasePlace::Local && access(path.c_str(), W_OK) == 0;
  auto opened = SqliteConnection::open(path, cleans ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY,
                                       options.lock_wait);
  if (!opened || !cleans) return opened;
  if (auto held = (*opened)->execute("PRAGMA query_only=ON"); !held) {
    return std::move(held).error();
  }
  return opened;
}

}  // namespace

Result<std::unique_ptr<SqliteConnection>> open_file(const std::string& path,
                                                    const OpenOptions& options) {
  struct stat facts{};
  const bool exists = stat(path.c_str(), &facts) == 0;
  if (path.empty()) return Error{ErrorCode::InvalidArgument, "the database has no file name", {}};
  if (path == ":memory:") {
    return Error{ErrorCode::InvalidArgument,
                 "':memory:' would keep nothing: name a file (one of that name: './:memory:')",
                 {}};
  }
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
  Result<std::unique_ptr<SqliteConnection>> opened =
      options.read_only ? open_read_only(path, options, *place)
                        : SqliteConnection::open(
                              path, SQLITE_OPEN_READWRITE | (may_create ? SQLITE_OPEN_CREATE : 0),
                              options.lock_wait);
  if (!opened) return std::move(opened).error();
  const SqliteConnection& connection = **opened;
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
