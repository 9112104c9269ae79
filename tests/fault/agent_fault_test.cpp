// A real agent process against a real broker: what it does when it, its worker or
// the broker dies, and how it says no.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "host/fleet/broker_question.h"
#include "tests/fault/agent_fault.h"
#include "tests/support/running_program.h"

namespace fettle {
namespace {

using test::candidate_request;

TEST_F(AgentFault, TellsItsServiceManagerThatItLives) {
  const std::string name = "fettle-manager-" + std::to_string(getpid());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const int manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(bind(manager, reinterpret_cast<sockaddr*>(&address),
                 static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())),
            0);
  setenv("NOTIFY_SOCKET", ("@" + name).c_str(), 1);
  setenv("WATCHDOG_USEC", "400000", 1);
  auto agent = start_agent();
  unsetenv("NOTIFY_SOCKET");
  unsetenv("WATCHDOG_USEC");
  std::string all;
  auto wait_for = [&](const std::string& words) {
    const timeval limit{10, 0};
    setsockopt(manager, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    char text[512];
    while (true) {
      const ssize_t n = recv(manager, text, sizeof text, 0);
      if (n <= 0) return false;
      all += std::string(text, static_cast<std::size_t>(n)) + "\n";
      if (std::string(text, static_cast<std::size_t>(n)).find(words) != std::string::npos) {
        return true;
      }
    }
  };
  EXPECT_TRUE(wait_for("READY=1")) << all;
  EXPECT_TRUE(wait_for("STATUS=registered with " + broker->endpoint())) << all;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(wait_for("WATCHDOG=1")) << all;
  broker.reset();
  EXPECT_TRUE(wait_for("dialling on")) << all;
  EXPECT_TRUE(wait_for("WATCHDOG=1")) << "an agent without a broker lives too: " << all;
  agent->send_signal(SIGTERM);
  EXPECT_TRUE(wait_for("STOPPING=1")) << all;
  EXPECT_EQ(agent->wait(10'000), 0);
  close(manager);
}

TEST_F(AgentFault, MeasuresGoodAndEvilInTurn) {
  auto agent = start_agent();
  auto session = open_session();
  ASSERT_TRUE(session);
  EXPECT_EQ(session->device().key, "board");
  EXPECT_EQ(session->device().kind, wire::DeviceKind::Cpu);
  const CandidateKind evil[] = {kCrash, kOneWrong, kLeavePart, kWriteFar, kEndProcess};
  for (std::uint64_t i = 0; i < 40; ++i) {
    session->submit(i, candidate_request(i % 4 == 3 ? evil[i / 4 % 5] : kGood, answer));
  }
  const auto all = collect(*session, 40);
  for (const auto& [trial, measured] : all) {
    EXPECT_EQ(measured.outcome.body.AsMeasurement() != nullptr, trial % 4 != 3) << trial;
    EXPECT_FALSE(measured.outcome.board_id.empty());
    EXPECT_EQ(measured.attempt, 1u);
  }
}

// What cannot be opened is not offered, and leaves the others their place in the list.
TEST_F(AgentFault, ADeviceThatIsNotHereIsNotOffered) {
  const std::vector<std::string> gpu{"--key",  "gpu",          "--device-kind",
                                     "opencl", "--worker-gpu", "/nowhere"};
  std::vector<std::string> both = gpu;
  for (const char* word : {"--key", "board", "--device-kind", "cpu"}) both.push_back(word);
  {
    auto agent = start_agent(broker->endpoint(), broker->public_key(), agent_keys, both);
    ASSERT_TRUE(said(*agent, "registered", 10'000)) << agent->log();
    EXPECT_TRUE(said(*agent, "cannot execute the worker program /nowhere", 5'000)) << agent->log();
    std::this_thread::sleep_for(milliseconds(100));
    EXPECT_EQ(offered(), (std::set<std::string>{"board"}));
    auto session = open_session();
    ASSERT_TRUE(session);
    for (std::uint64_t i = 0; i < 4; ++i) session->submit(i, candidate_request(kGood, answer));
    for (const auto& [trial, measured] : collect(*session, 4)) {
      EXPECT_TRUE(measured.outcome.body.AsMeasurement()) << trial;
      EXPECT_EQ(measured.outcome.device_index, 1u);
    }
  }
  broker.reset();
  broker = start_broker("tcp://127.0.0.1:*");
  auto alone = start_agent(broker->endpoint(), broker->public_key(), agent_keys, gpu);
  ASSERT_TRUE(said(*alone, "registered", 10'000)) << alone->log();
  EXPECT_EQ(offered(), (std::set<std::string>{"gpu"})) << "whoever tries it hears why";
}

TEST_F(AgentFault, EndsCleanlyOnSigterm) {
  auto agent = start_agent();
  agent->send_signal(SIGTERM);
  EXPECT_EQ(agent->wait(5000), 0) << agent->log();
}

TEST_F(AgentFault, SaysThatItEnds) {
  broker.reset();
  broker = start_broker("tcp://127.0.0.1:*", "", std::chrono::minutes(10));
  auto agent = start_agent();
  EXPECT_EQ(offered(), (std::set<std::string>{"board"}));
  agent->send_signal(SIGTERM);
  EXPECT_EQ(agent->wait(5000), 0) << agent->log();
  std::set<std::string> left;
  for (int i = 0; i < 100 && !(left = offered()).empty(); ++i)
    std::this_thread::sleep_for(milliseconds(50));
  EXPECT_EQ(left, std::set<std::string>()) << "silence would tell in ten minutes";
}

// As a service manager stops a service: each of its processes is told, in any order.
TEST_F(AgentFault, EndsCleanlyWhenAllItsProcessesAreTold) {
  auto agent = start_agent();
  const auto processes = testing::descendants(agent->pid(), FETTLE_AGENT);
  ASSERT_EQ(processes.size(), 2u) << "the nursery and one worker";
  agent->send_signal(SIGSTOP);
  for (const pid_t pid : processes) EXPECT_EQ(kill(pid, SIGTERM), 0);
  std::this_thread::sleep_for(milliseconds(200));
  agent->send_signal(SIGTERM);
  agent->send_signal(SIGCONT);
  EXPECT_EQ(agent->wait(5000), 0) << agent->log();
  EXPECT_NE(agent->log().find("stopping"), std::string::npos) << agent->log();
  EXPECT_EQ(agent->log().find("died"), std::string::npos) << agent->log();
}

TEST_F(AgentFault, ABlobOverItsCacheIsSaidAtOnceAndOnce) {
  auto agent = start_agent();
  auto session = open_session();
  ASSERT_TRUE(session);
  const Bytes large((1 << 20) + 1, 7);
  session->offer_blob(content_hash(large), large);
  session->submit(1, candidate_request(kGood, content_hash(large)));
  const auto all = collect(*session, 1);
  ASSERT_EQ(all.count(1), 1u);
  const auto* failure = all.at(1).outcome.body.AsFailure();
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->error->code, ErrorCode::TooLarge) << failure->error->message;
  EXPECT_EQ(failure->stage, wire::Stage::Upload);
  EXPECT_EQ(all.at(1).attempt, 1u);
}

// Its candidates go to the agent that comes back; nothing is lost or told twice.
TEST_F(AgentFault, KilledAndRestarted) {
  auto agent = start_agent();
  auto session = open_session();
  ASSERT_TRUE(session);
  for (std::uint64_t i = 0; i < 60; ++i) session->submit(i, candidate_request(kGood, answer));
  auto some = session->poll(milliseconds(2000));
  ASSERT_TRUE(some.ok());
  const std::size_t first = some->size();
  agent->send_signal(SIGKILL);
  EXPECT_EQ(agent->wait(5000), -SIGKILL);
  agent = start_agent();
  const auto all = collect(*session, 60 - first);
  for (const auto& [trial, measured] : all) {
    EXPECT_TRUE(measured.outcome.body.AsMeasurement()) << trial;
  }
}

TEST_F(AgentFault, NothingOutlivesTheAgent) {
  auto agent = start_agent();
  auto session = open_session();
  ASSERT_TRUE(session);
  auto request = candidate_request(kLoop, answer);
  request.options->timeout_ms = 600'000;
  session->submit(1, request);
  std::this_thread::sleep_for(milliseconds(300));
  agent->send_signal(SIGKILL);
  agent->wait(5000);
  // The nursery and the worker hold the agent's log open while they live.
  const std::string count =
      "ls -l /proc/[0-9]*/exe 2>/dev/null | grep -c ' " + std::string(FETTLE_AGENT) + "$'";
  int left = -1;
  for (int i = 0; i < 100 && left != 0; ++i) {
    FILE* pipe = popen(count.c_str(), "r");
    if (fscanf(pipe, "%d", &left) != 1) left = -1;
    pclose(pipe);
    if (left != 0) std::this_thread::sleep_for(milliseconds(20));
  }
  EXPECT_EQ(left, 0);
}

TEST_F(AgentFault, BrokerRestarted) {
  auto agent = start_agent();
  auto session = open_session();
  ASSERT_TRUE(session);
  for (std::uint64_t i = 0; i < 30; ++i) session->submit(i, candidate_request(kGood, answer));
  auto some = session->poll(milliseconds(2000));
  ASSERT_TRUE(some.ok());
  const std::size_t first = some->size();
  const std::string endpoint = broker->endpoint();
  broker.reset();
  std::this_thread::sleep_for(milliseconds(200));
  broker = start_broker(endpoint);
  const auto all = collect(*session, 30 - first);
  for (const auto& [trial, measured] : all) {
    EXPECT_TRUE(measured.outcome.body.AsMeasurement()) << trial;
  }
}

// The broker's state brings the lease back, and the agent the outcome: no second attempt.
TEST_F(AgentFault, DeliversWhatItMeasuredWhileTheBrokerWasAway) {
  const testing::ScratchFolder scratch;
  const std::string state = scratch.path() + "/state";
  broker.reset();
  broker = start_broker("tcp://127.0.0.1:*", state);
  auto agent = start_agent();
  auto session = open_session();
  ASSERT_TRUE(session);
  auto request = candidate_request(kLoop, answer);
  request.options->timeout_ms = 1000;
  session->submit(1, request);
  session->submit(2, candidate_request(kGood, answer));  // behind it
  std::this_thread::sleep_for(milliseconds(800));
  const std::string endpoint = broker->endpoint();
  broker.reset();
  // It ends before the agent misses the broker: its word of it waits in front of its next Hello.
  std::this_thread::sleep_for(milliseconds(1500));
  broker = start_broker(endpoint, state);
  const auto all = collect(*session, 2);
  EXPECT_EQ(all.at(1).outcome.body.AsFailure()->error->code, ErrorCode::RunTimeout);
  EXPECT_TRUE(all.at(2).outcome.body.AsMeasurement());
  for (const auto& [trial, measured] : all) EXPECT_EQ(measured.attempt, 1u) << trial;
  EXPECT_EQ(agent->log().find("was restarted"), std::string::npos) << "it is the same to it";
}

TEST_F(AgentFault, UnknownKeyGetsNoAnswerAndIsTold) {
  auto agent = start_agent(broker->endpoint(), broker->public_key(), *fleet::make_key_pair());
  EXPECT_TRUE(said(*agent, "no answer from the broker", 8000)) << agent->log();
  EXPECT_EQ(agent->log().find("registered"), std::string::npos);
  EXPECT_EQ(agent->wait(0), -1000) << "it should keep trying";
}

TEST_F(AgentFault, BrokerThatStartsLate) {
  const std::string endpoint = broker->endpoint(), key = broker->public_key();
  broker.reset();
  auto agent = start_agent(endpoint, key, agent_keys);
  std::this_thread::sleep_for(milliseconds(500));
  broker = start_broker(endpoint);
  EXPECT_TRUE(said(*agent, "registered", 10'000)) << agent->log();
}

TEST_F(AgentFault, SecretsAreNotOnTheCommandLineOrInTheLog) {
  auto agent = start_agent();
  FILE* file = std::fopen(("/proc/" + std::to_string(agent->pid()) + "/cmdline").c_str(), "r");
  ASSERT_TRUE(file);
  char line[4096] = {};
  const std::size_t size = std::fread(line, 1, sizeof line, file);
  std::fclose(file);
  EXPECT_EQ(std::string(line, size).find(agent_keys.secret_key), std::string::npos);
  EXPECT_EQ(agent->log().find(agent_keys.secret_key), std::string::npos);
}

// Where `words` stands in a process's memory; "" nowhere, "?" when it cannot be read. Mappings
// of a size that only sanitizers have are left out.
std::string mapping_with(pid_t process, const std::string& words) {
  const std::string folder = "/proc/" + std::to_string(process);
  std::ifstream maps(folder + "/maps"), memory(folder + "/mem", std::ios::binary);
  if (!memory) return "?";
  for (std::string line; std::getline(maps, line);) {
    unsigned long long begin = 0, end = 0;
    char readable = '-';
    std::sscanf(line.c_str(), "%llx-%llx %c", &begin, &end, &readable);
    if (readable != 'r' || end - begin > (64u << 20)) continue;
    std::string bytes(end - begin, 0);
    memory.clear();
    memory.seekg(static_cast<std::streamoff>(begin));
    memory.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (bytes.find(words) != std::string::npos) return line;
  }
  return "";
}

std::set<std::string> open_pipes(const std::string& process) {
  std::set<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/" + process + "/fd")) {
    std::error_code gone;  // the listing's own
    const std::string target = std::filesystem::read_symlink(entry.path(), gone);
    if (target.starts_with("pipe:")) out.insert(target);
  }
  return out;
}

// "00040000": no randomization; "?" where that cannot be read.
std::string personality_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/personality");
  std::string text = "?";
  file >> text;
  return text;
}

// Workers' kernels vary less without it; the process with the key keeps it.
TEST_F(AgentFault, OnlyWorkersHaveTheirAddressesInOrder) {
  if (personality_of(getpid()) != "00000000") GTEST_SKIP() << "no randomization here, or unknown";
  auto agent = start_agent();
  ASSERT_TRUE(said(*agent, "worker ready", 10'000)) << agent->log();
  const auto processes = testing::descendants(agent->pid(), FETTLE_AGENT);
  ASSERT_EQ(processes.size(), 2u) << "the nursery and one worker";
  EXPECT_EQ(personality_of(agent->pid()), "00000000");
  for (const pid_t process : processes) EXPECT_EQ(personality_of(process), "00040000");
}

// A candidate can read all of its worker's memory, and its open descriptors.
TEST_F(AgentFault, WorkersDoNotHoldTheSecretKey) {
  auto agent = start_agent();
  ASSERT_TRUE(said(*agent, "worker ready", 10'000)) << agent->log();
  const auto processes = testing::descendants(agent->pid(), FETTLE_AGENT);
  ASSERT_EQ(processes.size(), 2u) << "the nursery and one worker";
  for (const pid_t process : processes) {
    const std::string known = mapping_with(process, broker->public_key());
    if (known == "?") GTEST_SKIP() << "other processes' memory cannot be read here";
    EXPECT_NE(known, "") << "what stands on its command line should be found";
    EXPECT_EQ(mapping_with(process, agent_keys.secret_key), "") << process;
  }
  // The key came through a pipe that only the agent was given. What workers say goes through
  // another, made for that.
  std::set<std::string> ours = open_pipes("self");
  const std::string worker = std::to_string(processes.back());
  const std::string output = std::filesystem::read_symlink("/proc/" + worker + "/fd/2");
  ours.insert(output);
  for (const std::string& pipe : open_pipes(worker)) {
    EXPECT_TRUE(ours.count(pipe)) << "the worker holds " << pipe;
  }
}

}  // namespace
}  // namespace fettle
