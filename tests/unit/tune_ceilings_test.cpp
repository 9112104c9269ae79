// The tuning loop and its boards' rooflines: results that cannot be true, calibrations that
// are wrong or fail, several boards.
#include <gtest/gtest.h>

#include "host/tune/calibrate.h"
#include "tests/unit/tune_rig.h"

namespace fettle::tune {
namespace {

using namespace doubles;

TEST(TuneLoop, AResultAboveTheRooflineIsAFailure) {
  Rig rig(grid(4, 8));
  rig.roofline.operations_per_second = 2e9;  // 1e6 operations need 5e5 ns
  rig.runner = ScriptedRunner([](std::uint64_t trial, const wire::MeasureRequestT&) {
    return measurement(trial % 2 ? 1e5 : 6e5);
  });
  rig.options.trials = 20;
  const TuneSummary summary = rig.run();
  EXPECT_EQ(summary.progress.failures.at("Accept Implausible"), 10u);
  EXPECT_EQ(summary.progress.tasks[0].best_nanoseconds, 6e5);
}

TEST(Roofline, IntegersHaveTheirOwnCeiling) {
  Roofline roofline = roofline_of({{"arithmetic_gflops_core", 1}, {"integer_gops_core", 8}}, 1);
  EXPECT_DOUBLE_EQ(roofline.integer_operations_per_second, 8e9);
  wire::ProgramFactsT facts;
  facts.operations = 1e6, facts.integer_operations = 16e6;
  EXPECT_DOUBLE_EQ(roofline.least_seconds(facts), 2e-3);
  const wire::OutcomeT fast = measurement(1e6), slow = measurement(2.1e6);
  const auto judged = implausible(roofline, facts, *fast.body.AsMeasurement());
  ASSERT_TRUE(judged);
  EXPECT_NE(judged->error->message.find("1.6e+07 of integers"), std::string::npos)
      << judged->error->message;
  EXPECT_FALSE(implausible(roofline, facts, *slow.body.AsMeasurement()));
  roofline.integer_operations_per_second = 0;  // not known: not judged
  EXPECT_FALSE(implausible(roofline, facts, *fast.body.AsMeasurement()));
}

TEST(TuneLoop, AWrongCalibrationIsMeasuredAgainBeforeAResultIsCalledImplausible) {
  Rig rig(grid(4, 8));
  rig.roofline.operations_per_second = 2e9;  // 1e6 operations need 5e5 ns, says the calibration
  rig.runner =
      ScriptedRunner([](std::uint64_t, const wire::MeasureRequestT&) { return measurement(4e5); });
  int asked = 0;
  rig.ceilings = [&](const std::string& board, bool again,
                     std::vector<Measured>& others) -> Result<Roofline> {
    EXPECT_TRUE(others.empty());
    EXPECT_EQ(board, "board-1");
    EXPECT_TRUE(again);
    ++asked;
    return Roofline{3e9, 0, 0};
  };
  rig.options.trials = 20;
  const TuneSummary summary = rig.run();
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(summary.progress.failures.empty());
  EXPECT_EQ(summary.progress.trials, 20u);
  EXPECT_DOUBLE_EQ(summary.progress.peak_gflops, 3);
}

TEST(TuneLoop, ACalibrationThatStandsIsNotMeasuredForEver) {
  Rig rig(grid(4, 8));
  rig.roofline.operations_per_second = 2e9;
  rig.runner =
      ScriptedRunner([](std::uint64_t, const wire::MeasureRequestT&) { return measurement(1e5); });
  int asked = 0;
  rig.ceilings = [&](const std::string&, bool, std::vector<Measured>&) -> Result<Roofline> {
    ++asked;
    return Roofline{2e9, 0, 0};
  };
  rig.options.trials = 20;
  const TuneSummary summary = rig.run();
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(summary.progress.failures.at("Accept Implausible"), 20u);
}

TEST(TuneLoop, WhatCameDuringACalibrationThatFailedIsRecorded) {
  Rig rig(grid(4, 8));
  rig.roofline.operations_per_second = 2e9;  // 1e6 operations need 5e5 ns
  rig.runner = ScriptedRunner([](std::uint64_t trial, const wire::MeasureRequestT&) {
    return measurement(trial == 6 ? 1e5 : 6e5);
  });
  rig.ceilings = [&](const std::string&, bool, std::vector<Measured>& others) -> Result<Roofline> {
    for (int i = 0; i < 100 && others.empty(); ++i) others = rig.runner.poll({}).value();
    EXPECT_EQ(others.size(), 1u);
    return Error{ErrorCode::Unreachable, "the broker is gone", {}};
  };
  rig.options.trials = 40;
  rig.options.stop_grace = std::chrono::seconds(60);
  const auto from = std::chrono::steady_clock::now();
  const TuneSummary summary = rig.run();
  EXPECT_LT(std::chrono::steady_clock::now() - from, std::chrono::seconds(30))
      << "nothing is on the boards any more";
  EXPECT_EQ(summary.end, SessionEnd::Failed);
  EXPECT_EQ(summary.error->code, ErrorCode::Unreachable);
  // All but the one in doubt, which the next session tries again.
  EXPECT_EQ(rig.records.records.size(), rig.runner.requests.size() - 1);
  EXPECT_TRUE(summary.progress.failures.empty());
}

TEST(TuneLoop, EveryBoardIsHeldToItsOwnCeilings) {
  Rig rig(grid(4, 8));
  rig.roofline.operations_per_second = 2e9;  // board-1: 1e6 operations need 5e5 ns
  rig.runner = ScriptedRunner([](std::uint64_t trial, const wire::MeasureRequestT&) {
    auto outcome = measurement(trial % 2 ? 6e5 : trial == 10 ? 1e4 : 2e5);
    outcome.board_id = trial % 2 ? "board-1" : "board-2";
    return outcome;
  });
  std::vector<std::pair<std::string, bool>> asked;
  rig.ceilings = [&](const std::string& board, bool again,
                     std::vector<Measured>&) -> Result<Roofline> {
    asked.emplace_back(board, again);
    return Roofline{8e9, 0, 0};
  };
  rig.options.trials = 20;
  const TuneSummary summary = rig.run();
  // Its first result, then, twice, the one above its roofline.
  using Asked = std::vector<std::pair<std::string, bool>>;
  EXPECT_EQ(asked, (Asked{{"board-2", false}, {"board-2", true}, {"board-2", true}}));
  EXPECT_EQ(summary.progress.trials, 20u);
  EXPECT_EQ(summary.progress.failures.at("Accept Implausible"), 1u);
  EXPECT_DOUBLE_EQ(summary.progress.peak_gflops, 8);
  for (const auto& record : rig.records.records) {
    EXPECT_DOUBLE_EQ(record.peak_gflops, record.board_id == "board-2" ? 8 : 2);
  }
}

// Takes turns, and keeps what it was told of the first task.
class Spy final : public TaskScheduler {
 public:
  std::optional<std::size_t> next(std::span<const TaskState> tasks) override {
    told.push_back(tasks[0].least_nanoseconds);
    return turns_->next(tasks);
  }
  std::vector<double> told;

