// What the command line does with a database of records: its output files, the time it
// tells of a record, emulated boards, and output that cannot be written.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "host/records/workload_form.h"
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
      std::vector<std::string> values(4);
      for (std::string& value : values) {
        std::getline(lines, value);
        value.erase(0, 15);  // "workload       ", …
      }
      return values;
    }();
    TuningRecord record = measured(0, nanoseconds);
    const auto form = workload_form(parts[1]);
    EXPECT_TRUE(form) << parts[1];
    record.workload = form ? form->canonical : "";
    record.workload_hash = form ? form->hash : "";
    record.title = parts[0];
    record.source = parts[1];
    record.target = parts[2];
    record.configuration = parts[3];
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
    const auto gone = fettle::testing::run_program(piped);
    EXPECT_EQ(gone.status, 1) << ::testing::PrintToString(words) << gone.err;
    EXPECT_EQ(gone.err, "") << "it had enough";
  }
}

// A board that is hostile says what its failure was, and how its device is named: a terminal
// obeys neither, on stdout nor in a message.
TEST_F(RecordCommands, TerminalsObeyNothingThatABoardSaid) {
  auto failure = test::failed(1, ErrorCode::BuildError, wire::Stage::Build,
                              "boom \x1b]0;owned\x07 \x9b"
                              "31m \xc2\x9b"
                              "2J \xe2\x80\xae"
                              "gpj");
  failure.device_key = "ev\x1b[2Jil";
  failure.board_id = "board\x1b[1A\rfine";
  std::int64_t id = 0;
  {
    Database database = open_or_die(folder.file("esc.db"));
    const auto stored = database.insert(failure);
    ASSERT_TRUE(stored.ok());
    id = *stored;
    auto good = measured(2, 2000);
    good.device_key = failure.device_key;
    ASSERT_TRUE(database.insert(good).ok());
  }
  const std::string db = folder.file("esc.db");
  const std::vector<std::vector<std::string>> commands = {
      {"records", "show", "--db", db},
      {"records", "show", std::to_string(id), "--db", db},
      {"records", "show", std::to_string(id), "--db", db, "--json"},
      {"records", "best", "--db", db},
      {"records", "best", "--db", db, "--device", "other\x1b[2J"}};
  bool told = false;
  for (const auto& words : commands) {
    const auto ran = fettle(words);
    const std::string all = ran.out + ran.err;
    EXPECT_FALSE(all.empty());
    told = told || all.find("\\u001b[2Jil") != std::string::npos;
    for (const char* obeyed : {"\x1b", "\x07", "\r",
                               "\x9b"
                               "31m",
                               "\xc2\x9b", "\xe2\x80\xae"}) {
      EXPECT_EQ(all.find(obeyed), std::string::npos) << words[1];
    }
  }
  EXPECT_TRUE(told) << "what it said is shown, as text";
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

TEST_F(RecordCommands, EmulatedTimeIsNamedWhereverItIsTold) {
  const std::string id = std::to_string(store(dense_record(1000), "rk3399", true));
  expect_in("rk3399 (emulated)", fettle({"records", "best", "--db", db}).out);
  expect_in("rk3399 (emulated)", fettle({"records", "show", id, "--db", db}).out);
  expect_in("(emulated)", fettle({"records", "show", "--db", db}).out);
  expect_in("emulated", fettle({"explain", id, "--db", db}).out);
  const auto best = nlohmann::json::parse(fettle({"records", "best", "--json", "--db", db}).out);
  EXPECT_EQ(best.at("emulated"), true);

  // A board of that key goes before it, and is told as one.
  store(dense_record(5000), "rk3399", false);
  for (const auto& told :
       {fettle({"records", "best", "--db", db}).out, fettle({"records", "show", "--db", db}).out}) {
    EXPECT_EQ(told.find("emulated"), std::string::npos) << told;
  }
  const auto real = nlohmann::json::parse(fettle({"records", "best", "--json", "--db", db}).out);
  EXPECT_EQ(real.at("emulated"), false);
}

TEST_F(RecordCommands, CountedInstructionsOfAnEmulatorAreNamedToo) {
  TuningRecord counted = dense_record(1000);
  counted.outcome.body.AsMeasurement()->clock = wire::ClockDomain::Instructions;
  store(counted, "pynq", true);
  expect_in("pynq (emulated)", fettle({"records", "best", "--db", db}).out);
  const auto best = nlohmann::json::parse(fettle({"records", "best", "--json", "--db", db}).out);
  EXPECT_EQ(best.at("emulated"), true);
}

TEST_F(RecordCommands, MoreThanThePeakIsExplained) {
  TuningRecord record = dense_record(1000);  // 8.2 GFLOPS
  record.peak_gflops = 4;
  store(record, "local", false);
  expect_in("Winograd", fettle({"records", "best", "--db", db}).out);
}

TEST_F(RecordCommands, ShowListsTheSessionsThatAreAskedFor) {
  TuningRecord one = dense_record(1000), two = dense_record(2000);
  one.session = "aaaa";
  two.session = "bbbb";
  for (const auto& [session, key] : {std::pair{"aaaa", "pynq"}, {"bbbb", "rk3399"}}) {
    Session begun;
    begun.session = session;
    begun.device_key = key;
    ASSERT_TRUE(open_or_die(db).begin_session(begun).ok());
  }
  store(one, "pynq", false);
  const std::string id = std::to_string(store(two, "rk3399", false));
  for (const auto& [option, value] : {std::pair{"--session", "bbbb"}, {"--device", "rk3399"}}) {
    const auto shown = fettle({"records", "show", "--db", db, option, value});
    EXPECT_EQ(shown.status, 0) << shown.err;
    expect_in("bbbb", shown.out);
    EXPECT_EQ(shown.out.find("aaaa"), std::string::npos) << option << "\n" << shown.out;
    EXPECT_EQ(fettle({"records", "show", id, "--db", db, option, value}).status, 2);
  }
}

TEST_F(RecordCommands, AFilterThatFitsNothingIsAnErrorThatTellsWhatThereIs) {
  TuningRecord record = dense_record(1000);
  record.session = "aaaa";
  store(record, "pynq", false);
  for (const char* command : {"best", "show", "plot", "export", "distill"}) {
    const auto device = fettle({"records", command, "--db", db, "--device", "pynk"});
    EXPECT_EQ(device.status, 1) << command;
    EXPECT_EQ(device.out, "") << command;
    expect_in("fettle: error: ", device.err);
    expect_in("nothing of the device \"pynk\"; its devices: pynq", device.err);
    const auto session = fettle({"records", command, "--db", db, "--session", "zz"});
    EXPECT_EQ(session.status, 1) << command;
    EXPECT_EQ(session.out, "") << command;
    expect_in("nothing of the session \"zz\"; its sessions: aaaa", session.err);
    const auto fits =
        fettle({"records", command, "--db", db, "--device", "pynq", "--session", "aaaa"});
    EXPECT_EQ(fits.status, 0) << command << fits.err;
  }
  const std::string page = folder.file("page.html");
  EXPECT_EQ(fettle({"records", "plot", "--db", db, "--device", "pynk", "-o", page}).status, 1);
  EXPECT_FALSE(fs::exists(page));
}

TEST_F(RecordCommands, AnImportThatFailsLeavesNoDatabase) {
  const std::string lines = folder.file("bad.jsonl"), into = folder.file("new.db");
  std::ofstream(lines) << "no line of an export\n";
  const auto failed = fettle({"records", "import", lines, "--db", into});
  EXPECT_EQ(failed.status, 1);
  expect_in("nothing was imported", failed.err);
  EXPECT_FALSE(fs::exists(into));
}

TEST_F(RecordCommands, ShowSpeaksJson) {
  const std::string id = std::to_string(store(dense_record(1000), "pynq", true));
  const auto record =
      nlohmann::json::parse(fettle({"records", "show", id, "--json", "--db", db}).out);
  EXPECT_EQ(record.at("kind"), "trial");
  EXPECT_EQ(record.at("emulated"), true);
  std::istringstream lines(fettle({"records", "show", "--json", "--db", db}).out);
  std::vector<nlohmann::json> objects;
  for (std::string line; std::getline(lines, line);) {
    objects.push_back(nlohmann::json::parse(line));
  }
  ASSERT_EQ(objects.size(), 2u);
  EXPECT_EQ(objects[0].at("kind"), "session");
  EXPECT_EQ(objects[1].at("kind"), "task");
  EXPECT_EQ(objects[1].at("best_ns"), 1000);
  EXPECT_EQ(objects[1].at("emulated"), true);
}

// Rows of one task on one device say what tells their targets apart.
TEST_F(RecordCommands, TargetsThatDifferAreTold) {
  TuningRecord record = dense_record(1000);
  store(record, "zynq", false);
  const auto one = fettle({"records", "best", "--db", db});
  EXPECT_EQ(one.status, 0) << one.err;
  EXPECT_EQ(one.out.find("target"), std::string::npos) << one.out;
  auto target = nlohmann::json::parse(record.target);
  const int threads = target.at("threads");
  target["threads"] = threads + 5;
  record.target = target.dump();
  store(record, "zynq", false);
  const auto two = fettle({"records", "best", "--db", db});
  expect_in("target", two.out);
  expect_in(" threads=" + std::to_string(threads) + " ", two.out);
  expect_in(" threads=" + std::to_string(threads + 5) + " ", two.out);
  const auto json = fettle({"records", "best", "--json", "--db", db});
  expect_in("\"threads\":" + std::to_string(threads + 5), json.out);
}

TEST_F(RecordCommands, ATargetNestedWithoutEndIsATextLikeAnother) {
  TuningRecord record = dense_record(1000);
  store(record, "zynq", false);
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  record.target = R"({"threads":)" + deep + "}";
  store(record, "zynq", false);
  for (const bool json : {false, true}) {
    std::vector<std::string> words = {"records", "best", "--db", db};
    if (json) words.emplace_back("--json");
    const auto told = fettle(words);
    EXPECT_EQ(told.status, 0) << told.err.substr(0, 300);
  }
}

TEST_F(RecordCommands, ReadingLeavesNoFilesBehind) {
  store(dense_record(1000), "zynq", false);
  ASSERT_EQ(fettle({"records", "best", "--db", db}).status, 0);
  for (const char* end : {"-wal", "-shm"}) EXPECT_FALSE(fs::exists(db + end)) << end;
}

TEST_F(RecordCommands, ARowThatIsNoJsonIsADamagedDatabase) {
  Database database = open_or_die(db);
  const auto asked = database.connection().execute("SELECT json_extract('{', '$.a')");
  ASSERT_FALSE(asked);
  EXPECT_EQ(asked.error().code, ErrorCode::Malformed);
  expect_in("is damaged (malformed JSON)", asked.error().text());
}

// A mount of the folder onto itself, in a name space of its own.
TEST_F(RecordCommands, AReadOnlyFileSystemIsToldAsSuch) {
  store(dense_record(1000), "zynq", false);
  const auto mounted = [&](const std::string& command) {
    const std::string at = fs::path(db).parent_path();
    return fettle::testing::run_program(
        {"unshare", "-rm", "sh", "-c",
         "mount --bind " + at + " " + at + " && mount -o remount,bind,ro " + at + " && " + command},
        std::chrono::seconds(60), {{"FETTLE_HOME", "/nonexistent"}});
  };
  if (mounted("true").status != 0) GTEST_SKIP() << "no mounts of its own here";
  const std::string import = folder.file("trial.jsonl");
  std::ofstream{import};
  for (const std::string& file : {db, folder.file("new.db")}) {
    const auto refused = mounted(FETTLE_PROGRAM " records import " + import + " --db " + file);
    EXPECT_EQ(refused.status, 1);
    expect_in(file + "' is on a read-only file system", refused.err);
  }
  const auto read = mounted(FETTLE_PROGRAM " records best --db " + db);
  EXPECT_EQ(read.status, 0) << read.err;
}

}  // namespace
}  // namespace fettle::records
