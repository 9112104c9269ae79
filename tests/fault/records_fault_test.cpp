// The database under faults: killed while it writes, and a disk that is full.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>
#include <set>

#include "host/records/queries.h"
#include "tests/fault/failing_vfs.h"
#include "tests/support/version_1_database.h"
#include "tests/unit/records_sample.h"

namespace fettle::records {
namespace {

using test::measured;
using test::open_or_die;
using test::TempFolder;
using test::text_of;

void expect_sound(const Database& database) {
  Result<Statement> check = database.connection().prepare("PRAGMA integrity_check");
  ASSERT_TRUE(check.ok()) << check.error().text();
  ASSERT_TRUE(check->step().ok());
  EXPECT_EQ(check->text(0), "ok");
  ASSERT_DONE(database.for_each({}, [](const TuningRecord&) { return true; }));
}

std::int64_t trials_in(const Database& database) {
  Result<Counts> counts = count(database, {});
  EXPECT_TRUE(counts.ok());
  return counts ? counts->trials : -1;
}

// Stores trials first, first + 1, … and writes one byte to `acknowledge` after each;
// returns the code of the first error.
int store_until_error(Database& database, int first, int acknowledge, int at_most) {
  for (int i = 0; i < at_most; ++i) {
    Result<std::int64_t> stored = database.insert(measured(first + i, 10));
    if (!stored) return static_cast<int>(stored.error().code);
    if (write(acknowledge, "x", 1) != 1) return -1;
  }
  return 0;
}

// Killed anywhere in a migration, the file is of one version or the other, whole; and the next
// who opens it gets there.
TEST(RecordsFault, KillNineDuringAMigrationLosesNothing) {
  std::mt19937 random(11);
  int old_ones = 0;
  for (int round = 0; round < 40; ++round) {
    TempFolder folder;
    const std::string path = folder.file("r.db");
    test::make_version_1(path);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const auto database = Database::open(path);
      _exit(database.ok() ? 0 : 1);
    }
    ASSERT_EQ(usleep(random() % 30000), 0);
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(!WIFEXITED(status) || WEXITSTATUS(status) == 0);
    {
      auto raw =
          SqliteConnection::open(path, SQLITE_OPEN_READWRITE, std::chrono::milliseconds(1000));
      ASSERT_TRUE(raw.ok()) << raw.error().text();
      old_ones += (*raw)->number("PRAGMA user_version").value() == 1;
      EXPECT_EQ((*raw)->number("SELECT count(*) FROM trials").value(), 24);
    }
    const Database database = open_or_die(path);
    expect_sound(database);
    EXPECT_EQ(trials_in(database), 24);
    const auto tasks = summaries(database, {});
    ASSERT_TRUE(tasks.ok());
    for (const TaskSummary& task : *tasks) EXPECT_FALSE(task.title.empty());
  }
  EXPECT_GT(old_ones, 0) << "none was killed before its end: the test shows nothing";
}

TEST(RecordsFault, KillNineLosesAtMostTheTrialInFlight) {
  TempFolder folder;
  const std::string path = folder.file("r.db");
  std::mt19937 random(7);
  std::int64_t acknowledged = 0;
  for (int round = 0; round < 8; ++round) {
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Result<Database> database = Database::open(path);
      if (database) store_until_error(*database, round * 100'000, pipe_ends[1], 100'000);
      _exit(0);
    }
    close(pipe_ends[1]);
    const int wanted = 1 + static_cast<int>(random() % 60);
    char byte = 0;
    for (int i = 0; i < wanted; ++i) ASSERT_EQ(read(pipe_ends[0], &byte, 1), 1);
    ASSERT_EQ(usleep(random() % 3000), 0);  // anywhere inside a later transaction
    ASSERT_EQ(kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    acknowledged += wanted;
    while (read(pipe_ends[0], &byte, 1) == 1) ++acknowledged;
    close(pipe_ends[0]);

    Database database = open_or_die(path);
    expect_sound(database);
    const std::int64_t stored = trials_in(database);
    EXPECT_GE(stored, acknowledged);
    EXPECT_LE(stored, acknowledged + 1);
    acknowledged = stored;
  }
}

// Fills the disk that `path` is on, in a child prepared by `limit`; returns how many
// trials the child was told are stored. Exit code 42: `limit` could not be set up.
template <typename Limit>
int fill_disk(const Limit& limit, const std::string& path, std::int64_t& acknowledged) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    close(pipe_ends[0]);
    if (!limit()) _exit(42);
    Result<Database> database = Database::open(path);
    if (!database) _exit(1);
    const int code = store_until_error(*database, 0, pipe_ends[1], 50'000);
    if (code != static_cast<int>(ErrorCode::DiskFull)) _exit(2);
    Result<std::int64_t> again = database->insert(measured(-1, 10));
    if (again || again.error().text().find("--resume") == std::string::npos ||
        again.error().text().find(path) == std::string::npos) {
      _exit(3);
    }
    // Still readable, and what was acknowledged is there.
    Result<Counts> counts = count(*database, {});
    if (!counts) _exit(4);
    const std::int64_t stored = counts->trials;
    if (write(pipe_ends[1], &stored, sizeof stored) != sizeof stored) _exit(5);
    Result<Statement> check = database->connection().prepare("PRAGMA integrity_check");
    if (!check || !check->step() || check->text(0) != "ok") _exit(6);
    _exit(0);
  }
  close(pipe_ends[1]);
  std::string all(1 << 20, '\0');
  std::size_t size = 0;
  for (ssize_t n; (n = read(pipe_ends[0], all.data() + size, all.size() - size)) > 0;)
    size += static_cast<std::size_t>(n);
  close(pipe_ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  std::int64_t stored = 0;
  if (size >= sizeof stored) {
    acknowledged = static_cast<std::int64_t>(size - sizeof stored);
    std::memcpy(&stored, all.data() + acknowledged, sizeof stored);
    EXPECT_EQ(stored, acknowledged);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(RecordsFault, AFileSizeLimitIsADiskFull) {
  TempFolder folder;
  const std::string path = folder.file("r.db");
  std::int64_t acknowledged = 0;
  const auto limit = [] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit bytes{512 << 10, 512 << 10};
    return setrlimit(RLIMIT_FSIZE, &bytes) == 0;
  };
  ASSERT_EQ(fill_disk(limit, path, acknowledged), 0);
  EXPECT_GT(acknowledged, 10);
  Database database = open_or_die(path);  // no limit here: the session goes on
  expect_sound(database);
  EXPECT_EQ(trials_in(database), acknowledged);
  ASSERT_DONE(database.insert(measured(1'000'000, 10)));
}

TEST(RecordsFault, AFullFileSystemIsADiskFull) {
  TempFolder folder;
  std::int64_t acknowledged = 0;
  const auto limit = [&] {
    // A file system of 1 MiB in a mount namespace of the child's own.
    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWNS | CLONE_NEWUSER) != 0) return false;
    return mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=1m") == 0;
  };
  const int code = fill_disk(limit, folder.file("r.db"), acknowledged);
  if (code == 42) GTEST_SKIP() << "a small tmpfs needs root or user namespaces";
  ASSERT_EQ(code, 0);
  EXPECT_GT(acknowledged, 10);
}

