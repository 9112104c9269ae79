// The agents' Debian packages: what dpkg reads in them, and that what they bring runs
// as its own service file calls it. Packages are made from the agents that are built.
#include <gtest/gtest.h>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

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
  // Tools of file systems are not in everybody's path.
  void SetUp() override {
    const char* path = std::getenv("PATH");
    setenv("PATH", (std::string(path ? path : "/usr/bin:/bin") + ":/usr/sbin:/sbin").c_str(), 1);
  }
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
  for (const char* line :
       {"-rwxr-xr-x root/root", "./usr/bin/fettle-agent", "./usr/bin/fettle-run",
        "./lib/systemd/system/fettle-agent.service", "./etc/fettle/agent.toml",
        "./lib/systemd/system/fettle-fpga.service", "./lib/systemd/system/fettle-fpga.socket",
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
  for (const char* line : {"\nMemoryDenyWriteExecute", "\nPrivateDevices"}) {
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

// A root file system as Ubuntu lays it out, with systemd.
class RootFileSystem : public AgentPackage {
 protected:
  std::filesystem::path make_tree(bool with_systemd = true) {
    const std::filesystem::path tree = folder.file("tree");
    for (const char* path :
         {"etc/systemd/system", "usr/bin", "usr/lib/systemd/system", "var/lib"}) {
      std::filesystem::create_directories(tree / path);
    }
    std::filesystem::create_symlink("usr/lib", tree / "lib");
    std::ofstream(tree / "etc/os-release") << "NAME=\"Ubuntu\"\n";
    if (with_systemd) write_systemd(tree, GetParam().debian);
    return tree;
  }
  // As much of it as tells its architecture: ELF's e_machine, at byte 18.
  static void write_systemd(const std::filesystem::path& tree, const std::string& debian) {
    std::string header(64, '\0');
    header[18] = static_cast<char>(debian == "armhf" ? 0x28 : 0xb7);
    std::ofstream(tree / "usr/lib/systemd/systemd") << header;
  }
  testing::ProgramResult add_agent(const std::string& target, const std::string& package,
                                   const std::string& name = "board-1") {
    return run_program(
        {FETTLE_BOARD_IMAGES "/add_agent.sh", target, "--package", package, "--name", name,
         "--broker", "tcp://10.1.2.3:9190", "--broker-key", std::string(40, '0')},
        std::chrono::seconds(60),
        {{"FETTLE_HOME", folder.file("home")}, {"FETTLE_PROGRAM", FETTLE_PROGRAM}});
  }
  // Whether the account's broker lets the key in that is half of `pair`.
  void expect_allowed(const std::string& pair) {
    const auto keys = run_program({FETTLE_PROGRAM, "keys", "list"}, std::chrono::seconds(60),
                                  {{"FETTLE_HOME", folder.file("home")}});
    const std::string public_key = pair.substr(pair.find("public ") + 7, 40);
    EXPECT_NE(keys.out.find(public_key + "  agent"), std::string::npos) << keys.out;
  }
};

// An image with the partitions of a stock PYNQ image: FAT, then ext4.
class StockImage : public RootFileSystem {
 protected:
  static constexpr std::uint64_t kRootSector = 206848, kBytes = 160u << 20;
  std::string make_image(const std::filesystem::path& tree) {
    const std::string image = folder.file("stock.img");
    std::ofstream(image).close();
    std::filesystem::resize_file(image, kBytes);
    std::fstream table(image, std::ios::in | std::ios::out | std::ios::binary);
    auto entry = [&](int index, char type, std::uint32_t first, std::uint32_t sectors) {
      char bytes[16] = {};
      bytes[4] = type;
      for (int i = 0; i < 4; ++i) bytes[8 + i] = static_cast<char>(first >> (8 * i));
      for (int i = 0; i < 4; ++i) bytes[12 + i] = static_cast<char>(sectors >> (8 * i));
      table.seekp(446 + 16 * index);
      table.write(bytes, sizeof bytes);
    };
    entry(0, 0x0c, 2048, kRootSector - 2048);
    entry(1, static_cast<char>(0x83), kRootSector, kBytes / 512 - kRootSector);
    table.close();
    out_of({"mke2fs", "-q", "-t", "ext4", "-d", tree.string(), "-E",
            "offset=" + std::to_string(kRootSector * 512), image,
            std::to_string((kBytes - kRootSector * 512) / 1024) + "k"});
    return image;
  }
  std::string in_image(const std::string& image, const std::string& command) {
    return out_of(
        {"debugfs", "-R", command, image + "?offset=" + std::to_string(kRootSector * 512)});
  }
};

TEST_P(StockImage, TakesTheAgentWithoutBeingMounted) {
  const std::string package = make_package();
  if (package.empty()) GTEST_SKIP() << "no " << GetParam().preset << " agent: ./dev agents";
  const std::string image = make_image(make_tree());
  for (int time = 1; time <= 2; ++time) {  // the second replaces the first
    const auto added = add_agent(image, package);
    ASSERT_EQ(added.status, 0) << added.out << added.err;
  }
  const struct {
    const char *path, *mode;
  } files[] = {{"/usr/bin/fettle-agent", "0755"},
               {"/usr/lib/systemd/system/fettle-agent.service", "0644"},
               {"/etc/fettle/agent.toml", "0644"},
               {"/var/lib/fettle", "0700"},
               {"/var/lib/fettle/agent.key", "0600"}};
  for (const auto& file : files) {
    const std::string facts = in_image(image, std::string("stat ") + file.path);
    EXPECT_NE(facts.find(std::string("Mode:  ") + file.mode), std::string::npos)
        << file.path << ": " << facts;
    EXPECT_NE(facts.find("User:     0   Group:     0"), std::string::npos) << facts;
  }
  EXPECT_NE(in_image(image, "ls /etc/systemd/system/multi-user.target.wants")
                .find("fettle-agent.service"),
            std::string::npos);
  const std::string config = in_image(image, "cat /etc/fettle/agent.toml");
  EXPECT_NE(config.find("broker = \"tcp://10.1.2.3:9190\"\n"), std::string::npos) << config;
  expect_allowed(in_image(image, "cat /var/lib/fettle/agent.key"));
  EXPECT_EQ(
      run_program({"e2fsck", "-fn", image + "?offset=" + std::to_string(kRootSector * 512)}).status,
      0)
      << "the file system is not clean";
  EXPECT_EQ(std::filesystem::status(image).permissions() & std::filesystem::perms(0077),
            std::filesystem::perms::none)
      << "a private key is in it";
}

// systemd has moved its dynamic user's state, and the folder is a link.
TEST_P(StockImage, OneThatHasRunTakesTheKeyWhereItsStateIs) {
  const std::string package = make_package();
  if (package.empty()) GTEST_SKIP() << "no " << GetParam().preset << " agent: ./dev agents";
  const auto tree = make_tree();
  std::filesystem::create_directories(tree / "var/lib/private/fettle");
  std::filesystem::create_directory_symlink("private/fettle", tree / "var/lib/fettle");
  const std::string image = make_image(tree),
                    part = image + "?offset=" + std::to_string(kRootSector * 512);
  for (const char* field : {"uid 61234", "gid 61235"}) {
    out_of({"debugfs", "-w", "-R", std::string("set_inode_field /var/lib/private/fettle ") + field,
            part});
  }
  for (int time = 1; time <= 2; ++time) {
    const auto added = add_agent(image, package);
    ASSERT_EQ(added.status, 0) << added.out << added.err;
  }
  const std::string facts = in_image(image, "stat /var/lib/private/fettle/agent.key");
  EXPECT_NE(facts.find("Mode:  0600"), std::string::npos) << facts;
  EXPECT_NE(facts.find("User: 61234   Group: 61235"), std::string::npos) << facts;
  EXPECT_NE(in_image(image, "stat /var/lib/fettle").find("Type: symlink"), std::string::npos);
  EXPECT_EQ(run_program({"e2fsck", "-fn", part}).status, 0) << "the file system is not clean";
}

TEST_P(StockImage, ALinkInTheWayIsRefusedBeforeAnythingIsWritten) {
  const std::string package = make_package();
  if (package.empty()) GTEST_SKIP() << "no " << GetParam().preset << " agent: ./dev agents";
  const auto tree = make_tree();
  std::filesystem::create_directories(tree / "opt/fettle");
  std::filesystem::create_directory_symlink("/opt/fettle", tree / "etc/fettle");
  const std::string image = make_image(tree);
  const auto refused = add_agent(image, package);
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.err.find("/etc/fettle is a link"), std::string::npos) << refused.err;
  EXPECT_EQ(in_image(image, "ls /usr/bin").find("fettle"), std::string::npos);
}

TEST_P(StockImage, AnAgentForAnotherArchitectureIsRefused) {
  const std::string package = make_package();
  if (package.empty()) GTEST_SKIP() << "no " << GetParam().preset << " agent: ./dev agents";
  const auto tree = make_tree();
  write_systemd(tree, "arm64");
  const std::string image = make_image(tree);
  const auto refused = add_agent(image, package);
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.err.find("is made for armhf"), std::string::npos) << refused.err;
  EXPECT_EQ(in_image(image, "ls /usr/bin").find("fettle"), std::string::npos);
}

TEST_P(StockImage, ARemovedPackageMustBePurgedFirst) {
  const std::string package = make_package();
  if (package.empty()) GTEST_SKIP() << "no " << GetParam().preset << " agent: ./dev agents";
  const auto tree = make_tree();
  std::ofstream(tree / "etc/passwd") << "fettle-agent:x:110:65534::/var/lib/fettle:/bin/false\n";
  const auto refused = add_agent(make_image(tree), package);
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.err.find("not purged"), std::string::npos) << refused.err;
}

