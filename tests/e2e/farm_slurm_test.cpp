// `fettle farm slurm` on a real Slurm of one node: arrays of build workers that grow and shrink
// with a session's queue, and what must not be lost when a worker, a node or the broker is killed.
#include <csignal>
#include <iostream>

#include "tests/e2e/tune_support.h"
#include "tests/support/slurm_cluster.h"

namespace fettle::testing {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr unsigned kBoards = 4;
constexpr const char* kName = "test-farm";

template <typename Condition>
bool soon(Condition condition, seconds limit = seconds(60)) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(milliseconds(100));
  }
  return true;
}

class FarmSlurm : public TuneTest {
 protected:
  using Program = std::unique_ptr<RunningProgram>;

  void SetUp() override {
    if (const std::string why = SlurmCluster::why_none(); !why.empty()) GTEST_SKIP() << why;
    slurm = std::make_unique<SlurmCluster>();
    allow("client", "client");
    allow("builder", "builder");
    start_broker("tcp://127.0.0.1:*");
    for (unsigned i = 1; i <= kBoards; ++i) start_board("board-" + std::to_string(i));
  }

  std::map<std::string, std::string> settings() const {
    auto all = environment();
    all.merge(slurm->environment());
    return all;
  }
  ProgramResult fettle(std::vector<std::string> words) const {
    words.insert(words.begin(), FETTLE_PROGRAM);
    return run_program(words, seconds(120), settings());
  }
  void allow(const std::string& name, const std::string& role) {
    const auto made = fettle({"keys", "new", name});
    ASSERT_EQ(made.status, 0) << made.err;
    const auto done = fettle({"keys", "allow", name, made.out.substr(0, 40), "--role", role});
    ASSERT_EQ(done.status, 0) << done.err;
  }
  void start_broker(const std::string& listen) {
    broker = std::make_unique<RunningProgram>(
        std::vector<std::string>{FETTLE_PROGRAM, "broker", "--listen", listen}, environment());
    ASSERT_TRUE(broker->wait_for_out("public key ", seconds(20))) << broker->err();
    const std::string out = broker->out();
    url = out.substr(out.find("tcp://"));
    url = url.substr(0, url.find('\n'));
    broker_key = out.substr(out.find("public key ") + 11, 40);
  }
  void start_board(const std::string& name) {
    allow(name, "agent");
    boards.push_back(std::make_unique<RunningProgram>(
        std::vector<std::string>{FETTLE_SIMULATED_BOARD, "--broker", url, "--broker-key",
                                 broker_key, "--key-file", folder.file("home/" + name + ".key"),
                                 "--log-level", "warning", "--board-model", "simulated " + name,
                                 "--key", "simulated", "--run-ms", "5"},
        environment()));
  }

