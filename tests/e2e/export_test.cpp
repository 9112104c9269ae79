// `fettle export`: a network as a library, linked into a plain C program by a C compiler alone, for
// this machine and for boards under qemu-user.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>
#include <sstream>

#include "runtime/tensor_files/npy.h"
#include "tests/support/emulator.h"
#include "tests/support/onnx_model.h"
#include "tests/support/running_program.h"
#include "tests/support/tiny_network.h"

namespace fettle::testing {
namespace {

using std::chrono::seconds;

// Runs twice in a workspace that begins as 0xff at an odd address.
constexpr const char* kProgram = R"(#include "small_net.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static _Alignas(SMALL_NET_ALIGNMENT) float x[IMAGE];
static _Alignas(SMALL_NET_ALIGNMENT) float y[SCORES];
int main(void) {
  unsigned char* memory = malloc(small_net_workspace_bytes() + 1);
  if (!memory) return 2;
  memset(memory, 0xff, small_net_workspace_bytes() + 1);
  if (fread(x, 1, sizeof x, stdin) != sizeof x) return 3;
  small_net_init(memory + 1);
  if (small_net_run(memory + 1, x, y + 1) != -1 || y[1] != 0) return 4;
  for (int i = 0; i < 2; ++i) {
    if (small_net_run(memory + 1, x, y)) return 5;
  }
  return fwrite(y, 1, sizeof y, stdout) != sizeof y;
}
)";

constexpr int kImage = 3 * 16 * 16, kScores = 10;

void set_integer(onnx::NodeProto& node, const char* name, std::int64_t value) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}

class Export : public ::testing::Test {
 protected:
  void SetUp() override {
    OnnxModel small;
    small.input("x", {1, 3, 16, 16});
    small.weights("w1", {8, 3, 3, 3});
    small.weights("b1", {8});
    small.weights("w2", {16, 8, 3, 3});
    small.weights("w3", {kScores, 16});
    OnnxModel::integers(small.node("Conv", {"x", "w1", "b1"}, "c1"), "pads", {1, 1, 1, 1});
    small.node("Elu", {"c1"}, "a1");
    OnnxModel::integers(small.node("Conv", {"a1", "w2"}, "c2"), "strides", {2, 2});
    small.node("GlobalAveragePool", {"c2"}, "mean");
    small.node("Flatten", {"mean"}, "flat");
    set_integer(small.node("Gemm", {"flat", "w3"}, "logits"), "transB", 1);
    small.node("Softmax", {"logits"}, "y");
    small.output("y");
    small.proto().mutable_graph()->set_name("small */ \"net\"");
    std::ofstream(model, std::ios::binary) << small.text();
    image.resize(kImage);
    for (std::size_t i = 0; i < image.size(); ++i) image[i] = std::sin(static_cast<float>(i));
    std::ofstream(folder.file("x.bin"), std::ios::binary)
        .write(reinterpret_cast<const char*>(image.data()), kImage * 4);
    std::ofstream(folder.file("x.npy"), std::ios::binary)
        << npy_file(wire::ScalarType::Float32, std::vector<std::int64_t>{1, 3, 16, 16},
                    {reinterpret_cast<const std::uint8_t*>(image.data()), kImage * 4});
    std::ofstream(folder.file("main.c")) << kProgram;
  }

  void fettle(std::vector<std::string> words) {
    words.insert(words.begin(), FETTLE_PROGRAM);
    const auto result =
        run_program(words, seconds(200),
                    {{"FETTLE_HOME", folder.file("home")}, {"FETTLE_AGENT", FETTLE_AGENT_PROGRAM}});
    ASSERT_EQ(result.status, 0) << result.err;
  }
  std::string said(std::vector<std::string> words) {
    words.insert(words.begin(), FETTLE_PROGRAM);
    const auto result =
        run_program(words, seconds(200),
                    {{"FETTLE_HOME", folder.file("home")}, {"FETTLE_AGENT", FETTLE_AGENT_PROGRAM}});
    EXPECT_EQ(result.status, 1);
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    return result.err;
  }

