// `fettle tune` whose candidates are compiled by `fettle build-worker` processes alone: the real
// programs, and one of them killed in the middle.
#include <csignal>

#include "tests/e2e/tune_support.h"

namespace fettle::testing {
namespace {

using std::chrono::seconds;

class BuildWorkersTest : public TuneTest {
 protected:
  using Program = std::unique_ptr<RunningProgram>;
  void allow(const std::string& name, const std::string& role) {
    const auto made =
        run_program({FETTLE_PROGRAM, "keys", "new", name}, seconds(30), environment());
    EXPECT_EQ(made.status, 0) << made.err;
    const auto done =
        run_program({FETTLE_PROGRAM, "keys", "allow", name, made.out.substr(0, 40), "--role", role},
                    seconds(30), environment());
    EXPECT_EQ(done.status, 0) << done.err;
  }
  void SetUp() override {
    allow("client", "client");
    allow("board", "agent");
    allow("builder", "builder");
    broker = std::make_unique<RunningProgram>(
        std::vector<std::string>{FETTLE_PROGRAM, "broker", "--json", "--listen",
                                 "tcp://127.0.0.1:*", "--metrics", "0"},
        environment());
    ASSERT_TRUE(broker->wait_for_out("\n", seconds(20))) << broker->err();
    const auto said = nlohmann::json::parse(broker->out(), nullptr, false);
    ASSERT_TRUE(said.is_object()) << broker->out();
    url = said["endpoint"];
    broker_key = said["public_key"];
    metrics_port = std::to_string(said["metrics_port"].get<int>());
    board = std::make_unique<RunningProgram>(
        std::vector<std::string>{FETTLE_AGENT_PROGRAM, "--broker", url, "--broker-key", broker_key,
                                 "--key-file", folder.file("home/board.key"), "--key", "bench"},
        environment());
  }
  Program worker(const std::string& name) {
    return std::make_unique<RunningProgram>(
        std::vector<std::string>{FETTLE_PROGRAM, "build-worker", "--broker", url, "--name", name,
                                 "--builders", "1"},
        environment());
  }
  // Until the broker lists each of them.
  std::string wait_for(const std::vector<std::string>& names) {
    std::string listed;
    for (int i = 0; i < 100; ++i) {
      listed =
          run_program({FETTLE_PROGRAM, "devices", "--broker", url}, seconds(30), environment()).out;
      if (std::all_of(names.begin(), names.end(), [&](const std::string& name) {
            return listed.find(name) != std::string::npos;
          })) {
        return listed;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    ADD_FAILURE() << listed;
    return listed;
  }

  // The broker in numbers.
  nlohmann::json status() {
    const auto asked =
        run_program({FETTLE_PROGRAM, "broker", "--status", "--json", "--metrics", metrics_port},
                    seconds(30), environment());
    return nlohmann::json::parse(asked.out, nullptr, false);
  }

  std::string url, broker_key, metrics_port;
  Program broker, board;
};

TEST_F(BuildWorkersTest, AKilledWorkerCostsNoTrial) {
  Program first = worker("node-1"), second = worker("node-2");
  const std::string listed = wait_for({"bench", "node-1", "node-2"});
  EXPECT_NE(listed.find("build:"), std::string::npos) << listed;
  RunningProgram program(
      tune({"--trials", "60", "--device", "bench", "--broker", url, "--build-on", "workers"}),
      environment());
  ASSERT_TRUE(program.wait_for_out("\"trial\"", seconds(120), 10))
      << program.err() << first->err() << board->err();
  EXPECT_TRUE(descendants(program.pid(), "build-worker").empty()) << "it compiles nothing itself";
  first->signal(SIGKILL);
  EXPECT_EQ(program.wait(seconds(240)), 0) << program.err() << second->err();
  const Session session = parse(program.out());
  EXPECT_EQ(session.summary["trials"], 60);
  EXPECT_EQ(session.trials.size(), 60u);
  std::set<std::uint64_t> numbers;
  for (const auto& trial : session.trials) {
    EXPECT_TRUE(numbers.insert(trial["trial"].get<std::uint64_t>()).second) << trial;
  }
  EXPECT_FALSE(session.summary["failures"].contains("Dispatch DeviceLost")) << session.summary;
  EXPECT_FALSE(session.summary["failures"].contains("Dispatch MissingBlob")) << session.summary;
  EXPECT_EQ(records().size(), 60u);
  expect_sound_database(60);
}

// What is usual: this machine's compilers and the broker's.
TEST_F(BuildWorkersTest, BothSidesBuild) {
  Program only = worker("node-1");
  wait_for({"bench", "node-1"});
  auto words = tune({"--trials", "30", "--device", "bench", "--broker", url, "--builders", "1"});
  std::erase(words, "--json");
  const auto result = run_program(words, seconds(240), environment());
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.out.find("(1 remote builder)"), std::string::npos) << result.out;
  EXPECT_EQ(records().size(), 30u);
  expect_sound_database(30);
}

// What one user's session had built, another's need not: the same programs, from the broker's
// cache.
TEST_F(BuildWorkersTest, AnotherUsersSessionTakesWhatWasBuilt) {
  auto bobs = environment();
  bobs["FETTLE_HOME"] = folder.file("bobs_home");
  const auto made = run_program({FETTLE_PROGRAM, "keys", "new", "client"}, seconds(30), bobs);
  ASSERT_EQ(made.status, 0) << made.err;
  const auto allowed = run_program(
      {FETTLE_PROGRAM, "keys", "allow", "bob", made.out.substr(0, 40), "--role", "client"},
      seconds(30), environment());
  ASSERT_EQ(allowed.status, 0) << allowed.err;
  Program only = worker("node-1");
  wait_for({"bench", "node-1"});

  std::ofstream(tasks) << R"([
      {"op": "conv2d", "layout": "NHWC", "batch": 1, "height": 14, "width": 14, "in_channels": 16,
       "out_channels": 32, "kernel": [3, 3], "stride": [1, 1], "pad": [1, 1], "dilation": [1, 1],
       "groups": 1, "dtype": "float32", "tail": ["bias", "relu"]}])";
  const std::vector<std::string> more = {
      "--deterministic", "--trials", "40",         "--device", "bench",      "--broker", url,
      "--searcher",      "random",   "--build-on", "workers",  "--no-prior", "--seed",   "3"};
  const auto first = run_program(tune(more), seconds(240), environment());
  ASSERT_EQ(first.status, 0) << first.err;
  EXPECT_EQ(status()["known_builds"], 0);
  expect_sound_database(40, 1);

  db = folder.file("bobs.db");
  std::vector<std::string> bobs_words = more;
  bobs_words.insert(bobs_words.end(), {"--broker-key", broker_key});
  const auto second = run_program(tune(bobs_words), seconds(240), bobs);
  ASSERT_EQ(second.status, 0) << second.err;
  int known = 0;  // the numbers are taken once a second
  for (int i = 0; i < 50 && known < 40; ++i) {
    known = status()["known_builds"];
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  std::printf("of 40 trials of another user %d programs were built before\n", known);
  EXPECT_GE(known, 36) << "random search of one task with one seed asks for the same";
  expect_sound_database(40, 1);
}

TEST_F(BuildWorkersTest, AKeyOfAnotherRoleIsRefusedByName) {
  const auto refused = run_program(
      {FETTLE_PROGRAM, "build-worker", "--broker", url, "--key", "client", "--builders", "1"},
      seconds(60), environment());
  EXPECT_EQ(refused.status, 1) << refused.err;
  EXPECT_NE(refused.err.find("'client' is allowed as client, not as builder"), std::string::npos)
      << refused.err;
}

}  // namespace
}  // namespace fettle::testing
