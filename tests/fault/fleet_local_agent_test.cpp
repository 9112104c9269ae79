// LocalAgent with programs that are no agent: refusing, crashing, absent. What it
// does with the real agent is shown by tests/e2e.
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

#include "host/fleet/local_agent.h"

namespace fettle::fleet {
namespace {

using std::chrono::milliseconds;

// A shell script in the agent's place; its arguments are the agent's.
LocalAgentOptions script(const std::string& text) {
  LocalAgentOptions options;
  options.prefix = {"/bin/sh", "-c", text};
  options.program = "agent";  // $0 of the script
  options.broker_url = "tcp://127.0.0.1:9";
  options.broker_public_key = make_key_pair()->public_key;
  options.keys = *make_key_pair();
  return options;
}

Result<void> wait_for_end(const LocalAgent& agent) {
  Result<void> health;
  for (int i = 0; i < 600 && (health = agent.health()); ++i)
    std::this_thread::sleep_for(milliseconds(10));
  return health;
}

TEST(LocalAgent, ItsRefusalIsTold) {
  auto agent = LocalAgent::start(script("echo the broker refuses this agent >&2; exit 3"));
  ASSERT_TRUE(agent.ok()) << agent.error().text();
  const auto health = wait_for_end(**agent);
  ASSERT_FALSE(health.ok());
  EXPECT_NE(health.error().message.find("the broker refuses this agent"), std::string::npos)
      << health.error().text();
  EXPECT_EQ((*agent)->starts(), 1);
  auto registered = (*agent)->wait_registered({}, milliseconds(100));
  ASSERT_FALSE(registered.ok());
  EXPECT_EQ(registered.error().code, ErrorCode::WorkerLost);
}

TEST(LocalAgent, ACrashIsRestartedOnlySoOften) {
  auto options = script("kill -SEGV $$");
  options.restarts = 2;
  auto agent = LocalAgent::start(options);
  ASSERT_TRUE(agent.ok()) << agent.error().text();
  const auto health = wait_for_end(**agent);
  ASSERT_FALSE(health.ok());
  EXPECT_NE(health.error().message.find("SIGSEGV"), std::string::npos) << health.error().text();
  EXPECT_EQ((*agent)->starts(), 3);
}

TEST(LocalAgent, AKilledAgentIsStartedAgain) {
  auto agent = LocalAgent::start(script("exec sleep 1000"));
  ASSERT_TRUE(agent.ok()) << agent.error().text();
  const pid_t first = (*agent)->pid();
  ASSERT_GT(first, 0);
  ::kill(first, SIGKILL);
  for (int i = 0; i < 500 && (*agent)->starts() < 2; ++i)
    std::this_thread::sleep_for(milliseconds(10));
  EXPECT_EQ((*agent)->starts(), 2);
  const pid_t second = (*agent)->pid();
  EXPECT_NE(first, second);
  agent->reset();
  EXPECT_EQ(::kill(second, 0), -1) << "it outlived its LocalAgent";
}

// The secret is nowhere but in the pipe: not on the command line, not in the environment.
TEST(LocalAgent, TheSecretGoesThroughThePipe) {
  const std::string file =
      ::testing::TempDir() + "/fettle-local-agent-" + std::to_string(::getpid());
  auto options = script("cat <&3 >" + file + ".key; tr '\\0' ' ' </proc/$$/cmdline >" + file +
                        ".words; env >" + file + ".env; exit 0");
  const KeyPair keys = options.keys;
  auto agent = LocalAgent::start(options);
  ASSERT_TRUE(agent.ok()) << agent.error().text();
  EXPECT_FALSE(wait_for_end(**agent).ok());
  const auto text = [&](const char* suffix) {
    std::ifstream stream(file + suffix);
    std::stringstream all;
    all << stream.rdbuf();
    std::remove((file + suffix).c_str());
    return all.str();
  };
  EXPECT_EQ(text(".key"), keys.secret_key + "\n");
  const std::string words = text(".words"), environment = text(".env");
  EXPECT_EQ(words.find(keys.secret_key), std::string::npos);
  EXPECT_EQ(environment.find(keys.secret_key), std::string::npos);
  for (const char* word : {"--broker tcp://127.0.0.1:9", "--key-fd 3", "--key local"}) {
    EXPECT_NE(words.find(word), std::string::npos) << word << " not in " << words;
  }
}

TEST(LocalAgent, AnAbsentProgramIsAnErrorWithItsName) {
  auto options = script("");
  options.prefix.clear();
  options.program = "/nowhere/fettle-agent";
  auto agent = LocalAgent::start(options);
  ASSERT_FALSE(agent.ok());
  EXPECT_NE(agent.error().text().find("/nowhere/fettle-agent"), std::string::npos);
  ::setenv("FETTLE_AGENT", "/nowhere/at-all", 1);
  EXPECT_FALSE(find_agent("x86_64").ok());
  ::unsetenv("FETTLE_AGENT");
}

}  // namespace
}  // namespace fettle::fleet
