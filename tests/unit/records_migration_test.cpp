// Databases and exports of earlier versions: brought to this one, with a copy kept.
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "host/records/export.h"
#include "host/records/migrate.h"
#include "host/records/queries.h"
#include "host/records/sqlite.h"
#include "host/records/tables.h"
#include "host/records/workload_form.h"
#include "tests/support/version_1_database.h"
#include "tests/unit/records_sample.h"

namespace fettle::records {
namespace {

using test::TempFolder;

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream all;
  all << file.rdbuf();
  return all.str();
}

Result<Database> open_to_read(const std::string& path) {
  OpenOptions how;
  how.read_only = true;
  return Database::open(path, how);
}

void expect_migrated(const Database& database) {
  const auto tasks = summaries(database, {});
  ASSERT_TRUE(tasks.ok()) << tasks.error().text();
  ASSERT_EQ(tasks->size(), 3u);
  EXPECT_EQ((*tasks)[0].title, "conv2d 14x14x16→16 k3 s1 +bias+relu");
  EXPECT_EQ((*tasks)[1].title, "softmax n4 100");
  for (const TaskSummary& task : *tasks) {
    EXPECT_EQ(task.trials, 8) << task.title;
    EXPECT_TRUE(task.best_nanoseconds) << task.title;
    const auto form = workload_form(task.source);
    ASSERT_TRUE(form) << task.source;
    EXPECT_EQ(form->canonical, task.workload) << "what a session of today would look for";
    EXPECT_EQ(form->hash, task.workload_hash);
    EXPECT_TRUE(task.workload.starts_with("{\"stages\":")) << task.workload.substr(0, 40);
    EXPECT_TRUE(task.source.find("\"op\":") != std::string::npos) << task.source;
  }
}

TEST(RecordsMigration, AVersionOneDatabaseOpensAndIsKept) {
  TempFolder folder;
  const std::string path = folder.file("r.db");
  test::make_version_1(path);
  {
    const auto database = Database::open(path);
    ASSERT_TRUE(database.ok()) << database.error().text();
    expect_migrated(*database);
  }
  const auto again = Database::open(path);
  ASSERT_TRUE(again.ok());
  expect_migrated(*again);
  // The copy is the database that it was: version 1, with all trials.
  const auto copy =
      SqliteConnection::open(path + ".v1", SQLITE_OPEN_READONLY, std::chrono::milliseconds(100));
  ASSERT_TRUE(copy.ok()) << copy.error().text();
  EXPECT_EQ((*copy)->number("PRAGMA user_version").value(), 1);
  EXPECT_EQ((*copy)->number("SELECT count(*) FROM trials").value(), 24);
  EXPECT_EQ(
      (*copy)->number("SELECT count(*) FROM workloads WHERE canonical LIKE '%\"op\"%'").value(), 3);
}

TEST(RecordsMigration, AVersionTwoDatabaseGetsTheColumnOfFinals) {
  TempFolder folder;
  const std::string path = folder.file("r.db");
  const TuningRecord record = test::measured(1, 90);
  {
    auto database = Database::open(path);
    ASSERT_TRUE(database.ok()) << database.error().text();
    ASSERT_DONE(database->insert(record));
    ASSERT_DONE(database->connection().execute(
        "ALTER TABLE trials DROP COLUMN confirmed_ns; PRAGMA user_version=2"));
  }
  const auto read = open_to_read(path);
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(best(*read, {}).value().at(0).nanoseconds(), 90);
  auto database = Database::open(path);
  ASSERT_TRUE(database.ok()) << database.error().text();
  ASSERT_DONE(database->confirm(std::vector{
      Confirmation{record.session, record.workload, record.target, record.program_hash, "", 91}}));
  EXPECT_EQ(best(*database, {}).value().at(0).rated_nanoseconds(), 91);
  const auto copy =
      SqliteConnection::open(path + ".v2", SQLITE_OPEN_READONLY, std::chrono::milliseconds(100));
  ASSERT_TRUE(copy.ok()) << copy.error().text();
  EXPECT_EQ((*copy)->number("PRAGMA user_version").value(), 2);
}

// A copy of another day, or something else.
TEST(RecordsMigration, AFileOfTheCopysNameIsKept) {
  TempFolder folder;
  const std::string path = folder.file("r.db");
  test::make_version_1(path);
  std::ofstream(path + ".v1") << "precious";
  ASSERT_TRUE(Database::open(path).ok());
  EXPECT_EQ(bytes_of(path + ".v1"), "precious");
  EXPECT_TRUE(bytes_of(path + ".v1.2").starts_with("SQLite format 3"));
}

// Two processes that both looked at the version before either changed the file.
TEST(RecordsMigration, TheSecondOneLeavesTheCopyOfTheFirst) {
  TempFolder folder;
  const std::string path = folder.file("r.db");
  test::make_version_1(path);
  const auto connect = [&](const std::string& file) {
    auto opened =
        SqliteConnection::open(file, SQLITE_OPEN_READWRITE, std::chrono::milliseconds(1000));
    EXPECT_TRUE(opened.ok()) << opened.error().text();
    return std::move(*opened);
  };
  const auto first = connect(path), second = connect(path);
  ASSERT_EQ(*second->number("PRAGMA user_version"), 1);
  ASSERT_TRUE(migrate(*first, 1).ok());
  ASSERT_TRUE(migrate(*second, 1).ok());
  EXPECT_EQ(*connect(path)->number("PRAGMA user_version"), kSchemaVersion);
  EXPECT_EQ(*connect(path + ".v1")->number("PRAGMA user_version"), 1);
  const auto is_part = [](const auto& entry) { return entry.path().extension() == ".part"; };
  const std::filesystem::directory_iterator files(folder.path());
  EXPECT_EQ(std::count_if(begin(files), end(files), is_part), 0);
}

TEST(RecordsMigration, ReadersLeaveTheFileAsItIs) {
  TempFolder folder;
  const std::string path = folder.file("r.db");
  test::make_version_1(path);
  const std::string before = bytes_of(path);
  {
    const auto database = open_to_read(path);
    ASSERT_TRUE(database.ok()) << database.error().text();
    expect_migrated(*database);
  }
  EXPECT_EQ(bytes_of(path), before);
  struct stat facts;
  EXPECT_NE(stat((path + ".v1").c_str(), &facts), 0) << "no copy where nothing changes";
}

TEST(RecordsMigration, WhatIsNoWorkloadKeepsItsTrials) {
  TempFolder folder;
  const std::string path = folder.file("r.db");
  test::make_version_1(path);
  {
    auto raw = SqliteConnection::open(path, SQLITE_OPEN_READWRITE, std::chrono::milliseconds(100));
    ASSERT_TRUE(raw.ok());
    ASSERT_DONE((*raw)->execute("UPDATE workloads SET canonical = 'a riddle' WHERE id = 2"));
  }
  const auto database = Database::open(path);
  ASSERT_TRUE(database.ok()) << database.error().text();
  const auto tasks = summaries(*database, {});
  ASSERT_TRUE(tasks.ok());
  ASSERT_EQ(tasks->size(), 3u);
  EXPECT_EQ((*tasks)[1].workload, "a riddle");
  EXPECT_EQ((*tasks)[1].trials, 8);
}

TEST(RecordsMigration, TheDiskIsFull) {
  TempFolder folder;
  const std::string path = folder.file("r.db");
  test::make_version_1(path);
  // There is no room for all of the copy: it cannot be kept, so nothing may change.
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{std::filesystem::file_size(path) / 2, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto refused = Database::open(path);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text().find(path + ".v1"), std::string::npos) << refused.error().text();
  auto raw = SqliteConnection::open(path, SQLITE_OPEN_READONLY, std::chrono::milliseconds(100));
  ASSERT_TRUE(raw.ok());
  EXPECT_EQ((*raw)->number("PRAGMA user_version").value(), 1);
}

TEST(RecordsMigration, LinesOfVersionOneAreImported) {
  TempFolder folder;
  const std::string path = folder.file("old.db"), fresh = folder.file("new.db");
  test::make_version_1(path);
  std::ostringstream lines;
  {
    const auto old = open_to_read(path);
    ASSERT_TRUE(old.ok());
    ASSERT_TRUE(export_lines(*old, {}, lines).ok());
  }
  // As version 1 wrote them: the operator is the key, and there is no title.
  std::istringstream exported(lines.str());
  std::string text;
  for (std::string line; std::getline(exported, line);) {
    Json json = Json::parse(line);
    json["fettle"] = 1;
    if (json["kind"] == "trial") {
      json["workload"] = json["source"];
      json["workload_hash"] = "0123456789abcdef";
      json.erase("source"), json.erase("title");
    }
    text += json.dump() + "\n";
  }
  std::istringstream in(text);
  const auto counts = import_lines(fresh, in, "old.jsonl");
  ASSERT_TRUE(counts.ok()) << counts.error().text();
  EXPECT_EQ(counts->added, 24u);
  const auto database = Database::open(fresh);
  ASSERT_TRUE(database.ok());
  expect_migrated(*database);
}

}  // namespace
}  // namespace fettle::records