// For every N: the Nth writing call of a session fails, once or from then on, as an
// error of the device or as a full disk. Whatever was acknowledged must be there.
TEST(RecordsFault, WhicheverCallFailsNothingAcknowledgedIsLost) {
  TempFolder folder;
  test::install_failing_vfs();
  OpenOptions brief;
  brief.lock_wait = std::chrono::milliseconds(50);
  int runs = 0;
  for (const int code : {SQLITE_IOERR_WRITE, SQLITE_FULL}) {
    for (const bool for_good : {false, true}) {
      for (int nth = 1;; ++nth, ++runs) {
        ASSERT_LT(nth, 10'000);
        const std::string path = folder.file("n" + std::to_string(runs) + ".db");
        {
          ASSERT_DONE(open_or_die(path).insert(measured(0, 10)));
        }
        std::set<std::string> acknowledged{text_of(measured(0, 10))};
        test::arm(nth, code, for_good);
        {
          Result<Database> database = Database::open(path, brief);
          for (int i = 1; i <= 4 && database; ++i) {
            Result<std::int64_t> stored = database->insert(measured(i, 10));
            if (stored)
              acknowledged.insert(text_of(measured(i, 10)));
            else
              EXPECT_FALSE(stored.error().message.empty());
          }
        }  // closing writes too
        const int writing_calls = test::disarm();
        {
          Database database = open_or_die(path);
          expect_sound(database);
          std::set<std::string> stored;
          ASSERT_DONE(database.for_each({}, [&](const TuningRecord& record) {
            stored.insert(text_of(record));
            return true;
          }));
          EXPECT_TRUE(
              std::includes(stored.begin(), stored.end(), acknowledged.begin(), acknowledged.end()))
              << "call " << nth << " failed with " << code;
          ASSERT_DONE(database.insert(measured(9, 10)));  // and the session goes on
        }
        std::filesystem::remove(path);
        if (writing_calls < nth) break;  // no call was left to fail
      }
    }
  }
  EXPECT_GT(runs, 40);
  printf("%d faults\n", runs);
}

}  // namespace
}  // namespace fettle::records
