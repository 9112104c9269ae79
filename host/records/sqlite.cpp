// SQLite calls and what their failures mean to a user.
#include "host/records/sqlite.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace fettle::records {

namespace {

class SqliteStatement final : public StatementBody {
 public:
  SqliteStatement(const SqliteConnection* connection, sqlite3_stmt* handle)
      : connection_(connection), handle_(handle) {}

  void bind(int at, std::int64_t value) override { sqlite3_bind_int64(handle_.get(), at, value); }
  void bind(int at, double value) override { sqlite3_bind_double(handle_.get(), at, value); }
  void bind(int at, std::string_view text) override {
    sqlite3_bind_text64(handle_.get(), at, text.data() == nullptr ? "" : text.data(), text.size(),
                        SQLITE_TRANSIENT, SQLITE_UTF8);
  }
  void bind_blob(int at, std::span<const std::uint8_t> bytes) override {
    if (bytes.empty())
      sqlite3_bind_zeroblob(handle_.get(), at, 0);
    else
      sqlite3_bind_blob64(handle_.get(), at, bytes.data(), bytes.size(), SQLITE_TRANSIENT);
  }
  void bind_null(int at) override { sqlite3_bind_null(handle_.get(), at); }

  Result<bool> step() override {
    errno = 0;
    const int code = sqlite3_step(handle_.get());
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) return false;
    Error error = connection_->error(code);
    sqlite3_reset(handle_.get());
    return error;
  }
  void reset() override {
    sqlite3_reset(handle_.get());
    sqlite3_clear_bindings(handle_.get());
  }

  bool is_null(int column) const override {
    return sqlite3_column_type(handle_.get(), column) == SQLITE_NULL;
  }
  std::int64_t integer(int column) const override {
    return sqlite3_column_int64(handle_.get(), column);
  }
  double real(int column) const override { return sqlite3_column_double(handle_.get(), column); }
  std::string text(int column) const override {
    const unsigned char* bytes = sqlite3_column_text(handle_.get(), column);
    if (bytes == nullptr) return {};
    return {reinterpret_cast<const char*>(bytes),
            static_cast<std::size_t>(sqlite3_column_bytes(handle_.get(), column))};
  }
  std::span<const std::uint8_t> blob(int column) const override {
    const void* bytes = sqlite3_column_blob(handle_.get(), column);
    if (bytes == nullptr) return {};
    return {static_cast<const std::uint8_t*>(bytes),
            static_cast<std::size_t>(sqlite3_column_bytes(handle_.get(), column))};
  }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* s) const { sqlite3_finalize(s); }
  };
  const SqliteConnection* connection_;
  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
};

// A database file may come from anybody: its schema calls no function that reaches out of it,
// nothing edits the schema as text, and cells are looked at before they are read.
void distrust(sqlite3* handle) {
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
#ifdef SQLITE_DBCONFIG_TRUSTED_SCHEMA  // 3.31; Ubuntu 20.04 has it
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
#endif
  // Read from the file's first page, which may be damaged: who asks next hears of it.
  (void)sqlite3_exec(handle, "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON", nullptr,
                     nullptr, nullptr);
}

// 0 where files can be made in the folder of `path`, else errno's reason; ENOENT: no such folder.
int why_no_file(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  return access(folder.c_str(), W_OK) == 0 ? 0 : errno;
}

// SQLite tells of what it did next: that a file (beside it, or to be read) is not there.
bool lies_read_only(const std::string& path) { return why_no_file(path) == EROFS; }

std::string why_not_opened(const std::string& path, int system, const std::string& detail) {
  if (system == ENOENT && why_no_file(path) != 0) system = why_no_file(path);
  return system != 0 ? std::strerror(system) : detail;
}

}  // namespace

Result<std::unique_ptr<SqliteConnection>> SqliteConnection::open(
    const std::string& path, int flags, std::chrono::milliseconds lock_wait) {
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags | SQLITE_OPEN_EXRESCODE, nullptr);
  std::unique_ptr<SqliteConnection> connection(new SqliteConnection(path, handle, lock_wait));
  if (handle == nullptr) return Error{ErrorCode::OutOfMemory, "SQLite could not be started", {}};
  if (code != SQLITE_OK) return connection->error(code);
  sqlite3_busy_timeout(handle, static_cast<int>(lock_wait.count()));
  distrust(handle);
  return connection;
}

Result<Statement> SqliteConnection::prepare(std::string_view sql) const {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                                      &statement, nullptr);
  if (code != SQLITE_OK) return error(code);
  return Statement(std::make_unique<SqliteStatement>(this, statement));
}

