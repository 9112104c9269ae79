// `fettle-bench pipeline --baseline` with scripts for programs: what is asked of them, and what
// the gate says.
#include "tests/bench/versions/pipeline_turns.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/bench/versions/work_folder.h"

namespace fettle::bench {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class PipelineTurns : public ::testing::Test {
 protected:
  // `overall`: of the busy share with the waiting for builders; `running`: inside timed kernels.
  void make_side(const std::string& name, double overhead, double busy, double overall = 0.98,
                 double running = 0.95) {
    const fs::path side = folder_->path() / name;
    fs::create_directories(side);
    const Json told = {{"overhead_ms_median", overhead}, {"busy_share", busy},
                       {"busy_share_overall", overall},  {"running_share", running},
                       {"build_ms_median", 20},          {"trials_per_hour", 30000}};
    write(side / "fettle", "");
    write(side / "fettle-agent", "");
    write(side / "fettle-bench",
          "echo \"$* agent=$(basename \"$(dirname \"$FETTLE_AGENT\")\")\" >>\"$(dirname "
          "\"$0\")/calls\"\n"
          "echo '{\"trial\":1}'\necho '" +
              told.dump() + "'\n");
  }
  void write(const fs::path& path, const std::string& text) {
    std::ofstream(path) << "#!/bin/sh\n" << text;
    fs::permissions(path, fs::perms::owner_all);
  }
  std::vector<std::string> calls(const std::string& side) const {
    std::ifstream file(folder_->path() / side / "calls");
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
  Result<void> run() {
    PipelineTurnsOptions options;
    options.baseline = folder_->path() / "old";
    options.candidate = folder_->path() / "new";
    options.turns = 2;
    options.pipeline.gate = true;
    options.pipeline.json = true;
    options.pipeline.kernel_ms = 1.5;
    options.pipeline.trials = 30;
    ::testing::internal::CaptureStdout();
    auto done = run_pipeline_turns(options);
    told_ = Json::parse(::testing::internal::GetCapturedStdout(), nullptr, false);
    return done;
  }

  Result<WorkFolder> folder_ = WorkFolder::open("");
  Json told_;
};

TEST_F(PipelineTurns, EachBuildRunsWithItsOwnAgentAndTheSameSeeds) {
  make_side("old", 1.0, 0.99);
  make_side("new", 1.05, 0.99);
  const auto done = run();
  ASSERT_TRUE(done) << done.error().text();
  for (const std::string side : {"old", "new"}) {
    EXPECT_EQ(calls(side),
              (std::vector<std::string>{
                  "pipeline --json --kernel-ms 1.5 --trials 30 --seed 1 agent=" + side,
                  "pipeline --json --kernel-ms 1.5 --trials 30 --seed 2 agent=" + side}));
  }
  EXPECT_DOUBLE_EQ(told_["overhead_ms"]["times"].get<double>(), 1.05);
  EXPECT_DOUBLE_EQ(told_["busy_share"]["times"].get<double>(), 1);
}

TEST_F(PipelineTurns, ACostlierTrialFailsTheGate) {
  make_side("old", 1.0, 0.99);
  make_side("new", 1.2, 0.99);
  const auto done = run();
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().text().find("1.200 times"), std::string::npos) << done.error().text();
}

TEST_F(PipelineTurns, ADeviceThatWaitsMoreFailsTheGate) {
  make_side("old", 1.0, 0.99);
  make_side("new", 1.0, 0.8);
  EXPECT_FALSE(run());
}

TEST_F(PipelineTurns, ADeviceThatWaitsForBuildersFailsTheGate) {
  make_side("old", 1.0, 0.99);
  make_side("new", 1.0, 0.99, 0.8);
  const auto done = run();
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().text().find("busy share over all is 0.816 times"), std::string::npos)
      << done.error().text();
}

TEST_F(PipelineTurns, ADeviceThatIsSeldomInsideKernelsFailsTheGate) {
  make_side("old", 1.0, 0.99, 0.98, 0.85);
  make_side("new", 1.0, 0.99, 0.98, 0.89);
  const auto done = run();
  ASSERT_FALSE(done) << "better than the baseline is not enough";
  EXPECT_NE(done.error().text().find("0.8900 of all time, 0.90 is wanted"), std::string::npos)
      << done.error().text();
  EXPECT_DOUBLE_EQ(told_["running_share"]["candidate"].get<double>(), 0.89);
}

TEST_F(PipelineTurns, AProgramWithoutTheFiguresIsNamed) {
  make_side("old", 1.0, 0.99);
  make_side("new", 1.0, 0.99);
  write(folder_->path() / "new" / "fettle-bench", "echo '{\"summary\":true}'\n");
  const auto done = run();
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().text().find("candidate"), std::string::npos) << done.error().text();
}

}  // namespace
}  // namespace fettle::bench