TEST_P(StockImage, TheBrokersOwnKeyIsNoBoards) {
  const std::string package = make_package();
  if (package.empty()) GTEST_SKIP() << "no " << GetParam().preset << " agent: ./dev agents";
  const std::string image = make_image(make_tree());
  for (const char* name : {"broker", "client"}) {
    const auto refused = add_agent(image, package, name);
    EXPECT_EQ(refused.status, 1);
    EXPECT_NE(refused.err.find("this account's own key pair"), std::string::npos) << refused.err;
  }
  EXPECT_EQ(in_image(image, "ls /var/lib").find("fettle"), std::string::npos);
}

TEST_P(StockImage, AFullOneIsNotCalledWhole) {
  const std::string package = make_package();
  if (package.empty()) GTEST_SKIP() << "no " << GetParam().preset << " agent: ./dev agents";
  const auto tree = make_tree();
  std::ofstream(tree / "filler") << std::string(50 << 20, 'x');  // about 1 MiB is left
  const auto refused = add_agent(make_image(tree), package);
  EXPECT_EQ(refused.status, 1) << refused.out;
  EXPECT_NE(refused.err.find("whole in"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("take a fresh copy"), std::string::npos) << refused.err;
}

// debian/disk.sh's cards are all called "fettle", with a hosts file of one line.
TEST_P(StockImage, OnlyACardOfOursTakesItsKeysName) {
  const std::string package = make_package();
  if (package.empty()) GTEST_SKIP() << "no " << GetParam().preset << " agent: ./dev agents";
  const auto tree = make_tree();
  auto name_after = [&](const char* hosts) {
    std::ofstream(tree / "etc/hostname") << "fettle\n";
    std::ofstream(tree / "etc/hosts") << hosts;
    const std::string image = make_image(tree);
    const auto added = add_agent(image, package);
    EXPECT_EQ(added.status, 0) << added.out << added.err;
    return in_image(image, "cat /etc/hostname") + in_image(image, "cat /etc/hosts");
  };
  EXPECT_EQ(name_after("127.0.0.1 localhost fettle\n"), "board-1\n127.0.0.1 localhost board-1\n");
  const char* other = "127.0.0.1 localhost\n127.0.1.1 pynq\n";
  EXPECT_EQ(name_after(other), std::string("fettle\n") + other);
}

TEST_P(StockImage, WithoutSystemdIsLeftAlone) {
  const std::string package = make_package();
  if (package.empty()) GTEST_SKIP() << "no " << GetParam().preset << " agent: ./dev agents";
  const std::string image = make_image(make_tree(false));
  const auto refused = add_agent(image, package);
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.err.find("has no systemd"), std::string::npos) << refused.err;
  EXPECT_EQ(in_image(image, "ls /usr/bin").find("fettle"), std::string::npos);
}

