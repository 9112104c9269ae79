// The tuning loop where searchers or expected outputs are ready late, or never.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/unit/tune_rig.h"

namespace fettle::tune {
namespace {

using namespace doubles;

TEST(ExpectedOutputs, AreNotWaitedForByTheirEnd) {
  std::atomic<bool> stopped{false};
  std::atomic<bool> begun{false};
  {
    ExpectedOutputs expected(
        {workload()}, [&](const space::Workload&, const std::stop_token& stop) -> Result<Expected> {
          begun = true;
          for (int i = 0; i < 2000 && !stopped; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            stopped = stop.stop_requested();
          }
          return Error{ErrorCode::Canceled, "stopped", {}};
        });
    while (!begun) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(stopped);
}

// Never ready: what it is asked for has to be waited for.
class Slow final : public Searcher {
 public:
  explicit Slow(std::unique_ptr<Searcher> inner) : inner_(std::move(inner)) {}
  std::vector<space::Configuration> propose(std::size_t n) override { return inner_->propose(n); }
  void observe(const Observation& observation) override { inner_->observe(observation); }
  bool ready() override { return false; }

 private:
  std::unique_ptr<Searcher> inner_;
};

TEST(TuneLoop, ASearcherIsWaitedForOnlyWhenNothingElseIsUnderWay) {
  Rig rig(grid(4, 8));
  rig.tasks[0].searcher = std::make_unique<Slow>(std::move(rig.tasks[0].searcher));
  rig.options.trials = 12;
  const TuneSummary summary = rig.run();
  EXPECT_EQ(summary.progress.trials, 12u);
  EXPECT_EQ(rig.runner.most_at_once, 1u);
  EXPECT_EQ(rig.builder.most_at_once, 1u);
}

// Ready once it was asked often enough, as if its first plan were the last to be made.
class Late final : public Searcher {
 public:
  explicit Late(std::unique_ptr<Searcher> inner) : inner_(std::move(inner)) {}
  std::vector<space::Configuration> propose(std::size_t n) override { return inner_->propose(n); }
  void observe(const Observation& observation) override { inner_->observe(observation); }
  bool ready() override { return ++asked_ > 200; }

 private:
  std::unique_ptr<Searcher> inner_;
  int asked_ = 0;
};

TEST(TuneLoop, ATaskWhoseSearcherIsReadyLateStillGetsTrials) {
  Rig rig(grid(8, 8), 3);
  rig.tasks[2].searcher = std::make_unique<Late>(std::move(rig.tasks[2].searcher));
  rig.options.trials = 30;
  ExpectedOutputs expected(rig.workloads, expected_of);
  auto scheduler = make_gradient(1);
  const TuneSummary summary = tune(
      rig.tasks, rig.target, rig.options,
      {rig.builder, rig.runner, rig.records, expected, *scheduler, rig.stop, rig.listener, {}, {}});
  EXPECT_EQ(summary.progress.trials, 30u);
  for (const auto& task : summary.progress.tasks) EXPECT_GE(task.trials, 10u) << task.title;
}

TEST(TuneLoop, ATaskWhoseExpectedOutputComesLateKeepsItsShareOfTheTrials) {
  Rig rig(grid(4, 8), 2);
  rig.options.trials = 40;
  std::atomic<int> measured{0};
  rig.runner = ScriptedRunner([&](std::uint64_t, const wire::MeasureRequestT&) {
    ++measured;
    return measurement(1e6);
  });
  // The second task's comes when the first has stood still for a while.
  ExpectedOutputs expected(
      rig.workloads, [&](const space::Workload& workload, const std::stop_token& stop) {
        int before = 0;
        for (int still = 0; workload.canonical() == rig.workloads[1].canonical() && still < 20;) {
          std::this_thread::sleep_for(std::chrono::milliseconds(10));
          const int now = measured;
          still = now > 0 && now == before ? still + 1 : 0;
          before = now;
        }
        return expected_of(workload, stop);
      });
  auto scheduler = make_round_robin();
  const TuneSummary summary = tune(
      rig.tasks, rig.target, rig.options,
      {rig.builder, rig.runner, rig.records, expected, *scheduler, rig.stop, rig.listener, {}, {}});
  EXPECT_EQ(summary.end, SessionEnd::Finished);
  for (const auto& task : summary.progress.tasks) EXPECT_EQ(task.trials, 20u);
}

TEST(TuneLoop, AnExpectedOutputThatCannotBeComputedEndsTheSession) {
  Rig rig(grid(4, 8));
  rig.options.trials = 10;
  ExpectedOutputs expected(rig.workloads,
                           [](const space::Workload&, const std::stop_token&) -> Result<Expected> {
                             return Error{ErrorCode::OutOfMemory, "no memory", {}};
                           });
  auto scheduler = make_round_robin();
  const TuneSummary summary = tune(
      rig.tasks, rig.target, rig.options,
      {rig.builder, rig.runner, rig.records, expected, *scheduler, rig.stop, rig.listener, {}, {}});
  EXPECT_EQ(summary.end, SessionEnd::Failed);
  EXPECT_EQ(summary.error->code, ErrorCode::OutOfMemory);
}

}  // namespace
}  // namespace fettle::tune
