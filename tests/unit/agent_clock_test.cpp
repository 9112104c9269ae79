// Pinned clocks on a fake sysfs: set, given back, and given back after kills of all kinds.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include "agent/platform/clock_pin.h"

namespace fettle::agent {
namespace {

// An RK3399's two CPU clock domains and its GPU.
class PinnedClocksTest : public testing::Test {
 protected:
  PinnedClocksTest() {
    path = std::filesystem::temp_directory_path() / ("fettle-clocks-" + std::to_string(getpid()));
    for (int core : {0, 1, 4, 5}) {
      const bool big = core >= 4;
      put(cpufreq(core) + "related_cpus", big ? "4 5\n" : "0 1\n");
      put(cpufreq(core) + "cpuinfo_max_freq", big ? "1800000\n" : "1416000\n");
      put(cpufreq(core) + "scaling_min_freq", "408000\n");
      put(cpufreq(core) + "scaling_max_freq", big ? "1800000\n" : "1416000\n");
    }
    std::filesystem::create_directories(path / "run");
    put(kGpu + "min_freq", "200000000\n");
    put(kGpu + "max_freq", "800000000\n");
  }
  ~PinnedClocksTest() override { std::filesystem::remove_all(path); }
  static std::string cpufreq(int core) {
    return "/sys/devices/system/cpu/cpu" + std::to_string(core) + "/cpufreq/";
  }
  void put(const std::string& file, const std::string& text) {
    const auto at = path / file.substr(1);
    std::filesystem::create_directories(at.parent_path());
    std::ofstream(at) << text;
  }
  SystemRoot root() const { return SystemRoot(path.string()); }
  std::string bounds(const std::string& at, const char* least, const char* most) const {
    return root().text(at + least).value_or("") + ".." + root().text(at + most).value_or("");
  }
  std::string cpu(int core) const {
    return bounds(cpufreq(core), "scaling_min_freq", "scaling_max_freq");
  }
  std::string gpu() const { return bounds(kGpu, "min_freq", "max_freq"); }
  bool kept() const { return !root().list("/run/fettle").empty(); }
  // True within 5 s: guards go after their agents.
  static bool becomes(const std::function<std::string()>& what, const std::string& wanted) {
    for (int i = 0; i < 500; ++i) {
      if (what() == wanted) return true;  // once: a file that is written again is empty for a moment
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  const std::string kGpu = "/sys/class/devfreq/ff9a0000.gpu/";
  std::filesystem::path path;
  std::vector<std::string> refused;
};

TEST_F(PinnedClocksTest, HighestClockOfItsOwnClusterAndBack) {
  {
    const auto pinned = PinnedClocks::pin(root(), {4, 5}, kHighestClock, refused);
    ASSERT_TRUE(pinned.ok());
    EXPECT_TRUE(refused.empty()) << refused[0];
    EXPECT_EQ(cpu(4), "1800000..1800000");
    EXPECT_EQ(cpu(0), "408000..1416000") << "the other cluster is not measured";
    EXPECT_EQ(gpu(), "800000000..800000000");
  }
  EXPECT_EQ(cpu(4), "408000..1800000");
  EXPECT_EQ(gpu(), "200000000..800000000");
}

TEST_F(PinnedClocksTest, AGivenClockLeavesTheGpuAlone) {
  auto pinned = PinnedClocks::pin(root(), {0, 1}, 1'008'000, refused);
  ASSERT_TRUE(pinned.ok());
  EXPECT_EQ(cpu(0), "1008000..1008000");
  EXPECT_EQ(gpu(), "200000000..800000000");
  PinnedClocks moved = std::move(*pinned);
  EXPECT_EQ(cpu(0), "1008000..1008000") << "moving gives nothing back";
}

// An agent that holds its clocks until it is killed: a process of its own.
class OtherAgent {
 public:
  OtherAgent(const SystemRoot& root, const std::vector<std::uint32_t>& cores, std::uint32_t khz) {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    pid_ = fork();
    if (pid_ == 0) {
      std::vector<std::string> refused;
      auto pinned = PinnedClocks::pin(root, cores, khz, refused, 0);
      if (pinned.ok() && refused.empty()) (void)!write(ready[1], "y", 1);
      close(ready[1]);
      while (true) pause();
    }
    close(ready[1]);
    char answer = 0;
    EXPECT_EQ(read(ready[0], &answer, 1), 1) << "the clocks were refused";
    close(ready[0]);
  }
  ~OtherAgent() { kill(SIGKILL); }
  void kill(int signal) {
    if (pid_ <= 0) return;
    ::kill(pid_, signal);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  // Both, as when the service manager has lost its patience.
  void kill_with_guard() {
    const pid_t theirs = guard();
    ASSERT_EQ(::kill(theirs, SIGKILL), 0);
    for (int i = 0; i < 500 && state_of(std::to_string(theirs)) != 'Z'; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    kill(SIGKILL);
  }
  // Its guard, the one child that it has.
  pid_t guard() const {
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      pid_t parent = 0;
      state_of(entry.path().filename(), &parent);
      if (parent == pid_) return std::stoi(entry.path().filename());
    }
    ADD_FAILURE() << "no guard";
    return -1;
  }

 private:
  // Of a process: 'Z' once it has closed all it had open.
  static char state_of(const std::string& pid, pid_t* parent = nullptr) {
    std::ifstream stat("/proc/" + pid + "/stat");
    std::string text;
    if (!std::getline(stat, text) || text.rfind(')') == std::string::npos) return 0;
    std::istringstream rest(text.substr(text.rfind(')') + 1));
    char state = 0;
    pid_t id = 0;
    rest >> state >> id;
    if (parent != nullptr) *parent = id;
    return state;
  }
  pid_t pid_ = -1;
};

TEST_F(PinnedClocksTest, AKilledAgentsClocksComeBack) {
  OtherAgent agent(root(), {4}, 600'000);
  EXPECT_EQ(cpu(4), "600000..600000");
  // As a service manager's watchdog does: the signal goes to every process of the service.
  for (int signal : {SIGABRT, SIGTERM, SIGINT, SIGHUP}) ASSERT_EQ(kill(agent.guard(), signal), 0);
  agent.kill(SIGKILL);
  EXPECT_TRUE(becomes([&] { return cpu(4); }, "408000..1800000")) << cpu(4);
  EXPECT_TRUE(becomes([&] { return std::string(kept() ? "kept" : ""); }, ""));
}

TEST_F(PinnedClocksTest, TheNextAgentKnowsWhatTheKilledOnesFound) {
  OtherAgent first(root(), {4, 5}, kHighestClock);
  first.kill_with_guard();
  ASSERT_EQ(cpu(4), "1800000..1800000") << "who gave it back?";
  {
    // One clock only: the GPU, which nobody holds any more, is given back at once.
    const auto again = PinnedClocks::pin(root(), {4, 5}, 600'000, refused);
    ASSERT_TRUE(again.ok());
    EXPECT_TRUE(refused.empty()) << refused[0];
    EXPECT_EQ(cpu(4), "600000..600000");
    EXPECT_EQ(gpu(), "200000000..800000000");
  }
  EXPECT_EQ(cpu(4), "408000..1800000");
  OtherAgent second(root(), {0}, 600'000);
  second.kill_with_guard();
  ASSERT_EQ(cpu(0), "600000..600000");
  // The next one pins nothing.
  EXPECT_EQ(PinnedClocks::give_back_abandoned(root()),
            std::vector<std::string>{"the clock of core 0"});
  EXPECT_EQ(cpu(0), "408000..1416000");
  EXPECT_FALSE(kept());
}

TEST_F(PinnedClocksTest, AnAgentWhoseGuardWasKilledGivesBackItself) {
  {
    const auto pinned = PinnedClocks::pin(root(), {4}, 600'000, refused);
    ASSERT_TRUE(pinned.ok());
    ASSERT_EQ(cpu(4), "600000..600000");
    ASSERT_EQ(kill(pinned->guard(), SIGKILL), 0);
  }
  EXPECT_EQ(cpu(4), "408000..1800000");
}

TEST_F(PinnedClocksTest, OfTwoAgentsTheLastOneGivesBack) {
  OtherAgent big(root(), {4, 5}, kHighestClock), little(root(), {0, 1}, kHighestClock);
  EXPECT_EQ(PinnedClocks::give_back_abandoned(root()), std::vector<std::string>{});
  // Both hold the GPU.
  big.kill(SIGTERM);
  EXPECT_TRUE(becomes([&] { return cpu(4); }, "408000..1800000")) << cpu(4);
  EXPECT_EQ(cpu(0), "1416000..1416000");
  EXPECT_EQ(gpu(), "800000000..800000000");
  {
    const auto other = PinnedClocks::pin(root(), {1}, 600'000, refused);
    ASSERT_TRUE(other.ok());
    ASSERT_EQ(refused.size(), 1u);
    EXPECT_NE(refused[0].find("another agent holds it at 1416000"), std::string::npos)
        << refused[0];
  }
  EXPECT_EQ(cpu(0), "1416000..1416000") << "it is the other agent's";
  little.kill(SIGTERM);
  EXPECT_TRUE(becomes([&] { return cpu(0) + gpu(); }, "408000..1416000200000000..800000000"));
}

TEST_F(PinnedClocksTest, HeatIsNoBoundToComeBackTo) {
  const std::string cooling = "/sys/class/thermal/cooling_device0/";
  put(cooling + "type", "cpufreq-cpu4\n");
  put(cooling + "cur_state", "2\n");
  put(cpufreq(4) + "scaling_max_freq", "1416000\n");
  {
    const auto pinned = PinnedClocks::pin(root(), {0, 4}, 1'200'000, refused, 0);
    ASSERT_TRUE(pinned.ok());
    ASSERT_EQ(refused.size(), 1u);
    EXPECT_NE(refused[0].find("core 4 cannot be set: it is held down against heat"),
              std::string::npos)
        << refused[0];
    EXPECT_EQ(cpu(4), "408000..1416000");
    EXPECT_EQ(cpu(0), "1200000..1200000") << "the other cluster is cool";
  }
  const pid_t fan = fork();  // no thread: pin forks
  if (fan == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    put(cpufreq(4) + "scaling_max_freq", "1800000\n");
    put(cooling + "cur_state", "0\n");
    _exit(0);
  }
  refused.clear();
  const auto pinned = PinnedClocks::pin(root(), {4}, kHighestClock, refused);
  waitpid(fan, nullptr, 0);
  EXPECT_TRUE(refused.empty()) << refused[0];
  EXPECT_EQ(cpu(4), "1800000..1800000");
}

// A Jetson Nano in its 5 W mode: nvpmodel's bound is below the hardware's.
TEST_F(PinnedClocksTest, TheHighestClockIsThePowerModes) {
  put(cpufreq(0) + "cpuinfo_max_freq", "1479000\n");
  put(cpufreq(0) + "scaling_max_freq", "918000\n");
  const auto pinned = PinnedClocks::pin(root(), {0}, kHighestClock, refused);
  EXPECT_EQ(cpu(0), "918000..918000");
}

TEST_F(PinnedClocksTest, WithoutAFolderTheGuardIsTheOnlyOne) {
  std::filesystem::remove(path / "run");
  {
    const auto pinned = PinnedClocks::pin(root(), {4}, 600'000, refused);
    ASSERT_EQ(refused.size(), 1u);
    EXPECT_NE(refused[0].find("/run/fettle: No such file"), std::string::npos) << refused[0];
    EXPECT_EQ(cpu(4), "600000..600000");
  }
  EXPECT_EQ(cpu(4), "408000..1800000");
}

TEST_F(PinnedClocksTest, WhatIsNotThereIsSaid) {
  const auto none = PinnedClocks::pin(SystemRoot("/nonexistent"), {0}, kHighestClock, refused);
  EXPECT_TRUE(none.ok());
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_NE(refused[0].find("no cpufreq"), std::string::npos);
  refused.clear();
  std::filesystem::remove(path / (cpufreq(0).substr(1) + "scaling_min_freq"));
  EXPECT_TRUE(PinnedClocks::pin(root(), {0}, 600'000, refused).ok());
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_NE(refused[0].find("core 0 cannot be set: /sys/"), std::string::npos) << refused[0];
}

}  // namespace
}  // namespace fettle::agent
