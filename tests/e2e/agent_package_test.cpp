// The agents' Debian packages: what dpkg reads in them, and that what they bring runs
// as its own service file calls it. Packages are made from the agents that are built.
#include <gtest/gtest.h>
#include <filesystem>

#include "tests/support/running_program.h"

namespace fettle {
namespace {

using testing::run_program;
using testing::ScratchFolder;

struct Arch {
  const char *preset, *debian;
};

class AgentPackage : public ::testing::TestWithParam<Arch> {
 protected:
  // The .deb, "" when this agent is not built.
  std::string make_package() {
    const std::string build = std::string(FETTLE_AGENTS) + "/" + GetParam().preset;
    if (!std::filesystem::exists(build + "/CPackConfig.cmake")) return "";
    const auto made =
        run_program({FETTLE_CPACK, "--config", build + "/CPackConfig.cmake", "-B", folder.path()});
    EXPECT_EQ(made.status, 0) << made.out << made.err;
    return folder.file("fettle-agent_" FETTLE_VERSION "_") + GetParam().debian + ".deb";
  }
  ScratchFolder folder;
};

std::string out_of(const std::vector<std::string>& argv) {
  const auto done = run_program(argv);
  EXPECT_EQ(done.status, 0) << argv[0] << " " << argv[1] << ": " << done.err;
  return done.out;
}

TEST_P(AgentPackage, IsWhatDpkgWants) {
  const std::string package = make_package();
  if (package.empty()) GTEST_SKIP() << "no " << GetParam().preset << " agent: ./dev agents";
  EXPECT_EQ(out_of({"dpkg-deb", "-f", package, "Architecture"}),
            std::string(GetParam().debian) + "\n");
  EXPECT_EQ(out_of({"dpkg-deb", "-I", package, "conffiles"}), "/etc/fettle/agent.toml\n");
  for (const char* script : {"postinst", "prerm", "postrm"}) {
    const std::string file = folder.file(script);
    out_of({"sh", "-c", "dpkg-deb -I \"$1\" \"$2\" >\"$3\" && sh -n \"$3\"", "sh", package, script,
            file});
  }
  const std::string files = out_of({"dpkg-deb", "-c", package});
  for (const char* line : {"-rwxr-xr-x root/root", "./usr/bin/fettle-agent",
                           "./lib/systemd/system/fettle-agent.service", "./etc/fettle/agent.toml",
                           "./usr/share/doc/fettle-agent/copyright"}) {
    EXPECT_NE(files.find(line), std::string::npos) << line << " not in\n" << files;
  }
  EXPECT_EQ(files.find(".key"), std::string::npos) << "a key in a package is everybody's";
}

TEST_P(AgentPackage, ItsServiceRunsWhatItBrings) {
  const std::string package = make_package();
  if (package.empty()) GTEST_SKIP() << "no " << GetParam().preset << " agent: ./dev agents";
  const std::string root = folder.file("root");
  out_of({"dpkg-deb", "-x", package, root});
  const std::string unit = out_of({"cat", root + "/lib/systemd/system/fettle-agent.service"});
  for (const char* line : {"\nType=notify\n", "\nWatchdogSec=", "\nRestart=on-failure\n",
                           "\nNoNewPrivileges=yes\n", "\nUser=fettle-agent\n",
                           "\nExecStart=/usr/bin/fettle-agent --config /etc/fettle/agent.toml\n"}) {
    EXPECT_NE(unit.find(line), std::string::npos) << line;
  }
  // Each would keep the agent from its work.
  for (const char* line :
       {"\nMemoryDenyWriteExecute", "\nPrivateDevices", "\nProtectKernelTunables"}) {
    EXPECT_EQ(unit.find(line), std::string::npos) << line;
  }
  if (std::string(GetParam().preset) != FETTLE_MACHINE) return;  // it does not run here
  const auto unconfigured = run_program({root + "/usr/bin/fettle-agent", "--config",
                                         root + "/etc/fettle/agent.toml", "--check-config"});
  EXPECT_EQ(unconfigured.status, 2);
  EXPECT_NE(unconfigured.err.find("--broker is needed"), std::string::npos) << unconfigured.err;
  const std::string key = folder.file("agent.key");
  const std::string made = out_of({root + "/usr/bin/fettle-agent", "--make-key", key});
  EXPECT_EQ(made.size(), 41u) << made;
  EXPECT_EQ(out_of({root + "/usr/bin/fettle-agent", "--config", root + "/etc/fettle/agent.toml",
                    "--key-file", key, "--broker", "tcp://127.0.0.1:1", "--broker-key",
                    made.substr(0, 40), "--key", "board", "--check-config"}),
            "fine: 1 device(s) for the broker at tcp://127.0.0.1:1\n");
}

INSTANTIATE_TEST_SUITE_P(Boards, AgentPackage,
                         ::testing::Values(Arch{"x86_64", "amd64"}, Arch{"aarch64", "arm64"},
                                           Arch{"armv7", "armhf"}),
                         [](const auto& info) { return std::string(info.param.debian); });

}  // namespace
}  // namespace fettle
