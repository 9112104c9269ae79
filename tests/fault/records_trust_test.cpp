// Databases that are killed in a migration, made by somebody else, or on a network file system.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "host/records/queries.h"
#include "host/records/tables.h"
#include "tests/fault/failing_vfs.h"
#include "tests/support/version_1_database.h"
#include "tests/unit/records_sample.h"

namespace fettle::records {
namespace {

using test::measured;
using test::TempFolder;

std::int64_t number_in(const std::string& path, const char* sql) {
  auto raw = SqliteConnection::open(path, SQLITE_OPEN_READWRITE, std::chrono::milliseconds(1000));
  EXPECT_TRUE(raw.ok()) << raw.error().text();
  const auto number = raw ? (*raw)->number(sql) : Result<std::int64_t>(raw.error());
  EXPECT_TRUE(number.ok()) << number.error().text();
  return number ? *number : -1;
}

// What lies in the folder and is neither the database, with its log, nor the copy.
std::vector<std::string> leftovers(const TempFolder& folder) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    const std::string name = entry.path().filename().string();
    if (name != "r.db" && name != "r.db-wal" && name != "r.db-shm" && name != "r.db.v1") {
      found.push_back(name);
    }
  }
  return found;
}

void execute(const std::string& path, const char* sql) {
  auto raw = SqliteConnection::open(path, SQLITE_OPEN_READWRITE, std::chrono::milliseconds(1000));
  ASSERT_TRUE(raw.ok());
  const auto done = (*raw)->execute(sql);
  ASSERT_TRUE(done.ok()) << done.error().text();
}