  std::vector<std::string> farm_words(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {
        FETTLE_PROGRAM, "farm",        "slurm", "--broker", url, "--name",
        kName,          "--partition", "build", "--max",    "2", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  Program farm(const std::vector<std::string>& more) const {
    auto words = farm_words(more);
    words.insert(words.end(), {"--every", "1"});
    return std::make_unique<RunningProgram>(words, settings());
  }
  ProgramResult farm_once(const std::vector<std::string>& more) const {
    return run_program(farm_words(more), seconds(120), settings());
  }
  // A session of ResNet-18 whose candidates the farm compiles.
  std::vector<std::string> resnet(unsigned trials, const std::vector<std::string>& more) const {
    std::vector<std::string> words = {
        FETTLE_PROGRAM, "tune", "resnet-18", "--json",    "--db",     db,
        "--broker",     url,    "--device",  "simulated", "--trials", std::to_string(trials)};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  std::size_t jobs(const std::string& state) const {
    const auto states = slurm->states(kName);
    return static_cast<std::size_t>(std::count(states.begin(), states.end(), state));
  }
  bool workers_run(std::size_t count) const {
    return soon([&] { return jobs("RUNNING") == count && listed_builders() == count; });
  }
  std::size_t listed_builders() const {
    std::istringstream lines(fettle({"devices", "--broker", url, "--json"}).out);
    for (std::string line; std::getline(lines, line);) {
      const Json key = Json::parse(line, nullptr, false);
      if (key.is_object() && key["key"].get<std::string>().starts_with("build:"))
        return key["total"];
    }
    return 0;
  }
  // Workers of this broker: they are Slurm's, not this program's children.
  std::vector<pid_t> worker_processes() const {
    return descendants(
        1, "build-worker" + std::string(1, '\0') + "--broker" + std::string(1, '\0') + url);
  }
  static std::vector<Json> lines_of(const std::string& text) {
    std::vector<Json> all;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      all.push_back(Json::parse(line, nullptr, false));
      EXPECT_TRUE(all.back().is_object()) << line;
    }
    return all;
  }
  std::string worker_logs() const {
    std::string all;
    for (const char* task : {"-0.log", "-1.log"}) {
      std::ifstream file(folder.file(std::string("home/farm/") + kName + task));
      all.append(std::istreambuf_iterator<char>(file), {});
    }
    return all;
  }
  static void expect_end(RunningProgram& farm) {
    farm.signal(SIGINT);
    EXPECT_EQ(farm.wait(seconds(60)), 0) << farm.err();
    EXPECT_NE(farm.out().find("\"event\":\"ended\""), std::string::npos) << farm.out();
  }
  // Each trial once: in what the session told, and in its database.
  void expect_each_once(const std::string& out, std::size_t trials) const {
    const Session session = parse(out);
    EXPECT_EQ(session.summary["trials"], trials);
    EXPECT_EQ(session.trials.size(), trials);
    std::set<std::uint64_t> numbers;
    for (const auto& trial : session.trials)
      EXPECT_TRUE(numbers.insert(trial["trial"].get<std::uint64_t>()).second) << trial;
    const auto all = records();
    EXPECT_EQ(all.size(), trials);
    std::set<std::string> measured;
    for (const auto& record : all) {
      EXPECT_TRUE(measured.insert(record.workload + record.configuration).second)
          << "measured twice: " << record.configuration;
      const wire::FailureT* failure = record.failure();
      if (failure && failure->stage == wire::Stage::Dispatch)
        ADD_FAILURE() << (failure->error ? failure->error->message : "lost");
    }
  }

  std::unique_ptr<SlurmCluster> slurm;
  std::string url, broker_key;
  Program broker;
  std::vector<Program> boards;
};

TEST_F(FarmSlurm, GrowsWithTheQueueAndShrinksBehindIt) {
  constexpr unsigned kTrials = 600;
  const Program workers = farm({"--shrink-after", "3"});
  std::this_thread::sleep_for(seconds(3));
  EXPECT_TRUE(slurm->states(kName).empty()) << "nobody builds anything";
  // A searcher that does not think: the queue is as long as the session lets it be at once. One
  // worker builds some 50 candidates a second: there must be enough for many of the farm's looks.
  RunningProgram session(resnet(kTrials, {"--build-on", "workers", "--searcher", "random"}),
                         settings());
  EXPECT_TRUE(soon([&] { return jobs("RUNNING") == 2; })) << workers->out() << workers->err();
  ASSERT_EQ(session.wait(seconds(240)), 0) << session.err() << worker_logs();
  expect_each_once(session.out(), kTrials);
  EXPECT_TRUE(soon([&] { return slurm->states(kName).empty(); })) << workers->out();
  unsigned started = 0, stopped = 0;
  for (const Json& line : lines_of(workers->out())) {
    EXPECT_EQ(line["lost"], 0) << line;
    started += line["started"].size();
    stopped += line["stop"].size();
  }
  EXPECT_GE(started, 2u);
  EXPECT_EQ(started, stopped);
  expect_end(*workers);
}

TEST_F(FarmSlurm, NothingIsLostWhenAWorkerANodeAndTheBrokerAreKilled) {
  const Program workers = farm({"--min", "2"});
  ASSERT_TRUE(workers_run(2)) << workers->out() << workers->err() << worker_logs();
  constexpr unsigned kTrials = 240;
  RunningProgram session(resnet(kTrials, {"--build-on", "workers"}), settings());
  ASSERT_TRUE(session.wait_for_out("\"trial\"", seconds(120), 8)) << session.err();
  const std::vector<pid_t> before = worker_processes();
  ASSERT_EQ(before.size(), 2u);
  ::kill(before[0], SIGKILL);
  EXPECT_TRUE(soon([&] { return workers->out().find("\"lost\":1") != std::string::npos; }))
      << workers->out();
  ASSERT_TRUE(session.wait_for_out("\"trial\"", seconds(120), 24)) << session.err();
  slurm->kill_node();
  ASSERT_TRUE(session.wait_for_out("\"trial\"", seconds(120), 40)) << session.err();
  EXPECT_EQ(session.wait(seconds(0)), -1) << "all was over before the broker was killed";
  slurm->start_node();
  broker->signal(SIGKILL);
  EXPECT_EQ(broker->wait(seconds(20)), 128 + SIGKILL);
  start_broker(url);
  ASSERT_EQ(session.wait(seconds(240)), 0) << session.err() << worker_logs() << workers->out();
  expect_each_once(session.out(), kTrials);
  EXPECT_TRUE(workers_run(2)) << workers->out() << workers->err();
  expect_end(*workers);
  EXPECT_TRUE(soon([&] { return worker_processes().empty(); }));
}

TEST_F(FarmSlurm, StartedAgainItFindsItsWorkers) {
  Program first = farm({"--min", "2"});
  ASSERT_TRUE(workers_run(2)) << first->out() << first->err();
  const auto second = farm_once({"--once"});
  EXPECT_EQ(second.status, 1);
  EXPECT_NE(second.err.find("a farm 'test-farm' runs already"), std::string::npos) << second.err;
  first->signal(SIGKILL);
  EXPECT_EQ(first->wait(seconds(20)), 128 + SIGKILL);
  EXPECT_EQ(jobs("RUNNING"), 2u) << "they need no farm";
  first = farm({"--min", "2", "--keep"});
  std::this_thread::sleep_for(seconds(4));
  first->signal(SIGTERM);
  EXPECT_EQ(first->wait(seconds(60)), 0) << first->err();
  EXPECT_NE(first->out().find("\"event\":\"kept\""), std::string::npos) << first->out();
  EXPECT_EQ(first->out().find("\"event\":\"look\""), std::string::npos) << first->out();
  const auto wants_none = farm_once({"--dry-run"});
  ASSERT_EQ(wants_none.status, 0) << wants_none.err;
  EXPECT_EQ(jobs("RUNNING"), 2u);
  const auto once = farm_once({"--once"});
  ASSERT_EQ(once.status, 0) << once.err;
  const Json told = lines_of(once.out).at(0);
  EXPECT_EQ(told["workers_running"], 2) << told;
  EXPECT_EQ(told["stop"].size(), 2u) << told;
  EXPECT_TRUE(soon([&] { return slurm->states(kName).empty(); }));
}

TEST_F(FarmSlurm, WorkersThatCannotRunAreNotStartedAgainAndAgain) {
  ASSERT_EQ(fettle({"keys", "revoke", "builder"}).status, 0);
  const Program workers = farm({"--min", "2", "--sbatch=--time=1", "--fettle", "/no/such/fettle"});
  EXPECT_TRUE(soon([&] { return workers->out().find("\"held_back_s\":1") != std::string::npos; }))
      << workers->out();
  std::this_thread::sleep_for(seconds(5));
  unsigned started = 0;
  for (const Json& line : lines_of(workers->out())) started += line["started"].size();
  EXPECT_LE(started, 6u) << workers->out();
  EXPECT_NE(worker_logs().find("/no/such/fettle"), std::string::npos) << worker_logs();
  expect_end(*workers);
}

TEST_F(FarmSlurm, WhatCannotBeIsSaidInSlurmsWords) {
  auto words = farm_words({"--once"});
  *std::find(words.begin(), words.end(), "build") = "nowhere";
  const auto unknown = run_program(words, seconds(60), settings());
  EXPECT_EQ(unknown.status, 1);
  EXPECT_NE(unknown.err.find("invalid partition specified: nowhere"), std::string::npos)
      << unknown.err;
  broker->signal(SIGKILL);
  broker->wait(seconds(20));
  const auto nobody = farm_once({"--once", "--min", "1"});
  EXPECT_EQ(nobody.status, 1);
  EXPECT_NE(nobody.err.find("nothing listens there"), std::string::npos) << nobody.err;
  EXPECT_TRUE(slurm->states(kName).empty());
}

// How much two workers give a session that has one compiler of its own: told, and not held to a
// number, as all of them and the boards share this machine's cores.
TEST_F(FarmSlurm, TwoWorkersBesideNone) {
  constexpr unsigned kTrials = 120;
  const auto per_hour = [&](const std::string& name) {
    db = folder.file(name + ".db");
    const auto ran =
        run_program(resnet(kTrials, {"--builders", "1", "--seed", "1"}), seconds(400), settings());
    EXPECT_EQ(ran.status, 0) << ran.err;
    expect_each_once(ran.out, kTrials);
    return parse(ran.out).summary["trials_per_hour"].get<double>();
  };
  const double none = per_hour("none");
  const Program workers = farm({"--min", "2"});
  ASSERT_TRUE(workers_run(2)) << workers->out() << workers->err();
  const double two = per_hour("two");
  EXPECT_EQ(listed_builders(), 2u);
  std::cout << "trials per hour: " << none << " by one compiler of its own, " << two
            << " with two workers that Slurm started\n";
  RecordProperty("trials_per_hour_none", std::to_string(none));
  RecordProperty("trials_per_hour_two", std::to_string(two));
  expect_end(*workers);
}

// Needs no Slurm.
TEST(FarmWithoutSlurm, SaysWhatIsMissing) {
  const ScratchFolder folder;
  const std::map<std::string, std::string> bare = {{"FETTLE_HOME", folder.file("home")},
                                                   {"PATH", folder.path()}};
  const auto made = run_program({FETTLE_PROGRAM, "keys", "new", "broker"}, seconds(30), bare);
  ASSERT_EQ(made.status, 0) << made.err;
  const auto ran = run_program({FETTLE_PROGRAM, "farm", "slurm", "--broker", "tcp://127.0.0.1:9",
                                "--partition", "build", "--max", "2"},
                               seconds(60), bare);
  EXPECT_EQ(ran.status, 1);
  EXPECT_NE(ran.err.find("no sbatch on the PATH"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace fettle::testing