 private:
  std::unique_ptr<TaskScheduler> turns_ = make_round_robin();
};

TEST(TuneLoop, TheSchedulerLearnsTheLeastTimeThatTheRooflineLeavesATask) {
  Rig rig(grid(4, 8));
  rig.roofline.operations_per_second = 2e9;
  rig.builder = ScriptedBuilder([](const wire::BuildRequestT& request) {
    auto result = built_program(request, request.configuration);
    // Two algorithms: the later programs have but half of the operations. Fewer than 16 are
    // under way at once, so that the scheduler sees both.
    result.body.AsBuildOutput()->facts->operations = request.id > 16 ? 5e5 : 1e6;
    return result;
  });
  rig.options.trials = 32;
  ExpectedOutputs expected(rig.workloads, expected_of);
  Spy scheduler;
  tune(rig.tasks, rig.target, rig.options,
       {rig.builder,
        rig.runner,
        rig.records,
        expected,
        scheduler,
        rig.stop,
        rig.listener,
        rig.roofline,
        {}});
  EXPECT_EQ(scheduler.told.front(), 0);
  EXPECT_TRUE(std::count(scheduler.told.begin(), scheduler.told.end(), 5e5));
  EXPECT_DOUBLE_EQ(scheduler.told.back(), 2.5e5);
}

}  // namespace
}  // namespace fettle::tune