// The rootfs folder of NVIDIA's Linux_for_Tegra, before flash.sh makes an image of it.
class RootFolder : public RootFileSystem {};

std::string read_text(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST_P(RootFolder, TakesTheAgent) {
  namespace fs = std::filesystem;
  const std::string package = make_package();
  if (package.empty()) GTEST_SKIP() << "no " << GetParam().preset << " agent: ./dev agents";
  const fs::path tree = make_tree();
  fs::permissions(tree / "var/lib", fs::perms(0775));
  for (int time = 1; time <= 2; ++time) {  // the second replaces the first
    const auto added = add_agent(tree, package);
    ASSERT_EQ(added.status, 0) << added.out << added.err;
  }
  const struct {
    const char* path;
    unsigned mode;
  } files[] = {{"usr/bin/fettle-agent", 0755},
               {"usr/lib/systemd/system/fettle-agent.service", 0644},
               {"etc/systemd/system/fettle-agent.service.d/image.conf", 0644},
               {"etc/fettle/agent.toml", 0644},
               {"var/lib", 0775},
               {"var/lib/fettle", 0700},
               {"var/lib/fettle/agent.key", 0600}};
  for (const auto& file : files) {
    ASSERT_TRUE(fs::exists(tree / file.path)) << file.path;
    EXPECT_EQ(fs::status(tree / file.path).permissions(), fs::perms(file.mode)) << file.path;
  }
  EXPECT_EQ(fs::read_symlink(tree / "lib"), "usr/lib");
  EXPECT_EQ(
      fs::read_symlink(tree / "etc/systemd/system/multi-user.target.wants/fettle-agent.service"),
      "/lib/systemd/system/fettle-agent.service");
  EXPECT_NE(read_text(tree / "etc/fettle/agent.toml").find("broker = \"tcp://10.1.2.3:9190\"\n"),
            std::string::npos);
  expect_allowed(read_text(tree / "var/lib/fettle/agent.key"));
}

TEST_P(RootFolder, NothingIsWrittenBesideIt) {
  namespace fs = std::filesystem;
  const std::string package = make_package();
  if (package.empty()) GTEST_SKIP() << "no " << GetParam().preset << " agent: ./dev agents";
  const fs::path tree = make_tree();
  const fs::path elsewhere = folder.file("elsewhere");
  fs::create_directory(elsewhere);
  fs::create_directory_symlink(elsewhere, tree / "etc/fettle");  // absolute
  const auto refused = add_agent(tree, package);
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.err.find("leads out of the folder"), std::string::npos) << refused.err;
  EXPECT_TRUE(fs::is_empty(elsewhere));
  EXPECT_FALSE(fs::exists(tree / "usr/bin/fettle-agent"));
}

INSTANTIATE_TEST_SUITE_P(Boards, RootFolder, ::testing::Values(Arch{"aarch64", "arm64"}),
                         [](const auto& info) { return std::string(info.param.debian); });

INSTANTIATE_TEST_SUITE_P(Boards, StockImage, ::testing::Values(Arch{"armv7", "armhf"}),
                         [](const auto& info) { return std::string(info.param.debian); });

INSTANTIATE_TEST_SUITE_P(Boards, AgentPackage,
                         ::testing::Values(Arch{"x86_64", "amd64"}, Arch{"aarch64", "arm64"},
                                           Arch{"armv7", "armhf"}),
                         [](const auto& info) { return std::string(info.param.debian); });

}  // namespace
}  // namespace fettle
