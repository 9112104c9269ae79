// Bad input on the command line: one clear line, the right exit status, nothing lost.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/support/raw_http.h"
#include "tests/unit/command_line.h"

namespace fettle::testing {
namespace {

TEST_F(CommandLine, HelpNamesEverySubcommand) {
  const auto help = fettle({"--help"});
  EXPECT_EQ(help.status, 0);
  for (const char* name : {"tune", "devices", "broker", "records", "keys", "explain", "flash"}) {
    EXPECT_NE(help.out.find(name), std::string::npos) << name;
  }
  EXPECT_NE(help.out.find("build-worker"), std::string::npos);
}

TEST_F(CommandLine, ExplainShowsTheSpace) {
  const auto space = fettle({"explain", "--space", "--profile", "generic-aarch64", "--workload",
                             R"({"op":"conv2d","height":14,"width":14,"in_channels":16,
      "out_channels":32,"kernel":[3,3],"pad":[1,1],"tail":["bias"]})"});
  EXPECT_EQ(space.status, 0) << space.err;
  for (const char* part : {"4 sketches", "cpu_tiled: ", "cpu_winograd_2: ", "cpu_winograd_4x2: ",
                           "cpu_winograd_4: ", "register_tile", "reduce_inner     5: 1 2 4 8 16"}) {
    EXPECT_NE(space.out.find(part), std::string::npos) << part << " is not in\n" << space.out;
  }
}

TEST_F(CommandLine, ExplainShowsSketchesForChannelsLast) {
  const auto space = fettle({"explain", "--space", "--profile", "generic-aarch64", "--workload",
                             R"({"op":"conv2d","layout":"NCHW","height":14,"width":14,
      "in_channels":16,"out_channels":32,"kernel":[3,3],"pad":[1,1],"tail":["bias"]})"});
  EXPECT_EQ(space.status, 0) << space.err;
  for (const char* part : {"cpu_spatial: ", "cpu_tiled_channels_last: ",
                           "cpu_winograd_2_channels_last: ", "cpu_winograd_4_channels_last: "}) {
    EXPECT_NE(space.out.find(part), std::string::npos) << part << " is not in\n" << space.out;
  }
}

// Few outputs and a long sum leave lanes and threads idle: the sum is cut into parts.
TEST_F(CommandLine, ExplainShowsReductionsInParts) {
  const auto space =
      fettle({"explain", "--space", "--profile", "generic-aarch64", "--workload",
              R"({"op":"dense","in_features":4096,"out_features":3,"tail":["bias"]})"});
  EXPECT_EQ(space.status, 0) << space.err;
  for (const char* part : {"2 sketches", "cpu_tiled: ", "cpu_rfactor: ", "tasks"}) {
    EXPECT_NE(space.out.find(part), std::string::npos) << part << " is not in\n" << space.out;
  }
  const auto wide = fettle({"explain", "--space", "--profile", "generic-aarch64", "--workload",
                            R"({"op":"dense","in_features":4096,"out_features":3000})"});
  EXPECT_EQ(wide.out.find("cpu_rfactor"), std::string::npos) << wide.out;
}

TEST_F(CommandLine, AMessageThatCannotBeToldIsNoCrash) {
  const std::string absent =
      "exec " FETTLE_PROGRAM " records best --db " + folder.file("absent.db");
  EXPECT_EQ(run_program({"/bin/sh", "-c", absent + " 2>/dev/full"}).status, 1);
}

// What an import takes, every later command shows as valid JSON, and names may hold any bytes.
TEST_F(CommandLine, JsonIsValidWhateverTheTexts) {
  const std::string trial =
      R"({"board_id":"b","build_ns":1,"configuration":"no JSON","device_key":"k","fettle":1,)"
      R"("kind":"trial","operations":1e9,"outcome":{"measurement":{"censored":false,)"
      R"("clock":"Nanoseconds","interval_high":5.0,"interval_low":5.0,"median":5.0,"number":1,)"
      R"("samples":[[5,1]],"ticks_per_second":1e9}},"peak_gflops":1.0,"program_hash":"",)"
      R"("session":"1","target":"t","unix_ms":1,"workload":"no JSON","workload_hash":"w"})";
  const std::string db = folder.file("t.db");
  ASSERT_EQ(fettle({"records", "import", "--db", db, write("t.jsonl", trial + "\n")}).status, 0);
  const auto best = fettle({"records", "best", "--json", "--db", db});
  EXPECT_EQ(best.status, 0) << best.err;
  EXPECT_NE(best.out.find(R"("configuration":"no JSON")"), std::string::npos) << best.out;
  EXPECT_NE(best.out.find(R"("workload":"no JSON")"), std::string::npos) << best.out;
  const std::string home = folder.file("na\xefve");
  const auto made = run_program({FETTLE_PROGRAM, "keys", "new", "desk", "--json"},
                                std::chrono::seconds(60), {{"FETTLE_HOME", home}});
  EXPECT_EQ(made.status, 0) << made.err;
  EXPECT_NE(made.out.find("na\xef\xbf\xbdve"), std::string::npos) << made.out;
}

TEST_F(CommandLine, WrongUsageIsStatusTwo) {
  expect_error(fettle({"tune"}), 2, {"NETWORK"});
  expect_error(fettle({"tune", "resnet-18", "--trials", "none"}), 2, {"--trials"});
  expect_error(fettle({"prune"}), 2, {"--help"});
}

TEST_F(CommandLine, AnUnknownNetworkNamesThoseThereAre) {
  expect_error(fettle({"tune", "resnet-19", "--db", folder.file("t.db")}), 1,
               {"resnet-19", "resnet-18", "mobilenet", "ONNX file", "`fettle zoo`"});
}

TEST_F(CommandLine, AnUnknownSearcherNamesThoseThereAre) {
  expect_error(fettle({"tune", "resnet-18", "--searcher", "psychic", "--db", folder.file("t.db")}),
               2, {"--searcher: psychic", "evolutionary", "random"});
}

TEST_F(CommandLine, ARecordedSpaceIsTunedWithoutABoard) {
  const std::string recording = FETTLE_RECORDINGS "/conv2d_7x7x512.jsonl.gz";
  const auto tuned =
      fettle({"tune", "--replay", recording, "--trials", "60", "--searcher", "ga", "--json"});
  EXPECT_EQ(tuned.status, 0) << tuned.err;
  EXPECT_NE(tuned.out.find("\"trials\":60"), std::string::npos) << tuned.out;
  EXPECT_NE(tuned.out.find("\"title\":\"conv2d 7x7x512"), std::string::npos) << tuned.out;
  expect_error(fettle({"tune", "--replay", folder.file("none.gz")}), 1, {"none.gz"});
  expect_error(fettle({"tune", "resnet-18", "--replay", recording}), 2, {"--replay"});
  // Nothing that it would not look at is taken silently.
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"--resume"}, {"--db", "x.db"}, {"--hardware", "threads=1"}, {"--repeat", "3"}}) {
    std::vector<std::string> command{"tune", "--replay", recording};
    command.insert(command.end(), words.begin(), words.end());
    expect_error(fettle(command), 2, {"--replay", words[0]});
  }
}