// SIGKILL at every call that changes a file, one after the other until the migration gets to
// its end: each time the file is of one version or the other, whole, so is the copy where there
// is one, and the next to open it gets there and leaves nothing lying about.
TEST(Trust, MigrationKilled) {
  test::install_failing_vfs();
  int killed = 0, old_ones = 0;
  bool ended = false;
  for (int nth = 1; nth < 400 && !ended; ++nth) {
    SCOPED_TRACE("killed at call " + std::to_string(nth));
    TempFolder folder;
    const std::string path = folder.file("r.db"), copy = path + ".v1";
    test::make_version_1(path);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      test::arm_kill(nth);
      const bool opened = Database::open(path).ok();
      test::disarm();
      _exit(opened ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ended = WIFEXITED(status);
    EXPECT_TRUE(ended ? WEXITSTATUS(status) == 0 : WTERMSIG(status) == SIGKILL);
    killed += !ended;
    const auto version = number_in(path, "PRAGMA user_version");
    old_ones += version == 1;
    EXPECT_TRUE(version == 1 || version == kSchemaVersion) << version;
    EXPECT_EQ(number_in(path, "SELECT count(*) FROM trials"), 24);
    if (std::filesystem::exists(copy)) {
      EXPECT_EQ(number_in(copy, "PRAGMA user_version"), 1);
      EXPECT_EQ(number_in(copy, "SELECT count(*) FROM trials"), 24);
    } else {
      EXPECT_EQ(version, 1) << "changed before the copy was kept";
    }
    const auto database = Database::open(path);
    ASSERT_TRUE(database.ok()) << database.error().text();
    EXPECT_EQ(number_in(path, "SELECT count(*) FROM trials"), 24);
    EXPECT_EQ(number_in(path,
                        "SELECT count(*) FROM pragma_integrity_check() WHERE "
                        "integrity_check = 'ok'"),
              1);
    const auto tasks = summaries(*database, {});
    ASSERT_TRUE(tasks.ok());
    for (const TaskSummary& task : *tasks) EXPECT_FALSE(task.title.empty());
    EXPECT_EQ(leftovers(folder), std::vector<std::string>{});
  }
  EXPECT_TRUE(ended) << "the migration has more calls than this test has rounds";
  EXPECT_GT(killed, 10);
  EXPECT_GT(old_ones, 0);
  EXPECT_LT(old_ones, killed) << "none was killed behind the change";
  RecordProperty("killed", killed);
}

// A trigger in a file that somebody hands on would run within fettle's own statements: this one
// loses all trials when the migration rewrites the workloads.
TEST(RecordsTrust, ForeignTriggersAndViewsAreRefused) {
  const std::pair<const char*, const char*> schemas[] = {
      {"CREATE TRIGGER nasty AFTER UPDATE ON workloads BEGIN DELETE FROM trials; END", "trigger"},
      {"CREATE VIEW nasty AS SELECT * FROM trials", "view"},
      {"CREATE VIRTUAL TABLE nasty USING fts5(words)", "table"}};
  for (const auto& [schema, kind] : schemas) {
    for (const bool read_only : {false, true}) {
      SCOPED_TRACE(schema);
      TempFolder folder;
      const std::string path = folder.file("r.db");
      test::make_version_1(path);
      execute(path, schema);
      OpenOptions how;
      how.read_only = read_only;
      const auto opened = Database::open(path, how);
      EXPECT_EQ(number_in(path, "SELECT count(*) FROM trials"), 24);
      ASSERT_FALSE(opened.ok());
      EXPECT_EQ(opened.error().code, ErrorCode::Malformed);
      EXPECT_NE(opened.error().text().find(std::string("a ") + kind + ", 'nasty'"),
                std::string::npos)
          << opened.error().text();
    }
  }
}

TEST(RecordsTrust, SchemasAreNotTrusted) {
  TempFolder folder;
  const auto database = Database::open(folder.file("r.db"));
  ASSERT_TRUE(database.ok());
  EXPECT_EQ(database->connection().number("PRAGMA trusted_schema").value(), 0);
  // SQLITE_DBCONFIG_DEFENSIVE: the schema is not edited as text.
  ASSERT_TRUE(database->connection().execute("PRAGMA writable_schema=ON").ok());
  EXPECT_FALSE(database->connection().execute("DELETE FROM sqlite_schema").ok());
}

// Stands for a network file system, which this machine has none of: what statfs says of one,
// its mount options, and whether a lock held there. What SQLite does then is real.
class PlayedFileSystem final : public FileSystemProbe {
 public:
  PlayedFileSystem(std::uint32_t magic, std::string options, bool locks)
      : system_{magic, std::move(options)}, locks_(locks) {}
  Result<FileSystem> at(const std::string&) const override { return system_; }
  bool locks_hold(const std::string&, bool) const override { return locks_; }

 private:
  FileSystem system_;
  bool locks_;
};

constexpr std::uint32_t kNfs = 0x6969, kCifs = 0xff534d42, kSmb2 = 0xfe534d42, kFuse = 0x65735546,
                        kNineP = 0x01021997, kExt4 = 0xef53;

Result<Database> open_on(const PlayedFileSystem& system, const std::string& path,
                         bool read_only = false) {
  OpenOptions how;
  how.file_system = &system;
  how.read_only = read_only;
  return Database::open(path, how);
}

std::string journal_of(const Database& database) {
  auto mode = database.connection().prepare("PRAGMA journal_mode");
  return mode && mode->step() ? mode->text(0) : "";
}

// The file systems are played (PlayedFileSystem); LocksAreTriedForReal has the lock.
TEST(Trust, NetworkFileSystem) {
  for (const std::uint32_t magic : {kNfs, kCifs, kSmb2, kFuse, kNineP}) {
    SCOPED_TRACE(magic);
    TempFolder folder;
    const std::string path = folder.file("r.db");
    // No locks: no database, and the message says what to do.
    const auto refused = open_on({magic, "rw", false}, path);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::Io);
    EXPECT_NE(refused.error().text().find("network file system"), std::string::npos);
    EXPECT_NE(refused.error().text().find("local disk"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(path));
    // Locks of this machine alone.
    EXPECT_FALSE(open_on({magic, "rw,vers=3,nolock", true}, path).ok());
    EXPECT_FALSE(open_on({magic, "rw,local_lock=all", true}, path).ok());
    EXPECT_FALSE(open_on({magic, "rw,nobrl,vers=3.0", true}, path).ok());
    // Locks hold: a database, but no log that would need shared memory.
    {
      auto database = open_on({magic, "rw", true}, path);
      ASSERT_TRUE(database.ok()) << database.error().text();
      EXPECT_EQ(journal_of(*database), "delete");
      EXPECT_EQ(database->connection().number("PRAGMA synchronous").value(), 2);
      ASSERT_TRUE(database->insert(measured(1, 10)).ok());
      EXPECT_FALSE(std::filesystem::exists(path + "-shm"));
    }
  }
}

// A database that was used on a local disk, and copied.
TEST(RecordsTrust, ADatabaseWithALogMovesToANetworkFileSystem) {
  TempFolder folder;
  const std::string path = folder.file("r.db");
  const PlayedFileSystem local(kExt4, "rw", false), nfs(kNfs, "rw", true);
  {
    auto database = open_on(local, path);
    ASSERT_TRUE(database.ok()) << database.error().text();
    EXPECT_EQ(journal_of(*database), "wal");
    ASSERT_TRUE(database->insert(measured(1, 10)).ok());
    // Its log is there: what it holds would be lost, or its index shared.
    const auto refused = open_on(nfs, path);
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().text().find("write-ahead log"), std::string::npos);
  }
  {
    const auto reader = open_on(nfs, path, true);
    ASSERT_TRUE(reader.ok()) << reader.error().text();
    EXPECT_EQ(reader->connection().number("SELECT count(*) FROM trials").value(), 1);
    EXPECT_FALSE(std::filesystem::exists(path + "-shm"));
  }
  const auto writer = open_on(nfs, path);
  ASSERT_TRUE(writer.ok()) << writer.error().text();
  EXPECT_EQ(journal_of(*writer), "delete");
  EXPECT_EQ(writer->connection().number("SELECT count(*) FROM trials").value(), 1);
  EXPECT_FALSE(std::filesystem::exists(path + "-shm"));
}

// No simulation: two processes and a lock, on this machine's own disk.
TEST(RecordsTrust, LocksAreTriedForReal) {
  TempFolder folder;
  const std::string path = folder.file("r.db");
  EXPECT_FALSE(system_probe().locks_hold(path, false)) << "there is no file";
  EXPECT_TRUE(system_probe().locks_hold(path, true));
  std::filesystem::permissions(path, std::filesystem::perms::owner_read);
  EXPECT_TRUE(system_probe().locks_hold(path, false));
  const auto here = system_probe().at(path);
  ASSERT_TRUE(here.ok());
  EXPECT_NE(here->magic, 0u);
  EXPECT_NE(here->mount_options.find("rw"), std::string::npos) << here->mount_options;
}

}  // namespace
}  // namespace fettle::records
