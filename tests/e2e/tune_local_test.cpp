// `fettle tune` on this machine: the real program, builders, broker and agent.
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <csignal>

#include "host/fleet/keys.h"
#include "tests/e2e/tune_support.h"

namespace fettle::testing {
namespace {

using std::chrono::seconds;

TEST_F(TuneTest, TunesEveryTaskAndRecordsEveryTrial) {
  const auto result =
      run_program(tune({"--trials", "40", "--seed", "1"}), seconds(240), environment());
  ASSERT_EQ(result.status, 0) << result.err;
  const Session session = parse(result.out);
  EXPECT_EQ(session.trials.size(), 40u);
  ASSERT_TRUE(session.summary.is_object());
  EXPECT_EQ(session.summary["end"], "finished");
  EXPECT_EQ(session.summary["trials"], 40);
  EXPECT_GT(session.summary["peak_gflops"].get<double>(), 0.1);
  EXPECT_GT(session.summary["trials_per_hour"].get<double>(), 0);
  EXPECT_GT(session.summary["build_ms_median"].get<double>(), 0);
  const auto& certainty = session.summary["certainty"];
  EXPECT_GT(certainty["trials"], 0);
  EXPECT_GT(certainty["half_interval"].get<double>(), 0);
  EXPECT_LT(certainty["disturbed_share"].get<double>(), 1);
  for (const char* stage : {"search", "features", "model", "build", "upload", "load", "warmup",
                            "run", "check", "other", "idle"}) {
    ASSERT_TRUE(session.summary["stage_seconds"].contains(stage)) << stage;
    EXPECT_GE(session.summary["stage_seconds"][stage].get<double>(), 0) << stage;
  }
  EXPECT_GT(session.summary["stage_seconds"]["run"].get<double>(), 0);
  for (const auto& task : session.summary["tasks"]) {
    EXPECT_GT(task["best_gflops"].get<double>(), 0) << task;
    // Counted in operations of the direct algorithm: Winograd's F(4,3) needs a quarter.
    const bool winograd = task["title"].get<std::string>().starts_with("conv2d");
    EXPECT_LE(task["share_of_peak"].get<double>(), winograd ? 4.4 : 1.1) << task;
  }
  expect_sound_database(40);

  const auto best = run_program({FETTLE_PROGRAM, "records", "best", "--db", db, "--json"});
  EXPECT_EQ(best.status, 0) << best.err;
  EXPECT_EQ(std::count(best.out.begin(), best.out.end(), '\n'), 2);
}

TEST_F(TuneTest, ResumeGoesOnWithoutRepeatingATrial) {
  ASSERT_EQ(run_program(tune({"--trials", "12"}), seconds(240), environment()).status, 0);
  const auto again = run_program(tune({"--trials", "30", "--resume"}), seconds(240), environment());
  ASSERT_EQ(again.status, 0) << again.err;
  const Session session = parse(again.out);
  EXPECT_EQ(session.summary["resumed"], 12);
  EXPECT_EQ(session.trials.size(), 18u);
  expect_sound_database(30);
}

// No time of these kernels fits into a millisecond, nor between two looks of the supervisor.
TEST_F(TuneTest, AResumedRunOfFailuresLeavesWhatWasMeasured) {
  const std::string large = folder.file("large.json");
  std::ofstream(large) << R"([{"op": "conv2d", "height": 224, "width": 224, "in_channels": 64,
      "out_channels": 128, "kernel": [3, 3], "stride": [1, 1], "pad": [1, 1]}])";
  const auto run = [&](const char* trials, const std::vector<std::string>& more) {
    std::vector<std::string> words = {FETTLE_PROGRAM, "tune", large,      "--json",
                                      "--db",         db,     "--trials", trials};
    words.insert(words.end(), more.begin(), more.end());
    return run_program(words, seconds(240), environment());
  };
  const auto none = run("3", {"--timeout", "0.001"});
  EXPECT_EQ(none.status, 1) << none.err;
  EXPECT_NE(none.err.find("error: every trial failed: Run RunTimeout"), std::string::npos);
  ASSERT_EQ(run("12", {"--resume"}).status, 0);
  const auto again = run("15", {"--resume", "--timeout", "0.001"});
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_NE(again.err.find("warning: every trial of this run failed: Run RunTimeout"),
            std::string::npos)
      << again.err << again.out;
  EXPECT_EQ(parse(again.out).summary["resumed"], 12);
}

