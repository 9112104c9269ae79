// fettle-worker-gpu as it ships: what it needs of a board, that the agent carries it, and that
// the static agent starts it from memory.
#include <gtest/gtest.h>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "tests/support/running_program.h"

namespace fettle {
namespace {

using testing::run_program;

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

class WorkerProgram : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(program())) {
      GTEST_SKIP() << "no " << program() << ": ./dev agents says what it lacks";
    }
  }
  static std::string folder() { return std::string(FETTLE_AGENTS) + "/" + GetParam(); }
  static std::string program() { return folder() + "/fettle-worker-gpu"; }
};

// JetPack 4 and old images of the RK3399 have glibc 2.27.
TEST_P(WorkerProgram, NeedsNoNewerGlibcThan2_27) {
  const auto said = run_program({"readelf", "--wide", "-V", program()});
  ASSERT_EQ(said.status, 0) << said.err;
  int highest = 0, found = 0;
  for (std::size_t at = 0; (at = said.out.find("GLIBC_2.", at)) != std::string::npos; ++found) {
    at += 8;
    highest = std::max(highest, std::atoi(said.out.c_str() + at));
  }
  EXPECT_GT(found, 10) << said.out;
  EXPECT_LE(highest, 27);
  EXPECT_EQ(said.out.find("GLIBCXX"), std::string::npos) << "libstdc++ is not on every board";
  std::printf("             highest: GLIBC_2.%d, %ju bytes\n", highest,
              static_cast<std::uintmax_t>(std::filesystem::file_size(program())));
}

TEST_P(WorkerProgram, NeedsTheCLibraryAlone) {
  const auto said = run_program({"readelf", "--wide", "-d", program()});
  ASSERT_EQ(said.status, 0) << said.err;
  const std::set<std::string> had = {"libc.so.6",
                                     "libm.so.6",
                                     "libpthread.so.0",
                                     "libdl.so.2",
                                     "ld-linux-x86-64.so.2",
                                     "librt.so.1",
                                     "ld-linux-aarch64.so.1",
                                     "ld-linux-armhf.so.3"};
  for (std::size_t at = 0; (at = said.out.find("(NEEDED)", at)) != std::string::npos; ++at) {
    const std::size_t from = said.out.find('[', at) + 1;
    const std::string name = said.out.substr(from, said.out.find(']', from) - from);
    EXPECT_TRUE(had.count(name)) << name;
  }
}

TEST_P(WorkerProgram, LiesInTheAgentAsItIs) {
  const std::string agent = bytes_of(folder() + "/fettle-agent");
  ASSERT_FALSE(agent.empty());
  EXPECT_NE(agent.find(bytes_of(program())), std::string::npos) << "./dev agents embeds it";
  EXPECT_LE(agent.size(), std::size_t{4} << 20);
}

TEST_P(WorkerProgram, IsStartedFromMemory) {
  if (std::string(GetParam()) != FETTLE_MACHINE) GTEST_SKIP() << "a program of another machine";
  const auto passed = run_program({folder() + "/fettle-agent", "--self-test", "--device-kind",
                                   "cuda", "--cuda-library", FETTLE_CUDA_STAND_IN});
  EXPECT_EQ(passed.status, 0) << passed.out << passed.err;
  EXPECT_NE(passed.out.find("passed, sandbox Driver"), std::string::npos) << passed.out;
  const auto failed = run_program({folder() + "/fettle-agent", "--self-test", "--device-kind",
                                   "cuda", "--cuda-library", "libnone.so"});
  EXPECT_NE(failed.status, 0);
  EXPECT_NE(failed.out.find("no CUDA driver here: libnone.so"), std::string::npos) << failed.out;
}

// qemu-user cannot start a program from memory: what it says then is that it tried.
TEST_P(WorkerProgram, IsFoundByAnAgentOfAnotherMachine) {
  if (std::string(GetParam()) == FETTLE_MACHINE) GTEST_SKIP() << "this machine's own";
  std::string emulator;
  for (const std::string suffix : {"-static", ""}) {
    const std::string machine = std::string(GetParam()) == "armv7" ? "arm" : GetParam();
    const std::string path = "/usr/bin/qemu-" + machine + suffix;
    if (emulator.empty() && std::filesystem::exists(path)) emulator = path;
  }
  if (emulator.empty()) GTEST_SKIP() << "no qemu-user for " << GetParam();
  const auto tried = run_program({emulator, folder() + "/fettle-agent", "--self-test",
                                  "--device-kind", "opencl", "--emulated"});
  EXPECT_NE(tried.status, 0);
  EXPECT_NE(tried.out.find("cannot execute the embedded worker program"), std::string::npos)
      << tried.out;
}

INSTANTIATE_TEST_SUITE_P(, WorkerProgram, ::testing::Values("x86_64", "aarch64", "armv7"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace fettle
