// The host's Debian package: what dpkg reads in it, and that its program tunes from where
// the package puts it, with an agent that the package brings.
#include <gtest/gtest.h>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/running_program.h"

namespace fettle {
namespace {

using std::chrono::seconds;
using testing::run_program;
using testing::ScratchFolder;

class HostPackage : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    for (const char* arch : {"x86_64", "aarch64", "armv7"}) {
      if (std::filesystem::exists(std::string(FETTLE_AGENTS "/") + arch + "/CPackConfig.cmake"))
        continue;
      missing_ = arch;
      return;
    }
    folder_ = new ScratchFolder;
    const auto made = run_program(
        {FETTLE_CPACK, "--config", FETTLE_BUILD "/CPackConfig.cmake", "-B", folder_->path()},
        seconds(200));
    ASSERT_EQ(made.status, 0) << made.out << made.err;
    for (const auto& entry : std::filesystem::directory_iterator(folder_->path())) {
      if (entry.path().extension() == ".deb") package_ = entry.path();
    }
    ASSERT_FALSE(package_.empty());
  }
  static void TearDownTestSuite() { delete folder_; }
  void SetUp() override {
    if (!missing_.empty()) GTEST_SKIP() << "no " << missing_ << " agent: ./dev agents";
  }
  static std::string dpkg(const std::string& option, const std::string& last = "") {
    std::vector<std::string> argv{"dpkg-deb", option, package_};
    if (!last.empty()) argv.push_back(last);
    const auto done = run_program(argv);
    EXPECT_EQ(done.status, 0) << done.err;
    return done.out;
  }

  static inline std::string missing_, package_;
  static inline ScratchFolder* folder_ = nullptr;
};

TEST_F(HostPackage, IsWhatDpkgWants) {
  EXPECT_EQ(dpkg("-f", "Package"), "fettle\n");
  EXPECT_EQ(dpkg("-f", "Version"), FETTLE_VERSION "\n");
  const std::string needs = dpkg("-f", "Depends");
  for (const char* library : {"libc6", "libllvm19", "libsodium", "libzmq"}) {
    EXPECT_NE(needs.find(library), std::string::npos) << library << " not in " << needs;
  }
  const std::string files = dpkg("-c");
  for (const std::string line :
       {"-rwxr-xr-x root/root", "./usr/bin/fettle -> ../lib/fettle/bin/fettle",
        "./usr/lib/fettle/agents/x86_64/fettle-agent",
        "./usr/lib/fettle/agents/aarch64/fettle-agent",
        "./usr/lib/fettle/agents/armv7/fettle-agent", "./usr/lib/fettle/agents/armv7/fettle-run",
        "./usr/lib/fettle/agents/aarch64/libfettle_rt.a", "./usr/lib/libfettle_rt.a",
        "./usr/include/fettle_rt.h", "./usr/lib/cmake/fettle/fettleConfig.cmake",
        "./usr/lib/fettle/packages/fettle-agent_" FETTLE_VERSION "_amd64.deb",
        "./usr/lib/fettle/packages/fettle-agent_" FETTLE_VERSION "_arm64.deb",
        "./usr/lib/fettle/packages/fettle-agent_" FETTLE_VERSION "_armhf.deb",
        "./usr/lib/libfettle.so -> fettle/lib/libfettle.so", "./usr/include/fettle/program.h",
        "./usr/lib/pkgconfig/fettle.pc", "./usr/lib/fettle/board_images/add_agent.sh",
        "./usr/share/bash-completion/completions/fettle", "./usr/share/doc/fettle/copyright"}) {
    EXPECT_NE(files.find(line), std::string::npos) << line << " not in\n" << files;
  }
  EXPECT_EQ(files.find(FETTLE_BUILD), std::string::npos) << files;
}

TEST_F(HostPackage, ItsProgramTunesFromWhereItIsPut) {
  const std::string root = folder_->file("root"), fettle = root + "/usr/bin/fettle";
  dpkg("-x", root);
  const auto version = run_program({fettle, "--version"});
  EXPECT_EQ(version.status, 0) << version.err;
  EXPECT_NE(version.out.find(FETTLE_VERSION), std::string::npos) << version.out;
  const std::string tasks = folder_->file("tasks.json");
  std::ofstream(tasks) << R"([{"op": "dense", "batch": 1, "in_features": 64, "out_features": 32}])";
  const auto tuned = run_program({fettle, "tune", tasks, "--device", "local", "--trials", "3",
                                  "--db", folder_->file("r.db"), "--json"},
                                 seconds(120), {{"FETTLE_HOME", folder_->file("home")}});
  EXPECT_EQ(tuned.status, 0) << tuned.err;
  EXPECT_NE(tuned.out.find("\"summary\""), std::string::npos) << tuned.out;
}

// Headers, library and pkg-config's file are enough to compile with, and the library finds the
// agents that came with it.
TEST_F(HostPackage, AProgramIsBuiltAndTunesByItsLibrary) {
  const std::string root = folder_->file("root"), program = folder_->file("mine");
  dpkg("-x", root);
  const auto flags = run_program(
      {"pkg-config", "--define-variable=prefix=" + root + "/usr", "--cflags", "--libs", "fettle"},
      seconds(20), {{"PKG_CONFIG_PATH", root + "/usr/lib/pkgconfig"}});
  ASSERT_EQ(flags.status, 0) << flags.err;
  std::vector<std::string> compile{"c++", "-std=c++20",
                                   root + "/usr/share/doc/fettle/examples/library/swish_dense.cpp",
                                   "-o", program};
  std::istringstream words(flags.out);
  for (std::string word; words >> word;) compile.push_back(word);
  const auto compiled = run_program(compile, seconds(120));
  ASSERT_EQ(compiled.status, 0) << compiled.err;
  // The same as a project of its own, where the package is put elsewhere than its file says.
  const std::string build = folder_->file("build");
  std::ifstream installed(root + "/usr/lib/pkgconfig/fettle.pc");
  std::ofstream moved(folder_->file("fettle.pc"));
  for (std::string line; std::getline(installed, line);) {
    moved << (line.starts_with("prefix=") ? "prefix=" + root + "/usr" : line) << "\n";
  }
  moved.close();
  const auto configured = run_program(
      {FETTLE_CMAKE, "-S", root + "/usr/share/doc/fettle/examples/library", "-B", build},
      seconds(120), {{"PKG_CONFIG_PATH", folder_->file("")}});
  ASSERT_EQ(configured.status, 0) << configured.out << configured.err;
  const auto built = run_program({FETTLE_CMAKE, "--build", build}, seconds(120));
  ASSERT_EQ(built.status, 0) << built.out << built.err;
  EXPECT_EQ(run_program({build + "/swish_dense", "--version"}, seconds(20),
                        {{"LD_LIBRARY_PATH", root + "/usr/lib"}})
                .status,
            0);
  const auto tuned =
      run_program({program, "tune", "swish-dense", "--device", "local", "--trials", "3", "--db",
                   folder_->file("mine.db"), "--json"},
                  seconds(120),
                  {{"FETTLE_HOME", folder_->file("home")}, {"LD_LIBRARY_PATH", root + "/usr/lib"}});
  EXPECT_EQ(tuned.status, 0) << tuned.err;
  EXPECT_NE(tuned.out.find("\"summary\""), std::string::npos) << tuned.out;
}

}  // namespace
}  // namespace fettle
