// Migrations of the database (migrate.h).
#include "host/records/migrate.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "host/records/tables.h"
#include "host/records/workload_form.h"

namespace fettle::records {
namespace {

// A file's bytes, or the names in a folder: a power cut behind the change must find the copy.
bool to_the_medium(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool there = fd >= 0 && ::fsync(fd) == 0;
  const int why = errno;
  if (fd >= 0) ::close(fd);
  errno = why;
  return there;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

// Held by one process at a time, where the file system has such locks; for a minute at most.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder)
      : fd_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    for (int tries = 0; fd_ >= 0 && tries < 600; ++tries) {
      if (::flock(fd_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }
  ~FolderLock() {
    if (fd_ >= 0) ::close(fd_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_;
};

bool are_equal(const std::string& a, const std::string& b) {
  std::error_code error;
  if (std::filesystem::file_size(a, error) != std::filesystem::file_size(b, error) || error) {
    return false;
  }
  std::ifstream one(a, std::ios::binary), other(b, std::ios::binary);
  return std::equal(std::istreambuf_iterator<char>(one), {}, std::istreambuf_iterator<char>(other));
}

// True also where `name` is such a copy already, of a try that was cut off. EEXIST: it is not.
// Not every file system has links, and none of those that lack them has the other way everywhere.
bool give_free_name(const std::string& part, const std::string& name) {
  if (::link(part.c_str(), name.c_str()) == 0) return true;
  struct stat there{};
  if (errno == EEXIST || ::lstat(name.c_str(), &there) == 0) {
    if (are_equal(part, name)) return true;
    errno = EEXIST;
    return false;
  }
  return std::rename(part.c_str(), name.c_str()) == 0;
}

// Another process that changed the file first kept a copy of what it was.
Result<bool> is_of_version(const std::string& path, std::int64_t version) {
  auto file = SqliteConnection::open(path, SQLITE_OPEN_READONLY, std::chrono::milliseconds(1000));
  if (!file) return std::move(file).error();
  const Result<std::int64_t> found = (*file)->number("PRAGMA user_version");
  if (!found) return found.error();
  return *found == version;
}

// VACUUM INTO wants a file that is not there, and leaves a part of one where it is cut off:
// only a whole copy gets the name. Two processes may come here at once.
Result<void> keep_copy(const SqliteConnection& connection, std::int64_t from) {
  const std::string first = connection.path() + ".v" + std::to_string(from);
  std::string copy = first;
  const std::string part = copy + ".part";
  const FolderLock alone(folder_of(copy));
  for (const char* left : {"", "-journal"}) std::remove((part + left).c_str());  // by one killed
  Result<Statement> vacuum = connection.prepare("VACUUM INTO ?1");
  if (!vacuum) return std::move(vacuum).error();
  if (Result<void> done = vacuum->bind(1, part).run(); !done) {
    std::remove(part.c_str());
    return std::move(done).error().in("keeping a copy as " + copy);
  }
  const Result<bool> before = is_of_version(part, from);
  if (!before || !*before) {
    std::remove(part.c_str());
    if (!before) return Error(before.error()).in("keeping a copy as " + copy);
    return {};
  }
  bool named = to_the_medium(part);
  for (int i = 2; named && !give_free_name(part, copy); ++i) {
    named = errno == EEXIST && i < 1000;  // a copy of another day, or something else
    if (named) copy = first + "." + std::to_string(i);
  }
  const int why = errno;
  std::remove(part.c_str());
  errno = why;
  if (!named || !to_the_medium(folder_of(copy))) {
    return Error{ErrorCode::Io, "cannot keep the copy " + copy + ": " + std::strerror(errno), {}};
  }
  return {};
}

struct Row {
  std::int64_t id;
  std::string text;
};

// Workloads become DAGs. What cannot be read as one stays as it is: its trials are kept.
Result<void> workloads_to_dags(const Connection& connection) {
  for (const char* column : {"title", "source"}) {
    const std::string add =
        std::string("ALTER TABLE workloads ADD COLUMN ") + column + " TEXT NOT NULL DEFAULT ''";
    if (Result<void> added = connection.execute(add.c_str()); !added) return added;
  }
  std::vector<Row> rows;
  Result<Statement> all = connection.prepare("SELECT id, canonical FROM workloads ORDER BY id");
  if (!all) return std::move(all).error();
  for (;;) {
    Result<bool> row = all->step();
    if (!row) return std::move(row).error();
    if (!*row) break;
    rows.push_back({all->integer(0), all->text(1)});
  }
  // Two spellings of one workload stay two rows.
  Result<Statement> put = connection.prepare(
      "UPDATE workloads SET canonical = ?2, hash = ?3, title = ?4, source = ?5 WHERE id = ?1 AND "
      "NOT EXISTS (SELECT 1 FROM workloads w WHERE w.canonical = ?2 AND w.hash = ?3)");
  if (!put) return std::move(put).error();
  for (const Row& row : rows) {
    const auto form = workload_form(row.text);
    if (!form) continue;
    put->bind(1, row.id).bind(2, form->canonical).bind(3, form->hash);
    put->bind(4, form->title).bind(5, form->source);
    if (Result<void> done = put->run(); !done) return done;
  }
  return {};
}

Result<void> change_file(const SqliteConnection& connection) {
  Result<Transaction> transaction = Transaction::begin(connection);
  if (!transaction) return std::move(transaction).error();
  Result<std::int64_t> version = connection.number("PRAGMA user_version");
  if (!version) return std::move(version).error();
  if (*version == kSchemaVersion) return {};  // another process was first
  if (Result<void> changed = change_tables(connection, *version); !changed) return changed;
  const std::string stamp = "PRAGMA user_version=" + std::to_string(kSchemaVersion);
  if (Result<void> stamped = connection.execute(stamp.c_str()); !stamped) return stamped;
  return transaction->commit();
}

}  // namespace

Result<void> change_tables(const Connection& connection, std::int64_t from) {
  if (from < 2) {
    if (Result<void> done = workloads_to_dags(connection); !done) return done;
  }
  if (from < 3)
    return connection.execute("ALTER TABLE trials ADD COLUMN confirmed_ns DOUBLE PRECISION");
  return {};
}

Result<void> migrate(const SqliteConnection& connection, std::int64_t from) {
  const std::string what = "bringing '" + connection.path() + "' to this version of fettle";
  if (Result<void> kept = keep_copy(connection, from); !kept) {
    return std::move(kept).error().in(what);
  }
  if (Result<void> changed = change_file(connection); !changed) {
    return std::move(changed).error().in(what);
  }
  return {};
}

Result<std::unique_ptr<SqliteConnection>> migrated_copy(const SqliteConnection& connection,
                                                        std::int64_t) {
  Result<std::unique_ptr<SqliteConnection>> copy = SqliteConnection::in_memory_copy(connection);
  if (!copy) return copy;
  if (Result<void> changed = change_file(**copy); !changed) return std::move(changed).error();
  return copy;
}

}  // namespace fettle::records