TEST_F(TuneTest, TheFastestAreMeasuredAgainByTurns) {
  const std::vector<std::string> words = {"--trials",    "240",         "--scheduler",
                                          "round-robin", "--finalists", "2"};
  const auto result = run_program(tune(words), seconds(240), environment());
  ASSERT_EQ(result.status, 0) << result.err;
  const Session session = parse(result.out);
  EXPECT_EQ(session.trials.size(), 240u);
  // Two finalists need 64 trials. A task whose plan is late leaves its turn to the other one, so
  // that they have not quite as many. On a machine that does too much else one of them may not come
  // to its three measurements, which is said.
  ASSERT_GE(session.finals.size(), 1u) << result.err;
  if (session.finals.size() < 2) {
    EXPECT_NE(result.err.find("not measured again"), std::string::npos) << result.err;
  }
  EXPECT_GE(session.summary["finals"].get<std::size_t>(), session.finals.size() * 2 * 3);
  expect_sound_database(240);
  std::map<std::string, double> confirmed;  // by program
  for (const auto& record : records()) {
    if (!record.confirmed_nanoseconds) continue;
    EXPECT_GT(*record.confirmed_nanoseconds, 0.2 * *record.nanoseconds());
    EXPECT_LT(*record.confirmed_nanoseconds, 5 * *record.nanoseconds());
    confirmed[record.program_hash] = *record.confirmed_nanoseconds;  // its twins' too
  }
  EXPECT_EQ(confirmed.size(), 2 * session.finals.size());
  const auto best = run_program({FETTLE_PROGRAM, "records", "best", "--db", db, "--json"});
  EXPECT_EQ(best.status, 0) << best.err;
  // What was confirmed once is not measured again, and counts.
  const auto again = run_program(
      tune({"--trials", "240", "--scheduler", "round-robin", "--finalists", "2", "--resume"}),
      seconds(240), environment());
  ASSERT_EQ(again.status, 0) << again.err;
  const Session resumed = parse(again.out);
  EXPECT_TRUE(resumed.trials.empty());
  EXPECT_TRUE(resumed.finals.empty());
  for (std::size_t task = 0; task < 2; ++task) {
    EXPECT_NEAR(resumed.summary["tasks"][task]["best_ns"].get<double>(),
                session.summary["tasks"][task]["best_ns"].get<double>(), 1e-3);
  }
}

// An operator that fettle does not know, stated as a compute DAG.
TEST_F(TuneTest, AUsersOwnOperatorIsTunedAndChecked) {
  const auto result = run_program({FETTLE_PROGRAM, "tune", FETTLE_OWN_OPERATOR, "--json", "--db",
                                   db, "--repeat", "3", "--min-repeat-ms", "1", "--trials", "20"},
                                  seconds(240), environment());
  ASSERT_EQ(result.status, 0) << result.err;
  const Session session = parse(result.out);
  ASSERT_EQ(session.trials.size(), 20u);
  ASSERT_EQ(session.summary["tasks"].size(), 1u);
  EXPECT_EQ(session.summary["tasks"][0]["title"], "dilated depthwise 28x28x64 k3 d2 with swish");
  EXPECT_GT(session.summary["tasks"][0]["best_gflops"].get<double>(), 0);
  const auto all = records();
  ASSERT_EQ(all.size(), 20u);
  int right = 0;
  for (const auto& record : all) {
    const wire::FailureT* failure = record.failure();
    EXPECT_FALSE(failure && failure->error->code == ErrorCode::WrongAnswer)
        << failure->error->message << " " << record.configuration;
    right += record.measurement() != nullptr;
  }
  EXPECT_GE(right, 15);
  const auto again = run_program({FETTLE_PROGRAM, "explain", std::to_string(all.front().id), "--db",
                                  db, "--dump-after", "build_loops"});
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_NE(again.out.find("sums"), std::string::npos) << again.out;
}

TEST_F(TuneTest, TheTableIsForPeople) {
  auto words = tune({"--trials", "6"});
  std::erase(words, "--json");
  const auto result = run_program(words, seconds(240), environment());
  ASSERT_EQ(result.status, 0) << result.err;
  for (const char* text :
       {"GFLOPS", "% peak", "conv2d", "dense", "trials 6/6", "device busy", "trials an hour",
        "a build takes", "device: samples", "features", "times: known to ±"}) {
    EXPECT_NE(result.out.find(text), std::string::npos) << text << " in\n" << result.out;
  }
}