Result<void> SqliteConnection::execute(const char* sql) const {
  errno = 0;
  const int code = sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return error(code);
  return {};
}

Result<std::unique_ptr<SqliteConnection>> SqliteConnection::in_memory_copy(
    const SqliteConnection& from) {
  Result<std::unique_ptr<SqliteConnection>> copy =
      open(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, from.lock_wait_);
  if (!copy) return copy;
  (*copy)->path_ = from.path_;
  sqlite3_backup* backup = sqlite3_backup_init((*copy)->handle(), "main", from.handle(), "main");
  if (backup == nullptr) return (*copy)->error(sqlite3_errcode((*copy)->handle()));
  const int stepped = sqlite3_backup_step(backup, -1);
  const int finished = sqlite3_backup_finish(backup);
  if (stepped != SQLITE_DONE) return from.error(finished != SQLITE_OK ? finished : stepped);
  return copy;
}

Error SqliteConnection::error(int code) const {
  const int last = errno;  // before anything else here touches it
  const std::string name = "database '" + path_ + "'";
  const std::string detail =
      handle_ ? std::string(sqlite3_errmsg(handle_.get())) : std::string(sqlite3_errstr(code));
  // SQLite knows it for most calls, but not for a COMMIT: then errno still has it.
  const int known = handle_ ? sqlite3_system_errno(handle_.get()) : 0;
  const int system = known != 0 ? known : last;
  const int primary = code & 0xff;
  const bool io = primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN;
  if (primary == SQLITE_FULL || (io && (system == ENOSPC || system == EDQUOT || system == EFBIG))) {
    return {
        ErrorCode::DiskFull,
        "disk full: " + name +
            " cannot grow; what was stored before is safe: free some space (or copy the file to a "
            "larger disk, and '" +
            path_ +
            "-wal' with it, which holds the newest of it) and run "
            "this again, a tuning session with --resume",
        {}};
  }
  const bool closed =
      primary == SQLITE_READONLY || primary == SQLITE_CANTOPEN || primary == SQLITE_PERM;
  if (closed && lies_read_only(path_)) {
    return {ErrorCode::Io,
            name + " is on a read-only file system: copy it (and '" + path_ +
                "-wal', if it is there) to where you may write, or name another file",
            {}};
  }
  // Columns that hold JSON hold something else.
  const bool damaged = primary == SQLITE_ERROR && detail == "malformed JSON";
  switch (damaged ? SQLITE_CORRUPT : primary) {
    case SQLITE_NOTADB:
      return {ErrorCode::Malformed,
              "'" + path_ +
                  "' is not a database: name another file (JSON lines are read with 'fettle "
                  "records import')",
              {}};
    case SQLITE_CORRUPT:
      return {ErrorCode::Malformed,
              name + " is damaged (" + detail +
                  "): move it away and start a new one; 'sqlite3 FILE .recover' may save its rows",
              {}};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {ErrorCode::Timeout,
              name + " is locked by another process (waited " + std::to_string(lock_wait_.count()) +
                  " ms): wait until that process is done, or name another file",
              {}};
    case SQLITE_READONLY:
      return {ErrorCode::Io, name + " is read-only: make it writable or name another file", {}};
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
      return {ErrorCode::Io,
              name + " cannot be opened: " + why_not_opened(path_, system, detail) +
                  "; check that its folder exists and that you may read and write there",
              {}};
    case SQLITE_NOMEM:
      return {ErrorCode::OutOfMemory, name + ": out of memory", {}};
    case SQLITE_IOERR:
      return {ErrorCode::Io,
              name + ": " + detail + (system != 0 ? std::string(": ") + std::strerror(system) : ""),
              {}};
    default:
      return {ErrorCode::Internal, name + ": " + detail, {}};
  }
}

// Immediate: the lock is waited for here, never in the middle.
// What is written into a file that has no name any more is lost with the process.
Result<void> SqliteConnection::begin(Writers) const {
  int moved = 0;
  sqlite3_file_control(handle_.get(), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  if (moved) {
    return Error{ErrorCode::NotFound,
                 "database '" + path() +
                     "': its file was removed, moved or replaced while it was open; what was "
                     "stored since is not in a file of that name",
                 {}};
  }
  return execute("BEGIN IMMEDIATE");
}

Result<void> SqliteConnection::commit() const { return execute("COMMIT"); }

void SqliteConnection::roll_back() const {
  // SQLite itself has rolled back after some errors (disk full).
  if (in_transaction()) (void)sqlite3_exec(handle_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

}  // namespace fettle::records
