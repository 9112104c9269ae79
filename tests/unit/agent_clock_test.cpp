// Pinned clocks on a fake sysfs: set, given back, and given back after a kill.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
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

TEST_F(PinnedClocksTest, AKilledAgentsClocksComeBack) {
  const pid_t agent = fork();
  if (agent == 0) {
    auto pinned = PinnedClocks::pin(root(), {4}, 600'000, refused);
    if (!pinned || cpu(4) != "600000..600000") _exit(1);
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(agent, &status, 0), agent);
  ASSERT_TRUE(WIFSIGNALED(status)) << "the clock was not pinned";
  for (int i = 0; i < 500 && cpu(4) != "408000..1800000"; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
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
  EXPECT_NE(refused[0].find("core 0 cannot be set to 600000"), std::string::npos) << refused[0];
}

}  // namespace
}  // namespace fettle::agent