// `xgb` is what sessions of earlier versions were told.
TEST_F(CommandLine, AutoTvmsSearcherIsNamedByItsFeatures) {
  const auto replayed = [this](const char* searcher) {
    return fettle({"tune", "--replay", FETTLE_RECORDINGS "/conv2d_7x7x512.jsonl.gz", "--trials",
                   "70", "--searcher", searcher, "--json"});
  };
  const auto old = replayed("xgb"), knob = replayed("xgb-knob");
  EXPECT_EQ(old.status, 0) << old.err;
  EXPECT_NE(old.err.find("xgb-knob"), std::string::npos) << old.err;
  EXPECT_NE(old.err.find("xgb-itervar"), std::string::npos) << old.err;
  EXPECT_EQ(knob.status, 0) << knob.err;
  EXPECT_EQ(knob.err.find("xgb"), std::string::npos) << knob.err;
  expect_error(replayed("xgb-itervar"), 1, {"recordings", "xgb-knob"});
}

TEST_F(CommandLine, OfAnOptionGivenTwiceTheLastCounts) {
  const auto tuned = fettle({"tune", "--replay", FETTLE_RECORDINGS "/conv2d_7x7x512.jsonl.gz",
                             "--trials", "60", "--trials", "5", "--json"});
  EXPECT_EQ(tuned.status, 0) << tuned.err;
  EXPECT_NE(tuned.out.find("\"trials\":5,\"trials_per_hour\""), std::string::npos) << tuned.out;
}

TEST_F(CommandLine, AnUnknownSchedulerNamesThoseThereAre) {
  expect_error(fettle({"tune", "resnet-18", "--scheduler", "fair", "--db", folder.file("t.db")}), 2,
               {"fair", "gradient", "round-robin"});
}

TEST_F(CommandLine, AnUnknownDeviceKeySaysWhereBoardsComeFrom) {
  expect_error(fettle({"tune", small_dense(), "--device", "pynq", "--db", folder.file("t.db")}), 1,
               {"pynq", "--broker"});
  EXPECT_FALSE(std::filesystem::exists(folder.file("t.db"))) << "nothing is left of it";
}

