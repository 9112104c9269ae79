// `fettle export --record`: tuned kernels as C libraries, linked into a plain C program by a C
// compiler alone, which knows the answer.
#include "tests/e2e/tune_support.h"

namespace fettle::testing {
namespace {

using std::chrono::seconds;

constexpr const char* kConvolution = R"(#include "conv.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { H = 14, W = 14, C = 16, O = 32 };
#define TENSOR static _Alignas(CONV_ALIGNMENT) float
TENSOR x[H * W * C];
TENSOR w[3 * 3 * C * O];
TENSOR b[O];
TENSOR y[H * W * O];
int main(void) {
  for (int i = 0; i < H * W * C; ++i) x[i] = (float)(i * 7 % 13 - 6);
  for (int i = 0; i < 9 * C * O; ++i) w[i] = (float)(i * 5 % 11 - 5) / 8;
  for (int i = 0; i < O; ++i) b[i] = (float)(i - 16);
  void* workspace = malloc(conv_workspace_bytes());
  if (!workspace) return 2;
  memset(workspace, 0xff, conv_workspace_bytes());
  if (INIT) return 3;
  RUINED
  for (int turn = 0; turn < 2; ++turn) {
    if (RUN) return 4;
  }
  for (int i = 0; i < 9 * C * O; ++i) w[i] = (float)(i * 5 % 11 - 5) / 8;
  for (int r = 0; r < H; ++r) {
    for (int c = 0; c < W; ++c) {
      for (int o = 0; o < O; ++o) {
        double sum = b[o];
        for (int kh = 0; kh < 3; ++kh) {
          for (int kw = 0; kw < 3; ++kw) {
            const int row = r + kh - 1, column = c + kw - 1;
            if (row < 0 || row >= H || column < 0 || column >= W) continue;
            for (int i = 0; i < C; ++i) {
              sum += (double)x[(row * W + column) * C + i] * w[((kh * 3 + kw) * C + i) * O + o];
            }
          }
        }
        const double wanted = sum > 0 ? sum : 0;
        if (fabs(y[(r * W + c) * O + o] - wanted) > 0.02) {
          printf("%d %d %d: %f, not %f\n", r, c, o, y[(r * W + c) * O + o], wanted);
          return 5;
        }
      }
    }
  }
  return 0;
}
)";

class ExportKernel : public TuneTest {
 protected:
  static std::string text_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  // The call of NAME_init or NAME_run as the header declares it, of the program's tensors.
  static std::string call(const std::string& header, const std::string& function) {
    const std::size_t begin = header.find(" " + function + "(") + 1;
    std::string text = header.substr(begin, header.find(");", begin) + 1 - begin);
    const std::pair<const char*, const char*> words[] = {
        {"void* ", ""},     {"const ", ""},   {"float* ", ""}, {"in_input", "x"},
        {"in_weight", "w"}, {"in_bias", "b"}, {"\n", " "}};
    for (const auto& [from, to] : words) {
      for (std::size_t at; (at = text.find(from)) != std::string::npos;) {
        text.replace(at, std::string(from).size(), to);
      }
    }
    const std::size_t output = text.find("out_");
    if (output != std::string::npos)
      text.replace(output, text.find_first_of(",)", output) - output, "y");
    return text;
  }
};

TEST_F(ExportKernel, AConvolutionInAPlainCProgramHasTheRightAnswer) {
  const auto tuned =
      run_program(tune({"--trials", "24", "--searcher", "random"}), seconds(240), environment());
  ASSERT_EQ(tuned.status, 0) << tuned.err;
  std::set<std::string> sketches;
  for (const auto& record : records()) {
    if (!record.measurement() || record.title.find("conv2d") == std::string::npos) continue;
    if (!sketches.insert(nlohmann::json::parse(record.configuration)["sketch"]).second) continue;
    SCOPED_TRACE(record.configuration);
    const std::string library = folder.file("library" + std::to_string(record.id));
    const auto exported =
        run_program({FETTLE_PROGRAM, "export", "--record", std::to_string(record.id), "--db", db,
                     "--name", "conv", "-o", library},
                    seconds(60), environment());
    ASSERT_EQ(exported.status, 0) << exported.err;
    const std::string header = text_of(library + "/conv.h");
    std::string program = kConvolution;
    const std::string init = call(header, "conv_init"), run = call(header, "conv_run");
    const bool packed = init.find(" w") != std::string::npos && run.find(" w") == std::string::npos;
    const std::pair<const char*, std::string> blanks[] = {
        {"INIT", init.find(',') == std::string::npos ? init + ", 0" : init},
        {"RUINED", packed ? "memset(w, 0xff, sizeof w);" : ""},
        {"RUN", run}};
    for (const auto& [from, to] : blanks)
      program.replace(program.find(from), std::string(from).size(), to);
    std::ofstream(folder.file("main.c")) << program;
    const auto built = run_program({"cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-I", library,
                                    folder.file("main.c"), library + "/libconv.a", "-lm", "-o",
                                    folder.file("program")});
    ASSERT_EQ(built.status, 0) << built.err << program;
    const auto ran = run_program({folder.file("program")});
    EXPECT_EQ(ran.status, 0) << ran.out << init << "\n" << run;
    for (const char* language : {"-std=c99", "-xc++"}) {
      const auto checked = run_program({"cc", language, "-Wall", "-Wextra", "-pedantic", "-Werror",
                                        "-fsyntax-only", library + "/conv.h"});
      EXPECT_EQ(checked.status, 0) << checked.err;
    }
  }
  EXPECT_GE(sketches.size(), 2u);
}

TEST_F(ExportKernel, MistakesAreOneLineEach) {
  const auto said = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {FETTLE_PROGRAM, "export", "-o", folder.file("library")});
    const auto result = run_program(words, seconds(60), environment());
    EXPECT_NE(result.status, 0);
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    return result.err;
  };
  EXPECT_NE(said({"--record", "3", "--db", db}).find("tuning.db"), std::string::npos);
  EXPECT_NE(said({}).find("--record"), std::string::npos);
  EXPECT_NE(said({"net.onnx", "--record", "3"}).find("excludes"), std::string::npos);
  EXPECT_NE(said({"--record", "3", "--threads", "2"}).find("excludes"), std::string::npos);
}

}  // namespace
}  // namespace fettle::testing