  // The C program of `library` (a folder), linked and run by `emulator`, if any.
  std::vector<float> answer(const std::string& library, const std::string& compiler,
                            const std::vector<std::string>& options, const std::string& emulator) {
    const std::string program = folder.file("program");
    std::vector<std::string> words = {compiler,
                                      "-std=c11",
                                      "-Wall",
                                      "-Wextra",
                                      "-Werror",
                                      "-DIMAGE=" + std::to_string(kImage),
                                      "-DSCORES=" + std::to_string(kScores),
                                      "-I",
                                      library,
                                      folder.file("main.c"),
                                      library + "/libsmall_net.a",
                                      "-o",
                                      program};
    words.insert(words.begin() + 1, options.begin(), options.end());
    const auto built = run_program(words);
    EXPECT_EQ(built.status, 0) << built.err;
    EXPECT_EQ(built.err, "");
    const std::string out = folder.file("y.bin");
    const auto ran = run_program(
        {"sh", "-c", emulator + " " + program + " < " + folder.file("x.bin") + " > " + out});
    EXPECT_EQ(ran.status, 0) << ran.err;
    std::ifstream file(out, std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    EXPECT_EQ(bytes.size(), kScores * sizeof(float));
    std::vector<float> scores(kScores);
    std::memcpy(scores.data(), bytes.data(), std::min(bytes.size(), kScores * sizeof(float)));
    return scores;
  }

  // What `runner` makes of a network file.
  std::vector<float> run(const std::vector<std::string>& runner, const std::string& file) {
    std::vector<std::string> words = runner;
    for (const std::string& word :
         {file, "--input=x=" + folder.file("x.npy"), "--output=" + folder.file("answers"),
          std::string("--runs=2")}) {
      words.push_back(word);
    }
    const auto ran = run_program(words);
    EXPECT_EQ(ran.status, 0) << ran.err;
    std::ifstream answers(folder.file("answers/y.npy"), std::ios::binary);
    const auto array = parse_npy(std::string(std::istreambuf_iterator<char>(answers), {}));
    EXPECT_TRUE(array.ok());
    std::vector<float> scores(kScores);
    if (array && array->bytes.size() == kScores * sizeof(float)) {
      std::memcpy(scores.data(), array->bytes.data(), array->bytes.size());
    }
    return scores;
  }

  // Its functions, and memset, are all that a linker sees of it.
  void expect_closed(const std::string& library) {
    const auto names = run_program({"nm", "-g", library + "/libsmall_net.a"});
    ASSERT_EQ(names.status, 0) << names.err;
    std::istringstream lines(names.out);
    std::vector<std::string> defined;
    for (std::string line; std::getline(lines, line);) {
      const std::size_t name = line.rfind(' ');
      if (name == std::string::npos || name < 2) continue;
      if (line[name - 1] == 'U') {
        EXPECT_NE(line.find("mem"), std::string::npos) << line;
      } else {
        defined.push_back(line.substr(name + 1));
      }
    }
    EXPECT_EQ(defined, (std::vector<std::string>{"small_net_init", "small_net_run",
                                                 "small_net_workspace_bytes"}));
  }

  ScratchFolder folder;
  std::string model = folder.file("small-net.onnx");
  std::vector<float> image;
};

TEST_F(Export, APlainCProgramHasTheAnswerOfFettleRun) {
  const std::string net = folder.file("small-net.fettle"), library = folder.file("library");
  ASSERT_NO_FATAL_FAILURE(fettle({"build", model, "-o", net}));
  ASSERT_NO_FATAL_FAILURE(fettle({"export", net, "-o", library}));
  expect_closed(library);
  const std::vector<float> right = run({FETTLE_PROGRAM, "run"}, net);
  EXPECT_NEAR(std::accumulate(right.begin(), right.end(), 0.0f), 1, 1e-4);
  EXPECT_EQ(answer(library, "cc", {}, ""), right);
  EXPECT_EQ(answer(library, "cc", {"-fPIE", "-pie", "-Wl,-z,text,--fatal-warnings"}, ""), right);
  EXPECT_EQ(answer(library, "cc", {"-static", "-no-pie"}, ""), right);
  // The header is C99 and C++, the model's name in it a comment's.
  for (const char* language : {"-std=c99", "-xc++"}) {
    const auto checked = run_program({"cc", language, "-Wall", "-Wextra", "-pedantic", "-Werror",
                                      "-fsyntax-only", library + "/small_net.h"});
    EXPECT_EQ(checked.status, 0) << checked.err;
  }
  // The same from the model, byte for byte.
  const std::string again = folder.file("again");
  ASSERT_NO_FATAL_FAILURE(fettle({"export", model, "-o", again}));
  EXPECT_EQ(run_program({"diff", "-r", library, again}).out, "");
}

TEST_F(Export, BoardsLinkItToo) {
  const std::string net = folder.file("here.fettle");
  ASSERT_NO_FATAL_FAILURE(fettle({"build", model, "-o", net}));
  const std::vector<float> right = run({FETTLE_PROGRAM, "run"}, net);
  const struct {
    const char *arch, *compiler, *libraries;
  } rows[] = {{"aarch64", "aarch64-linux-gnu-gcc", "/usr/aarch64-linux-gnu"},
              {"armv7", "arm-linux-gnueabihf-gcc", "/usr/arm-linux-gnueabihf"}};
  int tried = 0;
  for (const auto& row : rows) {
    SCOPED_TRACE(row.arch);
    const std::string emulator = emulator_of(row.arch);
    if (emulator.empty()) continue;
    if (run_program({"sh", "-c", std::string("command -v ") + row.compiler}).status != 0) continue;
    const std::string profile = std::string("generic-") + row.arch, library = folder.file(row.arch);
    ASSERT_NO_FATAL_FAILURE(fettle({"export", model, "--profile", profile, "-o", library}));
    expect_closed(library);
    const std::string with_libraries = emulator + " -L " + row.libraries;
    const std::vector<std::string> fixed = {"-static", "-no-pie"};
    const std::vector<std::string> anywhere = {"-fPIE", "-pie", "-Wl,-z,text,--fatal-warnings"};
    for (const auto& options : {fixed, anywhere}) {
      const std::vector<float> scores = answer(library, row.compiler, options, with_libraries);
      for (std::size_t i = 0; i < scores.size(); ++i) EXPECT_NEAR(scores[i], right[i], 1e-5);
    }
    // Bit for bit what the runtime makes of the same code.
    const std::string runner = std::string(FETTLE_AGENTS_FOLDER) + "/" + row.arch + "/fettle-run";
    if (std::ifstream(runner)) {
      const std::string board = folder.file("board.fettle");
      ASSERT_NO_FATAL_FAILURE(fettle({"build", model, "--profile", profile, "-o", board}));
      EXPECT_EQ(run({emulator, runner}, board),
                answer(library, row.compiler, {"-static"}, emulator));
    }
    ++tried;
  }
  if (tried == 0) GTEST_SKIP() << "no cross compiler with an emulator: ./dev setup";
}

TEST_F(Export, MistakesAreOneLineEach) {
  const std::string library = folder.file("library");
  EXPECT_NE(said({"export", folder.file("x.npy"), "-o", library}).find("FETTLNET"),
            std::string::npos);
  EXPECT_NE(said({"export", folder.file("none.fettle"), "-o", library}).find("none.fettle"),
            std::string::npos);
  EXPECT_NE(said({"export", model, "--profile", "generic-armv7", "-o", library, "--name", "stdint"})
                .find("the header would be <stdint.h> of C"),
            std::string::npos);
  EXPECT_NE(said({"export", model, "--profile", "generic-armv7", "-o", library, "--name", "a-b"})
                .find("C identifier, not 'a-b'"),
            std::string::npos);
  EXPECT_NE(said({"export", folder.file("x.npy"), "--threads", "2", "-o", library})
                .find("--threads is for ONNX files"),
            std::string::npos);
  if (test::have_tiny_network()) {
    test::TinyNetwork other;
    other.make();
    other.network.target = R"({"backend":"vta"})";
    other.write(folder.file("vta.fettle"));
    EXPECT_EQ(said({"export", folder.file("vta.fettle"), "-o", library}),
              "fettle: error: a C library holds a CPU's code; this network is for vta\n");
  }
  EXPECT_FALSE(std::ifstream(library + "/small_net.h"));
}

}  // namespace
}  // namespace fettle::testing