TEST_F(CommandLine, ATrialIsToldWithItsRecordAndResumedOnesAsTheyCount) {
  const std::string db = folder.file("t.db");
  const auto tune = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"tune", small_dense(), "--db", db, "--hardware", "threads=1",
                               "--trials", "3", "--finalists", "0", "--builders", "1"});
    return fettle(more);
  };
  const auto first = tune({"--json"});
  ASSERT_EQ(first.status, 0) << first.err;
  std::istringstream lines(first.out);
  std::string line;
  std::set<std::int64_t> records;
  while (std::getline(lines, line)) {
    const auto event = nlohmann::json::parse(line);
    if (event["event"] == "trial") records.insert(event.at("record").get<std::int64_t>());
  }
  EXPECT_EQ(records, (std::set<std::int64_t>{1, 2, 3}));
  const auto again = tune({"--resume", "--quiet"});
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_NE(again.err.find("resuming: 3 trials"), std::string::npos) << again.err;
  EXPECT_NE(again.err.find("--trials 3 leaves none to try"), std::string::npos) << again.err;
}

// A terminal that is closed tells it twice.
TEST_F(CommandLine, AClosedTerminalEndsASessionAsCtrlCDoes) {
  const std::string db = folder.file("t.db");
  RunningProgram session(
      {FETTLE_PROGRAM, "tune", small_dense(), "--db", db, "--hardware", "threads=1", "--trials",
       "100000", "--builders", "1", "--json"},
      {{"FETTLE_HOME", folder.file("home")}, {"FETTLE_AGENT", FETTLE_AGENT_PROGRAM}});
  ASSERT_TRUE(session.wait_for_out("\"event\":\"trial\"", std::chrono::seconds(60)))
      << session.err();
  session.signal(SIGHUP);
  session.signal(SIGHUP);
  EXPECT_EQ(session.wait(std::chrono::seconds(30)), 130);
  EXPECT_NE(session.out().find("\"end\":\"interrupted\""), std::string::npos) << session.err();
}

TEST_F(CommandLine, AShapeThatDoesNotFitNamesEntryAndField) {
  const auto file =
      write("bad.json", R"([{"op": "conv2d", "layout": "NHWC", "batch": 1, "height": 8,
    "width": 8, "in_channels": 0, "out_channels": 4, "kernel": [3, 3], "stride": [1, 1],
    "pad": [1, 1], "dilation": [1, 1], "groups": 1, "dtype": "float32", "tail": []}])");
  expect_error(fettle({"tune", file, "--db", folder.file("t.db")}), 1, {"entry 1", "in_channels"});
}

TEST_F(CommandLine, AFileThatIsNoJsonOrIsAbsent) {
  expect_error(fettle({"tune", write("x.json", "{"), "--db", folder.file("t.db")}), 1,
               {"x.json", "JSON"});
  expect_error(fettle({"tune", folder.file("absent.json"), "--db", folder.file("t.db")}), 1,
               {"absent.json"});
}

TEST_F(CommandLine, AnOperatorThatIsNotThereYetIsNamedAndSkipped) {
  const auto file = write("future.json", R"([{"op": "attention", "heads": 8}])");
  const auto result = fettle({"tune", file, "--db", folder.file("t.db")});
  EXPECT_NE(result.err.find("skipped: attention"), std::string::npos) << result.err;
  expect_error(result, 1, {"no task"});
}

TEST_F(CommandLine, HardwareKeysAreChecked) {
  expect_error(fettle({"tune", "resnet-18", "--hardware", "wings=2", "--db", folder.file("t.db")}),
               2, {"--hardware: ", "wings", "threads", "vector_bits"});
  expect_error(
      fettle({"tune", "resnet-18", "--hardware", "threads=0", "--db", folder.file("t.db")}), 2,
      {"threads", "1"});
}

// Whoever starts it may ignore SIGCHLD: it would never hear how its children ended.
TEST_F(CommandLine, ItHearsOfItsChildrenWhoeverStartedIt) {
  RunningProgram broker({"/bin/sh", "-c", "trap '' CHLD; exec \"$0\" \"$@\"", FETTLE_PROGRAM,
                         "broker", "--listen", "tcp://127.0.0.1:*", "--json"},
                        {{"FETTLE_HOME", folder.file("home")}});
  ASSERT_TRUE(broker.wait_for_out("listening", std::chrono::seconds(10))) << broker.err();
  const std::string status = contents_of("/proc/" + std::to_string(broker.pid()) + "/status");
  const std::size_t at = status.find("SigIgn:\t");
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(std::stoull(status.substr(at + 8), nullptr, 16) & 1u << (SIGCHLD - 1), 0u);
}