TEST_F(TuneTest, CtrlCStopsCleanlyAndKeepsEveryTrial) {
  RunningProgram program(tune({"--trials", "100000"}), environment());
  ASSERT_TRUE(program.wait_for_out("\"trial\"", seconds(120), 5)) << program.err();
  program.signal(SIGINT);
  EXPECT_EQ(program.wait(seconds(30)), 130) << program.err();
  const Session session = parse(program.out());
  EXPECT_EQ(session.summary["end"], "interrupted");
  EXPECT_EQ(records().size(), session.trials.size());
  auto database = records::Database::open(db).value();
  EXPECT_EQ(database.sessions().value().at(0).state, records::SessionState::Interrupted);
}

// A minute of reference evaluation stands before the first trial.
TEST_F(TuneTest, CtrlCDoesNotWaitForALargeReferenceEvaluation) {
  std::ofstream(tasks) << R"([
    {"op": "conv2d", "layout": "NHWC", "batch": 1, "height": 224, "width": 224,
     "in_channels": 256, "out_channels": 256, "kernel": [3, 3], "stride": [1, 1], "pad": [1, 1],
     "dilation": [1, 1], "groups": 1, "dtype": "float32", "tail": []}])";
  RunningProgram program(tune({"--trials", "10"}), environment());
  const auto begun = [&] {
    auto database = records::Database::open(db, {.read_only = true, .create = false});
    return database && !database->sessions().value().empty();
  };
  for (int i = 0; i < 600 && !begun(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  ASSERT_TRUE(begun()) << program.err();
  program.signal(SIGINT);
  EXPECT_EQ(program.wait(seconds(20)), 130) << program.err();
}

TEST_F(TuneTest, CtrlCEndsTheWaitForABrokerThatDoesNotAnswer) {
  // Takes the connection, so that the test knows of it, and says nothing.
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener, 4), 0);
  ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string url = "tcp://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  RunningProgram program(
      tune({"--broker", url, "--broker-key", fleet::make_key_pair()->public_key}), environment());
  pollfd dialled{listener, POLLIN, 0};
  EXPECT_EQ(::poll(&dialled, 1, 60'000), 1);
  program.signal(SIGINT);
  EXPECT_EQ(program.wait(seconds(30)), 130);
  EXPECT_NE(program.err().find("interrupted"), std::string::npos) << program.err();
  ::close(listener);
}

TEST_F(TuneTest, AKilledHostLosesOnlyWhatWasInFlight) {
  std::size_t told = 0;
  {
    RunningProgram program(tune({"--trials", "100000"}), environment());
    ASSERT_TRUE(program.wait_for_out("\"trial\"", seconds(120), 8)) << program.err();
    program.signal(SIGKILL);
    EXPECT_EQ(program.wait(seconds(10)), 128 + SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    const std::string out = program.out();
    told = static_cast<std::size_t>(std::count(out.begin(), out.end(), '\n'));
  }
  EXPECT_GE(records().size(), told) << "a trial that was told is stored";
  const auto again = run_program(tune({"--trials", "40", "--resume"}), seconds(240), environment());
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_GE(parse(again.out).summary["resumed"].get<std::size_t>(), told);
  expect_sound_database(40);
  auto database = records::Database::open(db).value();
  EXPECT_EQ(database.sessions().value().at(0).state, records::SessionState::Killed);
}

// Kills something of a running session after a few trials; the session must end well.
class KilledPart : public TuneTest {
 protected:
  Session run_and_kill(const std::string& what, bool youngest) {
    RunningProgram program(tune({"--trials", "60"}), environment());
    EXPECT_TRUE(program.wait_for_out("\"trial\"", seconds(120), 5)) << program.err();
    std::vector<pid_t> victims = descendants(program.pid(), what);
    EXPECT_FALSE(victims.empty()) << "no process " << what;
    std::sort(victims.begin(), victims.end());
    if (!victims.empty()) ::kill(youngest ? victims.back() : victims.front(), SIGKILL);
    EXPECT_EQ(program.wait(seconds(240)), 0) << program.err();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return parse(program.out());
  }
};

TEST_F(KilledPart, ACompilerThatDiesCostsOneCandidate) {
  const Session session = run_and_kill("build-worker", false);
  EXPECT_EQ(session.summary["trials"], 60);
  EXPECT_LE(session.summary["failures"].value("Build CompilerCrash", 0), 1);
  expect_sound_database(60);
}

TEST_F(KilledPart, AWorkerThatDiesIsReplaced) {
  // Supervisor, nursery, worker: the worker is the youngest.
  const Session session = run_and_kill("fettle-agent", true);
  EXPECT_EQ(session.summary["trials"], 60);
  EXPECT_EQ(records().size(), 60u);
}

TEST_F(KilledPart, AnAgentThatDiesIsStartedAgainAndItsTrialsAreTriedAgain) {
  const Session session = run_and_kill("fettle-agent", false);
  EXPECT_EQ(session.summary["trials"], 60);
  expect_sound_database(60);
}

// Broker, agent and host as three programs.
class ApartTest : public TuneTest {
 protected:
  std::string key_of(const std::string& name) {
    const auto made =
        run_program({FETTLE_PROGRAM, "keys", "new", name}, seconds(30), environment());
    EXPECT_EQ(made.status, 0) << made.err;
    return made.out.substr(0, 40);
  }
  void allow(const std::string& name, const std::string& role) {
    const auto done =
        run_program({FETTLE_PROGRAM, "keys", "allow", name, key_of(name), "--role", role},
                    seconds(30), environment());
    EXPECT_EQ(done.status, 0) << done.err;
  }
  std::unique_ptr<RunningProgram> broker(const std::string& listen) {
    auto program = std::make_unique<RunningProgram>(
        std::vector<std::string>{FETTLE_PROGRAM, "broker", "--listen", listen}, environment());
    EXPECT_TRUE(program->wait_for_out("public key ", seconds(20))) << program->err();
    const std::string out = program->out();
    url = out.substr(out.find("tcp://"));
    url = url.substr(0, url.find('\n'));
    public_key = out.substr(out.find("public key ") + 11, 40);
    return program;
  }
  std::unique_ptr<RunningProgram> agent(const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{
        FETTLE_AGENT_PROGRAM,          "--broker", url,    "--broker-key", public_key, "--key-file",
        folder.file("home/board.key"), "--key",    "bench"};
    words.insert(words.end(), more.begin(), more.end());
    return std::make_unique<RunningProgram>(words, environment());
  }
  // Until the broker lists a board of that key.
  void wait_for_board() {
    for (int i = 0; i < 100; ++i) {
      const auto listed =
          run_program({FETTLE_PROGRAM, "devices", "--broker", url}, seconds(30), environment());
      if (listed.out.find("bench") != std::string::npos) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }

  std::string url, public_key;
};

TEST_F(ApartTest, ARestartedBrokerLosesNothing) {
  allow("client", "client");
  allow("board", "agent");
  auto first = broker("tcp://127.0.0.1:*");
  auto board = agent();
  wait_for_board();
  RunningProgram program(tune({"--trials", "60", "--device", "bench", "--broker", url}),
                         environment());
  ASSERT_TRUE(program.wait_for_out("\"trial\"", seconds(120), 5)) << program.err() << board->err();
  first->signal(SIGKILL);
  first->wait(seconds(10));
  auto second = broker(url);
  EXPECT_EQ(program.wait(seconds(240)), 0) << program.err();
  EXPECT_EQ(parse(program.out()).summary["trials"], 60);
  expect_sound_database(60);
}

TEST_F(ApartTest, ABoardDoesNotResumeWhatAnEmulatorOfItsKeyMeasured) {
  allow("client", "client");
  allow("board", "agent");
  const auto resume = [&] {
    wait_for_board();
    const auto result =
        run_program(tune({"--trials", "6", "--resume", "--device", "bench", "--broker", url}),
                    seconds(240), environment());
    EXPECT_EQ(result.status, 0) << result.err;
    return parse(result.out).summary.value("resumed", -1);
  };
  {
    auto running = broker("tcp://127.0.0.1:*");
    auto emulated = agent({"--emulated"});
    EXPECT_EQ(resume(), 0);
    EXPECT_EQ(resume(), 6);
  }
  auto running = broker("tcp://127.0.0.1:*");  // a new one: it never heard of the emulator
  auto board = agent();
  EXPECT_EQ(resume(), 0);
  EXPECT_EQ(records().size(), 12u);
}

TEST_F(ApartTest, AnUnknownDeviceKeyNamesThoseThereAre) {
  allow("client", "client");
  allow("board", "agent");
  auto running = broker("tcp://127.0.0.1:*");
  auto board = agent();
  wait_for_board();
  const auto result =
      run_program(tune({"--device", "rk3399", "--broker", url}), seconds(60), environment());
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("rk3399"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("bench"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace fettle::testing
