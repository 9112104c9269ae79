// Finals: the fastest programs measured again by turns, with scripted neighbours.
#include "host/tune/finals.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>

#include "tests/unit/tune_rig.h"

namespace fettle::tune {
namespace {

using namespace doubles;

// Programs of 1.00 ms and up, by their configuration's number. Number 5 was measured well by luck
// once; in the finals the board is a tenth slower.
constexpr double kBase = 1e6, kStep = 1e3, kLucky = 0.95e6, kSlower = 1.1;
constexpr std::uint32_t kTrials = 128;

int number_of(const std::string& configuration) {
  const auto knobs = nlohmann::json::parse(configuration)["knobs"];
  int number = 0;
  for (const auto& [name, option] : knobs.items()) number = 16 * number + option[0].get<int>();
  return number;
}

struct FinalsRig : Rig {
  explicit FinalsRig(int task_count = 1) : Rig(grid(2, 16), task_count) {
    options.trials = kTrials * static_cast<std::uint32_t>(task_count);
    options.finalists = 4;
    builder = ScriptedBuilder([this](const wire::BuildRequestT& request) {
      auto result = built_program(request, request.workload + request.configuration);
      auto& program = *result.body.AsBuildOutput()->program;
      program.target = request.configuration;  // so that the runner's script can tell them apart
      return result;
    });
    runner = ScriptedRunner([this](std::uint64_t trial, const wire::MeasureRequestT& request) {
      const int number = number_of(request.program->target);
      if (trial < (std::uint64_t{1} << 63)) {
        return measurement(number == 5 ? kLucky : kBase + kStep * number);
      }
      finals.push_back(number);
      EXPECT_EQ(request.options->racing_bound_ns, 0) << "all of them are to be measured whole";
      if (on_final) return on_final(number);
      return measurement(kSlower * (kBase + kStep * number));
    });
  }
  // By number, of the task's finals.
  std::map<int, double> confirmed(std::size_t place = 0) const {
    std::map<int, double> times;
    for (const auto& one : records.confirmed.at(place)) {
      EXPECT_EQ(one.session, "session");
      EXPECT_EQ(one.target, target.canonical());
      times[number_of(one.configuration)] = one.nanoseconds;
    }
    return times;
  }
  std::vector<int> finals;  // in their order
  std::function<wire::OutcomeT(int)> on_final;
};

TEST(TuneFinals, TheLuckyOneIsFoundOut) {
  FinalsRig rig;
  rig.options.trials = 256;  // all that there are
  const TuneSummary summary = rig.run();
  EXPECT_EQ(summary.end, SessionEnd::Finished);
  EXPECT_EQ(rig.records.records.size(), 256u) << "finals are no trials";
  EXPECT_EQ(summary.progress.trials, 256u);
  EXPECT_EQ(rig.finals, (std::vector<int>{5, 0, 1, 2, 2, 1, 0, 5, 5, 0, 1, 2}));
  EXPECT_EQ(summary.progress.finals, rig.finals.size());
  EXPECT_EQ(summary.progress.finals_wanted, rig.finals.size());
  // At the speed of the trials, although all of it was slower.
  const auto times = rig.confirmed();
  ASSERT_EQ(times.size(), 4u);
  for (const int number : {0, 1, 2, 5}) {
    EXPECT_NEAR(times.at(number), kBase + kStep * number, 1) << number;
  }
  EXPECT_NEAR(*summary.progress.tasks[0].best_nanoseconds, kBase, 1);
}

TEST(TuneFinals, ThereAreNoneUnlessAskedForAndWorthIt) {
  EXPECT_EQ(finalist_count(63, 6), 0u);
  EXPECT_EQ(finalist_count(64, 6), 2u);
  EXPECT_EQ(finalist_count(1000, 6), 6u);
  EXPECT_EQ(finalist_count(1000, 1), 0u) << "one alone has nothing to compare with";
  for (const std::size_t finalists : {0u, 4u}) {
    FinalsRig rig;
    rig.options.finalists = finalists;
    rig.options.trials = finalists ? 40 : kTrials;
    EXPECT_EQ(rig.run().end, SessionEnd::Finished);
    EXPECT_TRUE(rig.finals.empty());
    EXPECT_TRUE(rig.records.confirmed.empty());
  }
}

TEST(TuneFinals, EachTaskHasItsOwn) {
  FinalsRig rig(2);
  EXPECT_EQ(rig.run().end, SessionEnd::Finished);
  ASSERT_EQ(rig.records.confirmed.size(), 2u);
  for (std::size_t task = 0; task < 2; ++task) {
    for (const auto& one : rig.records.confirmed[task]) {
      EXPECT_EQ(one.workload, rig.workloads[task].canonical());
    }
  }
}

TEST(TuneFinals, WhatFailsLeavesTheTrialsWord) {
  FinalsRig rig;
  rig.on_final = [](int) { return failure(wire::Stage::Check, ErrorCode::WrongAnswer); };
  const TuneSummary summary = rig.run();
  EXPECT_EQ(summary.end, SessionEnd::Finished);
  EXPECT_TRUE(rig.records.confirmed.empty());
  ASSERT_EQ(rig.listener.warnings.size(), 1u);
  EXPECT_NE(rig.listener.warnings[0].find("were not measured again"), std::string::npos);
}

TEST(TuneFinals, AFullDiskEndsTheSessionAndSaysSo) {
  FinalsRig rig;
  rig.records.full_after = kTrials;  // room for the trials, and no more
  const TuneSummary summary = rig.run();
  EXPECT_EQ(summary.end, SessionEnd::Failed);
  ASSERT_TRUE(summary.error);
  EXPECT_EQ(summary.error->code, ErrorCode::DiskFull);
  EXPECT_NE(summary.error->text().find("finals"), std::string::npos) << summary.error->text();
  EXPECT_EQ(rig.records.records.size(), kTrials);
}

TEST(TuneFinals, ALostBoardEndsThemForAllTasks) {
  FinalsRig rig(3);
  rig.on_final = [](int) { return failure(wire::Stage::Dispatch, ErrorCode::DeviceLost); };
  EXPECT_EQ(rig.run().end, SessionEnd::Finished);
  EXPECT_EQ(rig.finals.size(), 1u) << "each would be waited for";
  EXPECT_EQ(rig.listener.warnings.size(), 1u);
  EXPECT_TRUE(rig.records.confirmed.empty());
}

TEST(TuneFinals, AnInterruptKeepsTheTasksThatWereDone) {
  FinalsRig rig(2);
  rig.on_final = [&](int number) {
    rig.stop.set = rig.finals.size() > 14;  // twelve are of the first task
    return measurement(kBase + kStep * number);
  };
  const TuneSummary summary = rig.run();
  EXPECT_EQ(summary.end, SessionEnd::Interrupted);
  EXPECT_EQ(rig.records.confirmed.size(), 1u);
  EXPECT_EQ(rig.records.records.size(), 2 * kTrials);
}

TEST(TuneFinals, AResumedTaskIsNotConfirmedTwice) {
  FinalsRig first;
  first.run();
  FinalsRig again;
  for (auto& record : first.records.records) {
    for (const auto& one : first.records.confirmed.at(0)) {
      if (one.configuration == record.configuration) record.confirmed_nanoseconds = one.nanoseconds;
    }
    again.tasks[0].history.push_back(std::move(record));
  }
  const TuneSummary summary = again.run();
  EXPECT_EQ(summary.end, SessionEnd::Finished);
  EXPECT_TRUE(again.finals.empty());
  EXPECT_EQ(
      summary.progress.tasks[0].best_nanoseconds,
      std::min_element(first.records.confirmed[0].begin(), first.records.confirmed[0].end(),
                       [](const auto& a, const auto& b) { return a.nanoseconds < b.nanoseconds; })
          ->nanoseconds);
}

// The finals found them slower than others that they passed over, which took their places.
TEST(TuneFinals, WhatTheyPassedOverIsNoReasonToHoldThemAgain) {
  FinalsRig first;
  first.run();
  ASSERT_FALSE(first.finals.empty());
  FinalsRig again;
  again.tasks[0].history = first.records.records;
  std::size_t slower = 0;
  for (records::TuningRecord& record : again.tasks[0].history) {
    for (const auto& one : first.records.confirmed[0]) {
      if (one.program_hash != record.program_hash) continue;
      record.confirmed_nanoseconds = 2 * kBase;
      ++slower;
    }
  }
  ASSERT_GE(slower, 4u);
  EXPECT_EQ(again.run().end, SessionEnd::Finished);
  EXPECT_TRUE(again.finals.empty());
}

// As after an interrupt while they were held: no trial is left.
TEST(TuneFinals, AResumedTaskMakesUpForItsFinals) {
  FinalsRig first;
  first.options.finalists = 0;
  first.run();
  ASSERT_TRUE(first.finals.empty());
  FinalsRig again;
  again.tasks[0].history = first.records.records;
  const TuneSummary summary = again.run();
  EXPECT_EQ(summary.end, SessionEnd::Finished);
  EXPECT_TRUE(again.records.records.empty());
  EXPECT_EQ(again.finals.size(), summary.progress.finals_wanted);
  EXPECT_EQ(again.records.confirmed.size(), 1u);
}

// Of a resumed task whose last trial does not build nothing had to wait for the right answers yet.
TEST(TuneFinals, WaitForTheRightAnswers) {
  FinalsRig first;
  first.options.finalists = 0;
  first.run();
  for (const bool interrupted : {false, true}) {
    FinalsRig rig;
    rig.options.finalists = 4;
    for (std::size_t i = 1; i < kTrials; ++i) {
      rig.tasks[0].history.push_back(first.records.records[i]);
    }
    rig.builder = ScriptedBuilder([](const wire::BuildRequestT& request) {
      if (request.id < (std::uint64_t{1} << 63)) {
        return build_failure(request, ErrorCode::BuildError);
      }
      auto result = built_program(request, request.workload + request.configuration);
      result.body.AsBuildOutput()->program->target = request.configuration;
      return result;
    });
    std::atomic<bool> computed = false;
    rig.expect = [&](const space::Workload& workload, const std::stop_token& stop) {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      if (interrupted) rig.stop.set = true;
      computed = true;
      return expected_of(workload, stop);
    };
    rig.on_final = [&](int number) {
      EXPECT_TRUE(computed);
      return measurement(kBase + kStep * number);
    };
    const TuneSummary summary = rig.run();
    EXPECT_EQ(summary.end, interrupted ? SessionEnd::Interrupted : SessionEnd::Finished);
    EXPECT_EQ(rig.finals.empty(), interrupted);
    EXPECT_EQ(rig.records.confirmed.size(), interrupted ? 0u : 1u);
  }
}

}  // namespace
}  // namespace fettle::tune
