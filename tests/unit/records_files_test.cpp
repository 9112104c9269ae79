// Databases that are not ours, damaged, locked or read-only.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "host/records/queries.h"
#include "host/records/sqlite.h"
#include "tests/unit/records_sample.h"

namespace fettle::records {
namespace {

using test::measured;
using test::open_or_die;
using test::TempFolder;

TEST(RecordsFiles, AnotherSchemaVersionSaysWhatToDo) {
  TempFolder folder;
  const std::string path = folder.file("r.db");
  {
    Database database = open_or_die(path);
  }
  for (const char* version : {"4", "0"}) {
    {
      Result<std::unique_ptr<SqliteConnection>> raw =
          SqliteConnection::open(path, SQLITE_OPEN_READWRITE, std::chrono::milliseconds(100));
      ASSERT_TRUE(raw.ok());
      ASSERT_DONE((*raw)->execute((std::string("PRAGMA user_version=") + version).c_str()));
    }
    Result<Database> opened = Database::open(path);
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().code, ErrorCode::VersionMismatch);
    EXPECT_NE(opened.error().text().find("schema version " + std::string(version)),
              std::string::npos)
        << opened.error().text();
    EXPECT_NE(opened.error().text().find(path), std::string::npos);
  }
}

// What is stored into a file without a name is lost with the process that holds it.
TEST(RecordsFiles, OneThatIsRemovedMovedOrReplacedWhileItIsOpenIsAnError) {
  for (const char* how : {"removed", "moved", "replaced"}) {
    TempFolder folder;
    const std::string path = folder.file("a.db");
    Database database = test::open_or_die(path);
    ASSERT_TRUE(database.insert(test::measured(1, 10)).ok());
    if (how == std::string("replaced")) {
      test::open_or_die(folder.file("b.db"));
      std::filesystem::rename(folder.file("b.db"), path);
    } else {
      std::filesystem::rename(path, folder.file("c.db"));
      if (how == std::string("removed")) std::filesystem::remove(folder.file("c.db"));
    }
    const auto stored = database.insert(test::measured(2, 10));
    ASSERT_FALSE(stored.ok()) << how;
    EXPECT_NE(stored.error().text().find("removed, moved or replaced"), std::string::npos)
        << stored.error().text();
  }
}

TEST(RecordsFiles, OneThatIsKeptNowhereIsRefused) {
  for (const char* name : {":memory:", ""}) {
    const auto opened = Database::open(name);
    ASSERT_FALSE(opened.ok()) << name;
    EXPECT_EQ(opened.error().code, ErrorCode::InvalidArgument);
  }
}

TEST(RecordsFiles, AnotherProgramsDatabaseIsLeftAlone) {
  TempFolder folder;
  const std::string path = folder.file("other.db");
  {
    Result<std::unique_ptr<SqliteConnection>> raw = SqliteConnection::open(
        path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, std::chrono::milliseconds(100));
    ASSERT_TRUE(raw.ok());
    ASSERT_DONE((*raw)->execute("CREATE TABLE trials (x)"));
  }
  Result<Database> opened = Database::open(path);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, ErrorCode::VersionMismatch);
  EXPECT_NE(opened.error().text().find("another program"), std::string::npos);
}

TEST(RecordsFiles, WhatIsNoDatabaseIsRefused) {
  TempFolder folder;
  const std::string path = folder.file("notes.txt");
  std::ofstream(path) << std::string(5000, 'x');
  Result<Database> opened = Database::open(path);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, ErrorCode::Malformed);
  EXPECT_NE(opened.error().text().find("not a database"), std::string::npos);
  EXPECT_EQ(std::filesystem::file_size(path), 5000u);
  EXPECT_EQ(Database::open(folder.path()).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(Database::open(folder.file("no/such/r.db")).error().code, ErrorCode::Io);
  OpenOptions options;
  options.create = false;
  EXPECT_EQ(Database::open(folder.file("none.db"), options).error().code, ErrorCode::NotFound);
  EXPECT_FALSE(std::filesystem::exists(folder.file("none.db")));
}

