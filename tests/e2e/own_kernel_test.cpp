// `fettle tune my.cl`: the examples on PoCL and on this machine's CPU, what becomes of their
// records, and kernels that misbehave.
#include <algorithm>
#include <filesystem>

#include "tests/e2e/tune_support.h"
#include "tests/support/kernel_sample.h"
#include "tests/support/opencl_candidates.h"

namespace fettle::testing {
namespace {

using std::chrono::seconds;

class OwnKernelTest : public TuneTest {
 protected:
  std::vector<std::string> tune_kernel(const std::string& file, const std::string& device,
                                       std::vector<std::string> more) const {
    std::vector<std::string> words = {FETTLE_PROGRAM,    "tune", file, "--device", device,
                                      "--json",          "--db", db,   "--repeat", "3",
                                      "--min-repeat-ms", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  static std::string example(const std::string& name) {
    return (std::filesystem::path(FETTLE_EXAMPLES) / name).string();
  }
  std::size_t measured() const {
    const auto all = records();
    return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](const auto& record) {
      return record.measurement() != nullptr;
    }));
  }
  // Tunes, and tries again what other programs on this machine disturbed, until so many trials
  // are measured; three times at most. What the first run gave.
  auto tune_undisturbed(std::vector<std::string> words, std::size_t least) const {
    const auto result = run_program(words, seconds(240), environment());
    words.emplace_back("--resume");
    for (int again = 0; again < 3 && result.status == 0 && measured() < least; ++again) {
      run_program(words, seconds(240), environment());  // 1 where all is disturbed again
    }
    return result;
  }
  // All measured trials of the session were right; so many were measured at least.
  void expect_right(const Session& session, std::size_t least) const {
    for (const auto& record : records()) {
      const wire::FailureT* failure = record.failure();
      EXPECT_TRUE(!failure || failure->error->code == ErrorCode::Disturbed)
          << failure->error->message << " " << record.configuration;
    }
    EXPECT_GE(measured(), least);
    ASSERT_EQ(session.summary["tasks"].size(), 1u);
  }
};

class OpenClKernelTest : public OwnKernelTest {
 protected:
  void SetUp() override {
    if (!test::why_no_opencl().empty()) GTEST_SKIP() << test::why_no_opencl();
  }
};

TEST_F(OpenClKernelTest, TheMatrixProductIsTunedResumedAndExplained) {
  const std::string file = example("matmul/matmul.cl");
  const auto first = run_program(tune_kernel(file, "local-opencl", {"--trials", "12"}),
                                 seconds(240), environment());
  ASSERT_EQ(first.status, 0) << first.err;
  const Session session = parse(first.out);
  EXPECT_EQ(session.trials.size(), 12u);
  expect_right(session, 8);
  EXPECT_EQ(session.summary["tasks"][0]["title"], "matmul 256x256x256");
  EXPECT_GT(session.summary["tasks"][0]["best_gflops"].get<double>(), 0);

  // A disturbed trial is tried again.
  const auto all = records();
  const auto disturbed = static_cast<std::size_t>(std::count_if(
      all.begin(), all.end(), [](const auto& record) { return record.failure() != nullptr; }));
  const auto again = run_program(tune_kernel(file, "local-opencl", {"--trials", "16", "--resume"}),
                                 seconds(240), environment());
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(parse(again.out).trials.size(), 4u + disturbed);

  const auto best = run_program({FETTLE_PROGRAM, "records", "best", "--db", db, "--json"});
  ASSERT_EQ(best.status, 0) << best.err;
  const auto id = records().front().id;
  const auto explained = run_program({FETTLE_PROGRAM, "explain", std::to_string(id), "--db", db});
  ASSERT_EQ(explained.status, 0) << explained.err;
  for (const char* part : {"source         matmul.cl\n", "#define BLOCK_M ", "--- launches\n"}) {
    EXPECT_NE(explained.out.find(part), std::string::npos) << explained.out;
  }
  const std::string page = folder.file("page.html"), lines = folder.file("export.jsonl");
  EXPECT_EQ(run_program({FETTLE_PROGRAM, "records", "plot", "--db", db, "-o", page}).status, 0);
  EXPECT_EQ(run_program({FETTLE_PROGRAM, "records", "export", "--db", db, "-o", lines}).status, 0);
  EXPECT_TRUE(std::filesystem::exists(lines));
}

// Two launches with scratch between them.
TEST_F(OpenClKernelTest, TheReductionIsRight) {
  const auto result = run_program(tune_kernel(example("reduction/reduction.cl"), "local-opencl",
                                              {"--trials", "8", "--searcher", "random"}),
                                  seconds(240), environment());
  ASSERT_EQ(result.status, 0) << result.err;
  expect_right(parse(result.out), 5);
}

// Random points of KTT's GEMM: threads that copy tiles stand otherwise than those that compute.
TEST_F(OpenClKernelTest, KttsMatrixProductIsRight) {
  const std::string file = FETTLE_TEST_DATA "/kernels/ktt_gemm.cl";
  const auto result =
      run_program(tune_kernel(file, "local-opencl", {"--trials", "10", "--searcher", "random"}),
                  seconds(240), environment());
  ASSERT_EQ(result.status, 0) << result.err;
  expect_right(parse(result.out), 6);
}

// What is expected is what another kernel of the same file computed on the device.
TEST_F(OpenClKernelTest, AKernelMayBeTheReference) {
  const KernelSample sample;
  std::string text = kSampleToml;
  const auto reference = text.find("file = \"twice_reference.c\"");
  text.replace(reference, std::string::npos,
               "file = \"twice.cl\"\nfunction = \"plainly\"\nblocks = [\"N / 256\"]\n"
               "threads = [64]\n");
  sample.write("twice.toml", text);
  const auto source = [&](const std::string& factor) {
    sample.write("twice.cl",
                 std::string(kSampleOpenCl) +
                     "__kernel void plainly(__global const float* from, __global float* "
                     "to, float factor) {\n  for (int i = 0; i < 4; ++i) {\n    const "
                     "int at = get_global_id(0) * 4 + i;\n    to[at] = " +
                     factor + " * from[at];\n  }\n}\n");
  };
  source("factor");
  const auto right =
      tune_undisturbed(tune_kernel(sample.file(), "local-opencl", {"--trials", "10"}), 4);
  ASSERT_EQ(right.status, 0) << right.err;
  expect_right(parse(right.out), 4);
  source("3");
  const auto wrong = run_program(tune_kernel(sample.file(), "local-opencl", {"--trials", "6"}),
                                 seconds(240), environment());
  EXPECT_EQ(wrong.status, 1);
  EXPECT_NE(wrong.err.find("every trial failed: Check WrongAnswer"), std::string::npos)
      << wrong.err;
  source("wrong");
  const auto broken = run_program(tune_kernel(sample.file(), "local-opencl", {"--trials", "6"}),
                                  seconds(240), environment());
  EXPECT_EQ(broken.status, 1);
  EXPECT_NE(broken.err.find("error: the reference twice.cl: clBuildProgram"), std::string::npos)
      << broken.err;
}

// Each configuration is the failure that it deserves, and the others are measured all the same.
TEST_F(OpenClKernelTest, AnEndlessAndAStrayKernelCostThemselvesOnly) {
  const KernelSample sample;
  sample.write("twice.cl", R"(
__kernel void twice(__global const float* from, __global volatile float* to, float factor) {
  const int first = get_global_id(0) * EACH;
#if EACH == 1
  while (to[first] != 12345.0f) to[first] = 1.0f;
#endif
  for (int i = 0; i < EACH; ++i) {
    to[first + i] = factor * from[first + i] + (EACH == 3 && first + i == 5);
  }
#if EACH == 2
  to[N] = 1.0f;
#endif
}
)");
  std::string text = kSampleToml;
  text.replace(text.find("  \"EACH != 3\",\n"), 15, "");
  text.replace(text.find("N = 1024"), 8, "N = 768");
  text.replace(text.find("THREADS = [16, 64]"), 18, "THREADS = [16]");
  sample.write("twice.toml", text);
  const auto result =
      run_program(tune_kernel(sample.file(), "local-opencl",
                              {"--trials", "10", "--searcher", "grid", "--timeout", "1"}),
                  seconds(240), environment());
  std::map<std::string, std::string> ended;
  for (const auto& record : records()) {
    const wire::FailureT* failure = record.failure();
    const auto each = nlohmann::json::parse(record.configuration)["knobs"]["EACH"][0];
    // Samples disturbed by a busy machine are no failure of the kernel.
    const bool fine = !failure || failure->error->code == ErrorCode::Disturbed;
    ended[each.dump()] = fine ? "measured" : name_of(failure->error->code);
  }
  const std::map<std::string, std::string> expected = {
      {"1", "RunTimeout"}, {"2", "StrayWrite"}, {"3", "WrongAnswer"}, {"4", "measured"}};
  EXPECT_EQ(ended, expected) << result.err;
}

TEST_F(OpenClKernelTest, OneThatNeverCompilesEndsSoonWithOneLine) {
  const KernelSample sample;
  sample.write("twice.cl", "\n__kernel void twice(__global float* to) { nothing; }\n");
  std::string text = kSampleToml;
  text.replace(text.find("THREADS = [16, 64]"), 18, "THREADS = [1, 2, 4, 8, 16, 32, 64]");
  text.replace(text.find("EACH = [1, 2, 3, 4]"), 19,
               "EACH = [1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]\nMORE = [1, 2, 3]");
  sample.write("twice.toml", text);
  const auto result =
      run_program({FETTLE_PROGRAM, "tune", sample.file(), "--device", "local-opencl", "--db", db},
                  seconds(240), environment());
  EXPECT_EQ(result.status, 1);
  // 315 configurations, of which it gave up after a hundred and those that were under way.
  EXPECT_NE(result.err.find("error: every trial failed: Load BuildError (10"), std::string::npos)
      << result.err;
  EXPECT_NE(result.err.find("twice.cl:2:"), std::string::npos) << result.err;
}

TEST_F(OwnKernelTest, AMistakeIsOneLine) {
  const KernelSample sample;
  sample.change("EACH = [1, 2, 3, 4]", "EACH = []");
  const auto result =
      run_program(tune_kernel(sample.file(), "local", {}), seconds(60), environment());
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, "fettle: error: " + sample.file("twice.toml") +
                            ":12: knob EACH has no values: it must be a list, as in [1, 2, 4]\n");
}

TEST_F(OwnKernelTest, TheStencilIsTunedForThisCpu) {
  const auto result =
      run_program(tune_kernel(example("stencil/stencil.c"), "local", {"--trials", "8"}),
                  seconds(240), environment());
  if (result.err.find("no clang here") != std::string::npos) GTEST_SKIP() << result.err;
  ASSERT_EQ(result.status, 0) << result.err;
  expect_right(parse(result.out), 6);
}

// Its crash is told; nothing else is lost.
TEST_F(OwnKernelTest, AReferenceThatCrashesIsOneLine) {
  for (const auto& entry : std::filesystem::directory_iterator(example("stencil"))) {
    std::filesystem::copy(entry.path(), folder.file(entry.path().filename().string()));
  }
  std::ofstream(folder.file("stencil_reference.c"))
      << "void stencil_plainly(const float* from, float* to) { *(volatile int*)0 = 1; }\n";
  const auto result = run_program(tune_kernel(folder.file("stencil.c"), "local", {"--trials", "4"}),
                                  seconds(120), environment());
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("the reference stencil_reference.c: it ended with signal SIGSEGV"),
            std::string::npos)
      << result.err;
}

}  // namespace
}  // namespace fettle::testing
