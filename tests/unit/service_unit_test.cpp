// How much the packages' services may do, as systemd rates it: 0 is nothing, 10 is everything.
#include <gtest/gtest.h>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/support/running_program.h"

namespace fettle {
namespace {

using testing::run_program;

std::string unit(const std::string& name) { return FETTLE_UNITS "/" + name; }

// -1: systemd-analyze of this machine cannot tell (it can since version 250).
double exposure(const std::string& name) {
  const auto rated =
      run_program({"systemd-analyze", "security", "--offline=true", "--no-pager", unit(name)});
  const std::string before = "Overall exposure level for " + name + ": ";
  const std::size_t at = rated.out.rfind(before);
  if (at == std::string::npos) return -1;
  return std::strtod(rated.out.c_str() + at + before.size(), nullptr);
}

TEST(ServiceUnits, AreRatedAsSafe) {
  if (exposure("fettle-agent.service") < 0) {
    GTEST_SKIP() << "no systemd-analyze that rates a file (./dev setup)";
  }
  EXPECT_LE(exposure("fettle-agent.service"), 2.5);
  EXPECT_LE(exposure("fettle-broker.service"), 2.5);
  // It is root, and drives a board's registers: the less of it.
  EXPECT_LE(exposure("fettle-fpga.service"), 3.5);
  RecordProperty("agent", std::to_string(exposure("fettle-agent.service")));
  RecordProperty("broker", std::to_string(exposure("fettle-broker.service")));
}

// What the work needs, whatever the rating.
TEST(ServiceUnits, TheAgentKeepsWhatItNeeds) {
  std::ostringstream text;
  text << std::ifstream(unit("fettle-agent.service")).rdbuf();
  const std::string lines = "\n" + text.str();
  for (const char* needed :
       {"\nReadWritePaths=-/sys/devices -/sys/class/devfreq\n", "\nDevicePolicy=closed\n",
        "\nDeviceAllow=char-drm rw\n", "\nDeviceAllow=/dev/mali0 rw\n",
        "\nDeviceAllow=char-nvidia* rw\n", "\nRestrictNamespaces=user net mnt\n",
        "\nSystemCallErrorNumber=EPERM\n"}) {
    EXPECT_NE(lines.find(needed), std::string::npos) << needed;
  }
  for (const char* breaks : {"\nMemoryDenyWriteExecute=yes", "\nLockPersonality=yes",
                             "\nPrivateDevices=yes", "\nPrivateNetwork=yes"}) {
    EXPECT_EQ(lines.find(breaks), std::string::npos) << breaks;
  }
}

}  // namespace
}  // namespace fettle
