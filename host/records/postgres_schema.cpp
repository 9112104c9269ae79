// Tables in a PostgreSQL database, and rights on them (postgres_schema.h).
#include "host/records/postgres_schema.h"

#include "host/records/migrate.h"
#include "host/records/postgres_url.h"
#include "host/records/tables.h"

namespace fettle::records {
namespace {

// Says whose tables these are, and in which form.
constexpr const char* kVersionTable =
    "CREATE TABLE fettle_schema (version BIGINT NOT NULL);"
    "INSERT INTO fettle_schema (version) VALUES (";

// 0: none here. pg_class is read so that a table which another process has just made is seen: the
// name alone would be answered from what this connection knew.
Result<std::int64_t> version_of(const PostgresConnection& connection) {
  Result<std::int64_t> there =
      connection.number("SELECT count(*) FROM pg_class WHERE oid = to_regclass('fettle_schema')");
  if (!there || *there == 0) return there;
  return connection.number("SELECT max(version) FROM fettle_schema");
}

Error of_version(const PostgresConnection& connection, std::int64_t version) {
  const bool later = version > kSchemaVersion;
  return {
      ErrorCode::VersionMismatch,
      "record database '" + connection.path() + "' has schema version " + std::to_string(version) +
          ", this fettle reads version " + std::to_string(kSchemaVersion) +
          (later ? ": use the newer fettle that wrote it, or name another database"
                 : ": what its owner does that writes brings it to this one, as 'fettle records "
                   "grant' does"),
      {}};
}

// Other programs' tables of the same names are left alone.
Result<void> check_no_other_tables(const PostgresConnection& connection) {
  for (const std::string_view name : table_names()) {
    Result<Statement> find = connection.prepare("SELECT 1 WHERE to_regclass(?1) IS NOT NULL");
    if (!find) return std::move(find).error();
    const auto there = find->bind(1, name).run_for_number();
    if (!there) return there.error();
    if (*there) {
      return Error{ErrorCode::VersionMismatch,
                   "record database '" + connection.path() + "' has a table '" + std::string(name) +
                       "' that is not fettle's: name another database, or a schema of its own by "
                       "?options=-csearch_path%3DNAME",
                   {}};
    }
  }
  return {};
}

Result<void> make_tables(const PostgresConnection& connection) {
  if (Result<void> free = check_no_other_tables(connection); !free) return free;
  const std::string sql =
      create_tables(Dialect::Postgres) + kVersionTable + std::to_string(kSchemaVersion) + ");";
  return connection.execute(sql.c_str());
}

// To this version, from none or an earlier one. Under the lock that keeps everybody else out:
// another process may have been first.
Result<void> bring_to_version(const PostgresConnection& connection) {
  for (;;) {
    Result<void> done = [&]() -> Result<void> {
      Result<Transaction> transaction = Transaction::begin(connection, Writers::One);
      if (!transaction) return std::move(transaction).error();
      const Result<std::int64_t> version = version_of(connection);
      if (!version) return version.error();
      if (*version >= kSchemaVersion) return {};
      if (*version == 0) {
        if (Result<void> made = make_tables(connection); !made) return made;
        return transaction->commit();
      }
      if (Result<void> changed = change_tables(connection, *version); !changed) return changed;
      const std::string stamp =
          "UPDATE fettle_schema SET version = " + std::to_string(kSchemaVersion);
      if (Result<void> stamped = connection.execute(stamp.c_str()); !stamped) return stamped;
      return transaction->commit();
    }();
    if (done) return done;
    if (done.error().code == ErrorCode::Unauthorized) {
      return Error{ErrorCode::Unauthorized,
                   "record database '" + connection.path() + "': role '" + connection.role() +
                       "' may not make or change tables there, and they are not of this version: "
                       "let the database's owner do it, by 'fettle records grant " +
                       connection.role() + " --as writer'",
                   {}};
    }
    if (Result<void> again = connection.recover(std::move(done).error()); !again) {
      return std::move(again).error().in("making the tables of '" + connection.path() + "'");
    }
  }
}

// A role that may only read is told before any board has worked for it.
Result<void> check_may_write(const PostgresConnection& connection) {
  Result<std::int64_t> may = connection.number(
      "SELECT count(*) WHERE has_table_privilege('trials', 'INSERT') AND "
      "has_table_privilege('sessions', 'UPDATE')");
  if (!may) return std::move(may).error();
  if (*may == 0) {
    return Error{ErrorCode::Unauthorized,
                 "record database '" + connection.path() + "': role '" + connection.role() +
                     "' may only read it: its owner can let it write, 'fettle records grant " +
                     connection.role() + " --as writer', or name another role",
                 {}};
  }
  Result<std::int64_t> copy = connection.number("SELECT count(*) WHERE pg_is_in_recovery()");
  if (!copy) return std::move(copy).error();
  if (*copy == 0) return {};
  return Error{ErrorCode::Io,
               "record database '" + connection.path() +
                   "' is a standby's, which is read-only: name the primary server",
               {}};
}

}  // namespace

Result<std::unique_ptr<PostgresConnection>> open_postgres(const std::string& url,
                                                          const OpenOptions& options) {
  if (Result<void> good = check_postgres_url(url); !good) return std::move(good).error();
  PostgresOptions how;
  how.login.url = url;
  how.login.shown = without_password(url);
  how.login.read_only = options.read_only;
  how.login.lock_wait = options.lock_wait;
  how.login.give_up = options.give_up;
  how.server_wait = options.server_wait;
  how.say = options.say;
  Result<std::unique_ptr<PostgresConnection>> opened = PostgresConnection::open(std::move(how));
  if (!opened) return opened;
  const PostgresConnection& connection = **opened;
  const Result<std::int64_t> version = version_of(connection);
  if (!version) return version.error();
  if (*version > kSchemaVersion) return of_version(connection, *version);
  if (*version == 0 && (options.read_only || !options.create)) {
    return Error{ErrorCode::NotFound,
                 "'" + connection.path() +
                     "' holds no records: 'fettle tune … --db' with this name makes its tables",
                 {}};
  }
  if (*version < kSchemaVersion) {
    if (options.read_only) return of_version(connection, *version);
    if (Result<void> done = bring_to_version(connection); !done) return std::move(done).error();
  }
  if (!options.read_only) {
    if (Result<void> may = check_may_write(connection); !may) return std::move(may).error();
  }
  return opened;
}

Result<void> grant_records(const std::string& url, const std::string& role, Access access,
                           const OpenOptions& options) {
  Result<std::unique_ptr<PostgresConnection>> opened = open_postgres(url, options);
  if (!opened) return std::move(opened).error();
  const PostgresConnection& connection = **opened;
  Result<Statement> known = connection.prepare("SELECT 1 FROM pg_roles WHERE rolname = ?1");
  if (!known) return std::move(known).error();
  const auto there = known->bind(1, role).run_for_number();
  if (!there) return there.error();
  if (!*there) {
    return Error{ErrorCode::NotFound,
                 "the server of '" + connection.path() + "' has no role '" + role +
                     "': make it first (createuser " + role + ")",
                 {}};
  }
  const std::unique_ptr<char, decltype(&PQfreemem)> quoted(
      PQescapeIdentifier(connection.handle(), role.data(), role.size()), PQfreemem);
  if (!quoted) return Error{ErrorCode::InvalidArgument, "'" + role + "' is no role's name", {}};
  Result<Statement> schema = connection.prepare("SELECT quote_ident(current_schema())");
  if (!schema) return std::move(schema).error();
  if (Result<bool> row = schema->step(); !row) return std::move(row).error();
  std::string tables = "fettle_schema";
  for (const std::string_view name : table_names()) tables.append(", ").append(name);
  std::string sql = "GRANT USAGE ON SCHEMA " + schema->text(0) + " TO " + quoted.get() +
                    "; GRANT SELECT ON " + tables + " TO " + quoted.get();
  schema->reset();
  tables.erase(0, tables.find(' ') + 1);
  sql += (access == Access::Writer ? "; GRANT INSERT, UPDATE ON " : "; REVOKE INSERT, UPDATE ON ") +
         tables + (access == Access::Writer ? " TO " : " FROM ") + quoted.get();
  return connection.execute(sql.c_str());
}

}  // namespace fettle::records
