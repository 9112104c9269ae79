// What the command line does with a database of records: its output files, the time it
// tells of a record, emulated boards, and output that cannot be written.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tests/support/running_program.h"
#include "tests/unit/records_sample.h"

namespace fettle::records {
namespace {

namespace fs = std::filesystem;
using fettle::testing::ProgramResult;
using test::measured;
using test::open_or_die;

std::string content(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class RecordCommands : public ::testing::Test {
 protected:
  ProgramResult fettle(const std::vector<std::string>& words) { return redirected(words, ""); }
  // Run by a shell, with its output sent where `redirection` says.
  ProgramResult redirected(const std::vector<std::string>& words, const std::string& redirection) {
    std::vector<std::string> command{"sh", "-c", "exec \"$0\" \"$@\" " + redirection,
                                     FETTLE_PROGRAM};
    command.insert(command.end(), words.begin(), words.end());
    return fettle::testing::run_program(command, std::chrono::seconds(60),
                                        {{"FETTLE_HOME", folder.file("home")}});
  }
  // A small dense layer on the Pynq's profile, measured at `nanoseconds`. The workload, target
  // and configuration are real ones, from `fettle explain`.
  TuningRecord dense_record(double nanoseconds) {
    static const std::vector<std::string> parts = [this] {
      const auto told = fettle({"explain", "--profile", "pynq-z1", "--workload",
                                R"({"op":"dense","in_features":64,"out_features":64})"});
      EXPECT_EQ(told.status, 0) << told.err;
      std::istringstream lines(told.out);
      std::vector<std::string> values(3);
      for (std::string& value : values) {
        std::getline(lines, value);
        value.erase(0, 15);  // "workload       ", …
      }
      return values;
    }();
    TuningRecord record = measured(0, nanoseconds);
    record.workload = parts[0];
    record.target = parts[1];
    record.configuration = parts[2];
    record.operations = 2.0 * 64 * 64;
    record.peak_gflops = 0;
    return record;
  }
  // Stores it as of a device of that key; the record's board is its key's.
  std::int64_t store(TuningRecord record, const std::string& key, bool emulated) {
    Database database = open_or_die(db);
    wire::BoardT board;
    wire::DeviceInfoT device;
    board.id = record.board_id = record.outcome.board_id = key + (emulated ? "-emulated" : "");
    device.key = record.device_key = key;
    device.index = record.outcome.device_index;
    device.emulated = emulated;
    EXPECT_TRUE(database.register_device(board, device).ok());
    const auto id = database.insert(record);
    EXPECT_TRUE(id.ok());
    return id ? *id : 0;
  }
  static void expect_in(const std::string& part, const std::string& text) {
    EXPECT_NE(text.find(part), std::string::npos) << "no \"" << part << "\" in\n" << text;
  }

  fettle::testing::ScratchFolder folder;
  const std::string db = folder.file("records.db");
};

TEST_F(RecordCommands, TheDatabaseIsNoOutputFile) {
  store(measured(1, 1000), "local", false);
  const std::string before = content(db);
  fs::create_symlink(db, folder.file("link.db"));
  for (const char* command : {"plot", "export", "distill"}) {
    for (const std::string& output : {db, folder.file("link.db")}) {
      const auto done = fettle({"records", command, "--db", db, "-o", output});
      EXPECT_EQ(done.status, 1) << command << " " << output;
      expect_in("fettle: error: ", done.err);
      expect_in("is the database itself", done.err);
      EXPECT_TRUE(content(db) == before) << command << " " << output;
    }
  }
}

TEST_F(RecordCommands, AnOutputFileIsReplacedWhenItIsComplete) {
  store(measured(1, 1000), "local", false);
  const std::string output = folder.file("export.jsonl");
  std::ofstream(output) << "of yesterday";
  fs::permissions(output, fs::perms::owner_read | fs::perms::owner_write);
  {
    Database database = open_or_die(db);  // one that ends in a row which cannot be read
    ASSERT_TRUE(database.insert(measured(2, 2000)).ok());
    ASSERT_TRUE(database.connection().execute("UPDATE trials SET outcome='{' WHERE id=2").ok());
  }
  const auto failed = fettle({"records", "export", "--db", db, "-o", output});
  EXPECT_EQ(failed.status, 1) << failed.err;
  EXPECT_EQ(content(output), "of yesterday");
  ASSERT_TRUE(open_or_die(db).connection().execute("DELETE FROM trials WHERE id=2").ok());
  const auto done = fettle({"records", "export", "--db", db, "-o", output});
  EXPECT_EQ(done.status, 0) << done.err;
  expect_in("\"kind\":\"trial\"", content(output));
  EXPECT_EQ(fs::status(output).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    const std::string name = entry.path().filename();
    files += !name.starts_with("records.db") && name != "home";
  }
  EXPECT_EQ(files, 1u) << "the output and nothing beside it";
}

TEST_F(RecordCommands, OutputThatCannotBeWrittenIsAnError) {
  const std::string id = std::to_string(store(dense_record(1000), "pynq", false));
  const auto expect_error = [](const ProgramResult& done, const std::vector<std::string>& words) {
    EXPECT_EQ(done.status, 1) << ::testing::PrintToString(words) << done.err;
    expect_in("fettle: error: ", done.err);
    expect_in("standard output", done.err);
  };
  const std::vector<std::string> explain{"explain", id, "--db", db};
  const std::vector<std::string> tune{
      "tune", "--replay", FETTLE_RECORDINGS "/conv2d_7x7x512.jsonl.gz", "--trials", "8"};
  std::vector<std::string> tune_json = tune;
  tune_json.push_back("--json");
  const std::vector<std::vector<std::string>> commands = {{"records", "best", "--db", db},
                                                          {"records", "best", "--json", "--db", db},
                                                          {"records", "show", id, "--db", db},
                                                          {"records", "plot", "--db", db},
                                                          {"keys", "list"},
                                                          {"--help"},
                                                          explain,
                                                          tune,
                                                          tune_json};
  for (const auto& words : commands) {
    expect_error(redirected(words, ">/dev/full"), words);
  }
  for (const auto& words : {explain, tune}) {
    expect_error(redirected(words, ">&-"), words);
    // A reader that is gone already.
    std::vector<std::string> piped{
        "bash", "-c", "exec 3> >(true); wait $!; exec \"$0\" \"$@\" >&3 3>&-", FETTLE_PROGRAM};
    piped.insert(piped.end(), words.begin(), words.end());
    expect_error(fettle::testing::run_program(piped), words);
  }
}

TEST_F(RecordCommands, AMistakeIsAnErrorAndNotAnAbort) {
  const auto long_name = fettle({"tune", std::string(300, 'x'), "--db", folder.file("never.db")});
  EXPECT_EQ(long_name.status, 1);
  expect_in("fettle: error: ", long_name.err);
  // Nobody to tell is no reason to die of a signal.
  EXPECT_EQ(redirected({"records", "best", "--db", folder.file("none.db")}, "2>&-").status, 1);
  EXPECT_EQ(redirected({"records", "best", "--db", folder.file("none.db")}, "2>/dev/full").status,
            1);
}

TEST_F(RecordCommands, ARecordsTimeIsToldOfItsOwnProgramOnly) {
  const TuningRecord record = dense_record(1000);
  const std::string id = std::to_string(store(record, "pynq", false));
  const auto own = fettle({"explain", id, "--db", db});
  ASSERT_EQ(own.status, 0) << own.err;
  expect_in("measured       1000 ns a run", own.out);
  const std::vector<std::vector<std::string>> others = {
      {"--configuration", record.configuration},
      {"--workload", R"({"op":"dense","in_features":64,"out_features":64})"},
      {"--profile", "pynq-z1"},
      {"--target", record.target}};
  for (const auto& other : others) {
    std::vector<std::string> words{"explain", id, "--db", db};
    words.insert(words.end(), other.begin(), other.end());
    const auto done = fettle(words);
    EXPECT_EQ(done.status, 0) << other[0] << ": " << done.err;
    EXPECT_EQ(done.out.find("measured  "), std::string::npos) << other[0];
  }
  EXPECT_EQ(
      fettle({"explain", id, "--db", db, "--profile", "pynq-z1", "--target", record.target}).status,
      2);
  EXPECT_EQ(fettle({"explain", id, "--db", db, "--space", "--dump-after", "unroll"}).status, 2);
}

}  // namespace
}  // namespace fettle::records