// As an upgrade in the middle of a session does it.
TEST_F(CommandLine, ASessionOutlivesItsProgramsFile) {
  const std::string program = folder.file("my-fettle");
  std::filesystem::copy_file(FETTLE_PROGRAM, program);
  RunningProgram session(
      {program, "tune", small_dense(), "--db", folder.file("t.db"), "--hardware", "threads=1",
       "--trials", "100000", "--builders", "1", "--json"},
      {{"FETTLE_HOME", folder.file("home")}, {"FETTLE_AGENT", FETTLE_AGENT_PROGRAM}});
  const auto trials = [&](int count) {
    return session.wait_for_out("\"event\":\"trial\"", std::chrono::seconds(60), count);
  };
  ASSERT_TRUE(trials(1)) << session.err();
  std::filesystem::remove(program);
  const auto builders = descendants(session.pid(), "build-worker");
  ASSERT_EQ(builders.size(), 1u);
  EXPECT_EQ(contents_of("/proc/" + std::to_string(builders[0]) + "/comm"), "my-fettle\n");
  ::kill(builders[0], SIGKILL);
  const std::string out = session.out();
  std::size_t before = 0;
  for (std::size_t at = 0; (at = out.find("\"event\":\"trial\"", at)) != out.npos; ++at) ++before;
  EXPECT_TRUE(trials(static_cast<int>(before) + 20)) << session.err();
  session.signal(SIGTERM);
  EXPECT_EQ(session.wait(std::chrono::seconds(30)), 130) << session.err();
}

TEST_F(CommandLine, ANetworkThatIsStoppedLeavesNoFolder) {
  const std::string temporary = folder.file("tmp");
  std::filesystem::create_directory(temporary);
  RunningProgram zoo({FETTLE_PROGRAM, "zoo", "squeezenet-1.1", "--int8", "-o", "-"},
                     {{"TMPDIR", temporary}});
  for (int i = 0; i < 1000 && std::filesystem::is_empty(temporary); ++i) ::usleep(5'000);
  ASSERT_FALSE(std::filesystem::is_empty(temporary));
  zoo.signal(SIGTERM);
  EXPECT_EQ(zoo.wait(std::chrono::seconds(60)), 130);
  EXPECT_EQ(zoo.out(), "");
  EXPECT_TRUE(std::filesystem::is_empty(temporary));
}

TEST_F(CommandLine, ADatabaseOfAnotherKindOrVersionIsLeftAlone) {
  const auto file =
      write("notes.db", "these are notes, not a database, and long enough to be looked at");
  expect_error(fettle({"tune", small_dense(), "--db", file}), 1, {"notes.db"});
  std::ifstream again(file);
  std::string text;
  std::getline(again, text);
  EXPECT_EQ(text.substr(0, 9), "these are");
  expect_error(fettle({"records", "best", "--db", folder.file("absent.db")}), 1, {"absent.db"});
}

TEST_F(CommandLine, KeysAreMadeListedAllowedAndRevoked) {
  const auto made = fettle({"keys", "new", "desk"});
  ASSERT_EQ(made.status, 0) << made.err;
  const std::string key = made.out.substr(0, 40);
  expect_error(fettle({"keys", "new", "desk"}), 1,
               {"desk", "fettle keys allow NAME '" + key + "' --role client"});
  expect_error(fettle({"keys", "allow", "desk", "tooshort"}), 1, {"40"});
  const auto allow = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"keys", "allow", "desk", key});
    const auto done = fettle(more);
    EXPECT_EQ(done.status, 0) << done.err;
    return done.err;
  };
  EXPECT_EQ(allow({"--role", "agent"}), "");
  EXPECT_NE(allow({}).find("stays agent"), std::string::npos);
  EXPECT_NE(allow({"--role", "client"}).find("is client now; it was agent"), std::string::npos);
  EXPECT_NE(allow({"--role", "agent"}).find("is agent now; it was client"), std::string::npos);
  expect_error(fettle({"keys", "allow", "desk", key, "--role", "king"}), 2, {"king", "agent"});
  allow({"--device-key", "pynq", "--device-key", "pynq-z2", "--board", "0123abcd"});
  EXPECT_NE(fettle({"keys", "list"}).out.find("agent  device keys pynq, pynq-z2  boards 0123abcd"),
            std::string::npos);
  EXPECT_NE(fettle({"keys", "list", "--json"}).out.find("\"boards\":[\"0123abcd\"]"),
            std::string::npos);
  expect_error(fettle({"keys", "allow", "desk", key, "--board", "a b"}), 1, {"without spaces"});
  const auto list = fettle({"keys", "list"});
  EXPECT_NE(list.out.find(key), std::string::npos);
  EXPECT_NE(list.out.find("agent"), std::string::npos);
  EXPECT_EQ(fettle({"keys", "revoke", "desk"}).status, 0);
  expect_error(fettle({"keys", "revoke", "desk"}), 1, {"desk"});
}

}  // namespace
}  // namespace fettle::testing
