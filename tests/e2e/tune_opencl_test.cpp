// `fettle tune --device local-opencl`: builders, broker, agent and the GPUs' worker program, on
// whatever OpenCL device this machine has (PoCL is one).
#include <filesystem>

#include "tests/e2e/tune_support.h"
#include "tests/support/opencl_candidates.h"

namespace fettle::testing {
namespace {

using std::chrono::seconds;

class TuneOpenCl : public TuneTest {
 protected:
  void SetUp() override {
    if (const std::string why = test::why_no_opencl(); !why.empty()) GTEST_SKIP() << why;
  }
};

TEST_F(TuneOpenCl, EveryTaskHasARightRecord) {
  auto surroundings = environment();
  surroundings["XDG_CACHE_HOME"] = folder.file("kernels");  // workers have their folders there
  const auto result =
      run_program(tune({"--device", "local-opencl", "--trials", "16", "--seed", "1"}), seconds(240),
                  surroundings);
  ASSERT_EQ(result.status, 0) << result.err;
  const Session session = parse(result.out);
  EXPECT_EQ(session.trials.size(), 16u);
  ASSERT_TRUE(session.summary.is_object());
  EXPECT_GT(session.summary["peak_gflops"].get<double>(), 0.1);
  for (const auto& task : session.summary["tasks"]) {
    EXPECT_GT(task["best_gflops"].get<double>(), 0) << task;
  }
  expect_sound_database(16);
  int kept = 0;
  std::error_code none;
  for (const auto& file :
       std::filesystem::recursive_directory_iterator(folder.file("kernels"), none)) {
    kept += file.path().extension() == ".so";
  }
  EXPECT_EQ(kept, 0) << "candidates stay on disk";
  const auto explained =
      run_program({FETTLE_PROGRAM, "explain", std::to_string(records().front().id), "--db", db});
  ASSERT_EQ(explained.status, 0) << explained.err;
  EXPECT_NE(explained.out.find("--- OpenCL C"), std::string::npos);
  EXPECT_NE(explained.out.find("__kernel"), std::string::npos);
}

TEST_F(TuneOpenCl, ACorrectionReachesTheKernels) {
  const auto result = run_program(
      tune({"--device", "local-opencl", "--trials", "4", "--hardware", "vector_width=4"}),
      seconds(240), environment());
  ASSERT_EQ(result.status, 0) << result.err;
  for (const auto& record : records()) {
    const bool fours = record.configuration.find("\"lanes\":[4]") != std::string::npos,
               pairs = record.configuration.find("\"lanes\":[2]") != std::string::npos;
    EXPECT_TRUE(fours || pairs) << record.configuration;
  }
}

}  // namespace
}  // namespace fettle::testing