TEST(RecordsFiles, ADamagedDatabaseIsAnErrorAndNoCrash) {
  TempFolder folder;
  const std::string path = folder.file("r.db");
  {
    Database database = open_or_die(path);
    std::vector<TuningRecord> records;
    for (int i = 0; i < 200; ++i) records.push_back(measured(i, 10));
    ASSERT_DONE(database.insert(records));
  }
  // Every page but the first is overwritten with rubbish.
  const auto size = static_cast<std::streamoff>(std::filesystem::file_size(path));
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  for (std::streamoff at = 4096; at < size; at += 64) {
    file.seekp(at);
    file << std::string(64, static_cast<char>(0x80 + at % 127));
  }
  file.close();
  Result<Database> opened = Database::open(path);
  const Error error = !opened ? opened.error() : [&] {
    Result<Counts> counts = count(*opened, {});
    return counts ? Error{} : counts.error();
  }();
  EXPECT_EQ(error.code, ErrorCode::Malformed) << error.text();
}

TEST(RecordsFiles, AReadOnlyDatabaseCanBeReadAndSaysSoWhenWritten) {
  TempFolder folder;
  const std::string path = folder.file("r.db");
  {
    Database database = open_or_die(path);
    ASSERT_DONE(database.insert(measured(1, 10)));
  }
  ASSERT_FALSE(std::filesystem::exists(path + "-wal")) << "a closed database is one file";
  if (geteuid() == 0) {
    // Permissions do not bind root; a child without that right looks instead.
    ASSERT_EQ(chmod(path.c_str(), 0444), 0);
    ASSERT_EQ(chmod(folder.path().c_str(), 0555), 0);
    const pid_t child = fork();
    if (child == 0) {
      if (setgid(65534) != 0 || setuid(65534) != 0) _exit(10);
      OpenOptions options;
      options.read_only = true;
      Result<Database> reader = Database::open(path, options);
      if (!reader) _exit(1);
      Result<Counts> counts = count(*reader, {});
      if (!counts || counts->trials != 1) _exit(2);
      Result<Database> writer = Database::open(path);
      if (writer) _exit(3);
      _exit(writer.error().code == ErrorCode::Io ? 0 : 4);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    return;
  }
  ASSERT_EQ(chmod(path.c_str(), 0444), 0);
  ASSERT_EQ(chmod(folder.path().c_str(), 0555), 0);
  OpenOptions options;
  options.read_only = true;
  Database reader = open_or_die(path, options);
  Result<Counts> counts = count(reader, {});
  ASSERT_TRUE(counts.ok()) << counts.error().text();
  EXPECT_EQ(counts->trials, 1);
  Result<Database> writer = Database::open(path);
  ASSERT_FALSE(writer.ok());
  EXPECT_EQ(writer.error().code, ErrorCode::Io);
  ASSERT_EQ(chmod(folder.path().c_str(), 0755), 0);
}

TEST(RecordsFiles, ALockedDatabaseIsWaitedForAndThenNamed) {
  TempFolder folder;
  const std::string path = folder.file("r.db");
  OpenOptions options;
  options.lock_wait = std::chrono::milliseconds(200);
  Database database = open_or_die(path, options);
  Result<std::unique_ptr<SqliteConnection>> other =
      SqliteConnection::open(path, SQLITE_OPEN_READWRITE, std::chrono::milliseconds(100));
  ASSERT_TRUE(other.ok());
  ASSERT_DONE((*other)->execute("BEGIN IMMEDIATE"));
  const auto start = std::chrono::steady_clock::now();
  Result<std::int64_t> stored = database.insert(measured(1, 10));
  ASSERT_FALSE(stored.ok());
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(150));
  EXPECT_EQ(stored.error().code, ErrorCode::Timeout);
  EXPECT_NE(stored.error().text().find("locked by another process"), std::string::npos);
  ASSERT_DONE((*other)->execute("ROLLBACK"));
  EXPECT_TRUE(database.insert(measured(1, 10)).ok()) << "usable again";
}

}  // namespace
}  // namespace fettle::records
