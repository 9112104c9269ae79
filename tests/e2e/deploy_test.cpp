// What a product does with libfettle_rt: the examples, built as strangers build them.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "runtime/tensor_files/npy.h"
#include "tests/support/emulator.h"
#include "tests/support/running_program.h"
#include "tests/support/tiny_network.h"

namespace fettle::testing {
namespace {

using std::chrono::seconds;

class Deploy : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!test::have_tiny_network()) GTEST_SKIP() << "no kernels for this machine";
    tiny.make();
    tiny.write(folder.file("net.fettle"));
    image.assign(48, 0.25f);
    answer = tiny.answer(image);
    std::ofstream(folder.file("image.bin"), std::ios::binary)
        .write(reinterpret_cast<const char*>(image.data()), 48 * 4);
    const std::size_t best =
        static_cast<std::size_t>(std::max_element(answer.begin(), answer.end()) - answer.begin());
    char line[64];
    std::snprintf(line, sizeof line, "tiny: class %zu with %g\n", best, answer[best]);
    said = line;
  }
  void expect_answer(const std::string& program) {
    const auto right = run_program({program, folder.file("net.fettle"), folder.file("image.bin")});
    EXPECT_EQ(right.status, 0) << right.err;
    EXPECT_EQ(right.out, said);
    const auto wrong = run_program({program, folder.file("image.bin"), folder.file("image.bin")});
    EXPECT_EQ(wrong.status, 1);
    EXPECT_NE(wrong.err.find("does not begin with FETTLNET"), std::string::npos) << wrong.err;
  }
  ScratchFolder folder;
  test::TinyNetwork tiny;
  std::vector<float> image, answer;
  std::string said;
};

TEST_F(Deploy, APlainCProgramNeedsTheArchiveAlone) {
  const std::string program = folder.file("run_network");
  const auto built =
      run_program({"cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I",
                   FETTLE_RT_HEADERS, FETTLE_DEPLOY "/run_network.c", FETTLE_RT_ARCHIVE, "-lstdc++",
                   "-lm", "-lpthread", "-o", program});
  ASSERT_EQ(built.status, 0) << built.err;
  expect_answer(program);
}

TEST_F(Deploy, TheArchiveHasNoOtherNames) {
  const auto names = run_program({"nm", "-g", "--defined-only", FETTLE_RT_ARCHIVE});
  ASSERT_EQ(names.status, 0);
  std::istringstream lines(names.out);
  int functions = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t name = line.rfind(' ');
    if (line.size() < 18 || name == std::string::npos) continue;
    // "u": what templates and inline functions keep. The linker makes one of equal ones.
    if (line[17] == 'u') continue;
    EXPECT_EQ(line.compare(name + 1, 7, "fettle_"), 0) << line;
    ++functions;
  }
  EXPECT_GE(functions, 15);
}

TEST_F(Deploy, AProjectFindsThePackage) {
  const std::string prefix = folder.file("prefix"), build = folder.file("build");
  const auto installed = run_program(
      {FETTLE_CMAKE, "--install", FETTLE_BUILD, "--component", "rt", "--prefix", prefix},
      seconds(60));
  ASSERT_EQ(installed.status, 0) << installed.err;
  const auto configured =
      run_program({FETTLE_CMAKE, "-S", prefix + "/share/doc/fettle/examples/deploy", "-B", build,
                   "-DCMAKE_PREFIX_PATH=" + prefix},
                  seconds(120));
  ASSERT_EQ(configured.status, 0) << configured.out << configured.err;
  const auto built = run_program({FETTLE_CMAKE, "--build", build}, seconds(120));
  ASSERT_EQ(built.status, 0) << built.out << built.err;
  expect_answer(build + "/run_network");
}

TEST_F(Deploy, APythonProgramHandsArraysOver) {
  std::string python = "python3";
  const auto knows_numpy = [&] { return run_program({python, "-c", "import numpy"}).status == 0; };
  if (!knows_numpy() && (python = "/usr/bin/python3", !knows_numpy())) {
    GTEST_SKIP() << "no numpy here: ./dev setup";
  }
  std::ofstream(folder.file("image.npy"), std::ios::binary)
      << npy_file(wire::ScalarType::Float32, std::vector<std::int64_t>{1, 48},
                  {reinterpret_cast<const std::uint8_t*>(image.data()), 48 * 4});
  const auto result =
      run_program({python, FETTLE_DEPLOY "/run_network.py", folder.file("net.fettle"),
                   folder.file("image.npy"), folder.file("scores.npy")},
                  seconds(60), {{"FETTLE_RT", FETTLE_RT_SHARED}});
  ASSERT_EQ(result.status, 0) << result.err;
  std::ifstream file(folder.file("scores.npy"), std::ios::binary);
  const auto array = parse_npy(std::string(std::istreambuf_iterator<char>(file), {}));
  ASSERT_TRUE(array.ok());
  EXPECT_EQ(array->shape, (std::vector<std::int64_t>{1, 10}));
  ASSERT_EQ(array->bytes.size(), answer.size() * 4);
  EXPECT_EQ(std::memcmp(array->bytes.data(), answer.data(), array->bytes.size()), 0);
  const auto wrong =
      run_program({python, FETTLE_DEPLOY "/run_network.py", folder.file("net.fettle"),
                   folder.file("scores.npy"), folder.file("scores.npy")},
                  seconds(60), {{"FETTLE_RT", FETTLE_RT_SHARED}});
  EXPECT_EQ(wrong.err, "run_network.py: the input image has the shape (1, 48), not (1, 10)\n");
}

// The same C program for a board, by the archive of its architecture.
TEST_F(Deploy, ACProgramOfABoard) {
  const struct {
    const char *arch, *compiler;
  } rows[] = {{"aarch64", "aarch64-linux-gnu-gcc"}, {"armv7", "arm-linux-gnueabihf-gcc"}};
  int tried = 0;
  for (const auto& row : rows) {
    const std::string archive =
        std::string(FETTLE_AGENTS_FOLDER) + "/" + row.arch + "/runtime/c_api/libfettle_rt.a";
    if (!std::filesystem::exists(archive) || !test::have_tiny_network(row.arch)) continue;
    const std::string emulator = emulator_of(row.arch);
    if (emulator.empty()) continue;
    const std::string program = folder.file(row.arch);
    const auto built = run_program({row.compiler, "-std=c99", "-static", "-I", FETTLE_RT_HEADERS,
                                    FETTLE_DEPLOY "/run_network.c", archive, "-lstdc++", "-lm",
                                    "-lpthread", "-o", program});
    ASSERT_EQ(built.status, 0) << row.arch << ": " << built.err;
    test::TinyNetwork there;
    there.arch = row.arch;
    there.make();
    there.write(folder.file("board.fettle"));
    const auto ran =
        run_program({emulator, program, folder.file("board.fettle"), folder.file("image.bin")});
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_EQ(ran.out, said) << row.arch;
    ++tried;
  }
  if (tried == 0)
    GTEST_SKIP() << "no libfettle_rt.a of a board, or no emulator: ./dev agents aarch64 armv7";
}

}  // namespace
}  // namespace fettle::testing
