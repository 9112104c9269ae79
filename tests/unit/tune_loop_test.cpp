// The tuning loop with scripted neighbours: order, duplicates, early stop, failure
// policy, resume, interrupts.
#include <gtest/gtest.h>

#include <set>

#include "host/space/workload.h"
#include "tests/unit/tune_rig.h"

namespace fettle::tune {
namespace {

using namespace doubles;

TEST(TuneLoop, EveryTrialIsRecordedOnceAndTrialsAreSharedByTheTasks) {
  Rig rig(grid(4, 8), 3);
  rig.options.trials = 60;
  const TuneSummary summary = rig.run();
  EXPECT_EQ(summary.end, SessionEnd::Finished);
  EXPECT_EQ(rig.records.records.size(), 60u);
  EXPECT_EQ(rig.configurations().size(), 60u);
  EXPECT_EQ(rig.listener.trials, 60u);
  for (const auto& task : summary.progress.tasks) EXPECT_EQ(task.trials, 20u);
  double best = 1e9;
  for (const auto& record : rig.records.records) {
    if (record.workload == rig.workloads[1].canonical())
      best = std::min(best, *record.nanoseconds());
  }
  EXPECT_DOUBLE_EQ(summary.progress.tasks[1].best_nanoseconds.value(), best);
}

TEST(TuneLoop, TheSummarySaysWhereTheTimeWent) {
  Rig rig(grid(2, 4));
  rig.options.trials = 10;
  rig.builder = ScriptedBuilder([](const wire::BuildRequestT& request) {
    auto result = built_program(request, request.workload + request.configuration);
    result.build_ns = request.id * 1'000'000;  // 1 to 10 ms
    return result;
  });
  rig.runner = ScriptedRunner([](std::uint64_t, const wire::MeasureRequestT&) {
    auto outcome = measurement(1e6);
    outcome.times->load_ns = 100'000'000, outcome.times->warmup_ns = 200'000'000;
    outcome.times->run_ns = 400'000'000, outcome.times->check_ns = 50'000'000;
    outcome.times->upload_ns = 10'000'000;
    outcome.times->idle_before_ns = 30'000'000;
    outcome.times->total_ns = 1'000'000'000;
    return outcome;
  });
  const TimeSplit time = rig.run().time;
  EXPECT_EQ(time.builds(), 10u);
  EXPECT_NEAR(time.build_seconds(), 0.055, 1e-6);
  EXPECT_NEAR(time.build_ms(0.5), 5, 1e-3);
  EXPECT_NEAR(time.build_ms(0.9), 9, 1e-3);
  EXPECT_NEAR(time.upload_seconds(), 0.1, 1e-9);
  EXPECT_NEAR(time.device().load, 1, 1e-9);
  EXPECT_NEAR(time.device().warmup, 2, 1e-9);
  EXPECT_NEAR(time.device().run, 4, 1e-9);
  EXPECT_NEAR(time.device().check, 0.5, 1e-9);
  EXPECT_NEAR(time.device().other, 2.5, 1e-9);
  EXPECT_NEAR(time.device().idle, 0.27, 1e-9) << "the first wait was the session's start";
  EXPECT_EQ(TimeSplit().build_ms(0.5), 0);
}

TEST(TuneLoop, KeepsBuildersAndBoardsFedButNotFlooded) {
  Rig rig(grid(4, 8));
  rig.options.trials = 40;
  rig.run();
  EXPECT_EQ(rig.runner.most_at_once, rig.runner.capacity());
  EXPECT_GE(rig.builder.most_at_once, rig.builder.workers());
  EXPECT_LE(rig.builder.most_at_once, rig.builder.workers() + 2);
}

TEST(TuneLoop, RequestsCarryExpectedOutputThreadsAndTheBestTimeSoFar) {
  Rig rig(grid(4, 8));
  rig.options.trials = 20;
  rig.run();
  const auto& first = *rig.runner.requests.front();
  ASSERT_EQ(first.expected.size(), 1u);
  EXPECT_EQ(first.expected[0]->buffer, 1u);  // the program's output buffer
  EXPECT_EQ(first.options->threads, 3u);
  EXPECT_EQ(first.options->racing_bound_ns, 0);
  const double bound = rig.runner.requests.back()->options->racing_bound_ns;
  EXPECT_GE(bound, 1e6);
  EXPECT_LT(bound, 1e6 + 1000);
}

TEST(TuneLoop, IdenticalArtifactsAreMeasuredOnceAndMarkedReused) {
  Rig rig(grid(2, 8));
  rig.builder = ScriptedBuilder([&](const wire::BuildRequestT& request) {
    const auto configuration = rig.space.parse(request.configuration).value();
    return built_program(request, "artifact " + std::to_string(configuration.choice[0]));
  });
  rig.options.trials = 64;
  const TuneSummary summary = rig.run();
  EXPECT_EQ(rig.runner.requests.size(), 8u);
  ASSERT_EQ(rig.records.records.size(), 64u);
  std::map<std::string, double> measured;
  std::uint32_t reused = 0;
  for (const auto& record : rig.records.records) {
    ASSERT_TRUE(record.nanoseconds());
    const auto [place, fresh] = measured.emplace(record.program_hash, *record.nanoseconds());
    EXPECT_EQ(place->second, *record.nanoseconds());
    EXPECT_EQ(fresh, !record.reused) << "the measured trial is recorded before its twins";
    reused += record.reused;
  }
  EXPECT_EQ(reused, 56u);
  EXPECT_EQ(summary.progress.tasks[0].reused, 56u);
}

TEST(TuneLoop, ProgramsThatOtherSessionsMeasuredAreNotMeasuredAgain) {
  Rig other(grid(2, 4));
  other.options.trials = 16;
  other.run();
  Rig rig(grid(2, 4));
  rig.options.trials = 16;
  rig.tasks[0].measured = other.records.records;
  const TuneSummary summary = rig.run();
  EXPECT_TRUE(rig.runner.requests.empty());
  EXPECT_EQ(summary.progress.trials, 16u) << "each is a trial of this session all the same";
  EXPECT_EQ(summary.progress.resumed, 0u);
  ASSERT_EQ(rig.records.records.size(), 16u);
  for (const auto& record : rig.records.records) EXPECT_TRUE(record.reused);
}

// What racing stopped there may be fast enough here.
TEST(TuneLoop, TimesThatWereCutShortAreReusedOnlyAboveTheBest) {
  Rig other(grid(2, 4));
  other.options.trials = 16;
  other.run();
  const auto run_with = [&](double low) {
    Rig rig(grid(2, 4));
    rig.options.trials = 16;
    rig.tasks[0].measured = other.records.records;
    for (records::TuningRecord& record : rig.tasks[0].measured) {
      record.outcome.body.AsMeasurement()->censored = true;
      record.outcome.body.AsMeasurement()->interval_low = low;
    }
    rig.run();
    return rig.runner.requests.size();
  };
  EXPECT_EQ(run_with(5e5), 16u);  // the runner's times are 1e6 and more
  const std::size_t measured = run_with(2e6);
  EXPECT_GE(measured, 1u);  // nothing to compare with yet
  EXPECT_LE(measured, 8u);
}

TEST(TuneLoop, ALostBoardsOutcomeIsNotReused) {
  Rig rig(grid(1, 6));
  rig.builder = ScriptedBuilder(
      [](const wire::BuildRequestT& request) { return built_program(request, "one artifact"); });
  int sent = 0;
  rig.runner = ScriptedRunner([&](std::uint64_t, const wire::MeasureRequestT&) {
    return ++sent == 1 ? failure(wire::Stage::Dispatch, ErrorCode::DeviceLost) : measurement(5e5);
  });
  rig.options.trials = 6;
  const TuneSummary summary = rig.run();
  EXPECT_EQ(sent, 2);
  EXPECT_EQ(summary.progress.trials, 6u);
  EXPECT_EQ(summary.progress.failures.at("Dispatch DeviceLost"), 1u);
  EXPECT_EQ(summary.progress.tasks[0].failed, 1u);
}

// A full disk, or no compiler: no candidate's doing.
TEST(TuneLoop, BuildersThatCannotBuildEndTheSession) {
  for (const ErrorCode code : {ErrorCode::Io, ErrorCode::DiskFull, ErrorCode::NotFound}) {
    Rig rig(grid(2, 10));
    rig.builder = ScriptedBuilder(
        [&](const wire::BuildRequestT& request) { return build_failure(request, code); });
    rig.options.trials = 100;
    const TuneSummary summary = rig.run();
    EXPECT_EQ(summary.end, SessionEnd::Failed);
    ASSERT_TRUE(summary.error);
    EXPECT_NE(summary.error->message.find("no builder can build"), std::string::npos)
        << summary.error->message;
    EXPECT_LE(summary.progress.trials, 20u);
  }
}

// All boards are gone for good: the trials that are left are not spent on that.
TEST(TuneLoop, LostBoardsEndTheSession) {
  Rig rig(grid(2, 10));
  int sent = 0;
  rig.runner = ScriptedRunner([&](std::uint64_t trial, const wire::MeasureRequestT&) {
    rig.runner.there = ++sent <= 20 ? 1 : 0;
    return sent % 3 == 0 || sent > 20 ? failure(wire::Stage::Dispatch, ErrorCode::DeviceLost)
                                      : measurement(5e5 + static_cast<double>(trial));
  });
  rig.options.trials = 100;
  const TuneSummary summary = rig.run();
  EXPECT_EQ(summary.end, SessionEnd::Failed);
  ASSERT_TRUE(summary.error);
  EXPECT_EQ(summary.error->code, ErrorCode::DeviceLost);
  EXPECT_NE(summary.error->message.find("--resume"), std::string::npos);
  EXPECT_GE(summary.progress.trials, 28u);
  EXPECT_LE(summary.progress.trials, 40u);
  EXPECT_EQ(std::count_if(rig.listener.warnings.begin(), rig.listener.warnings.end(),
                          [](const std::string& text) {
                            return text.find("no board of 'double'") != std::string::npos;
                          }),
            1);
}

// A broker that was killed holds programs no more that build workers had brought it.
TEST(TuneLoop, AProgramThatTheBrokerLostIsBuiltAgain) {
  for (const bool twins : {false, true}) {
    Rig rig(grid(1, 6));
    if (twins) {
      rig.builder = ScriptedBuilder([](const wire::BuildRequestT& request) {
        return built_program(request, "one artifact");
      });
    }
    int sent = 0;
    rig.runner = ScriptedRunner([&](std::uint64_t, const wire::MeasureRequestT&) {
      return ++sent == 1 ? failure(wire::Stage::Dispatch, ErrorCode::MissingBlob)
                         : measurement(5e5);
    });
    rig.options.trials = 6;
    const TuneSummary summary = rig.run();
    EXPECT_EQ(summary.progress.trials, 6u);
    EXPECT_TRUE(summary.progress.failures.empty());
    EXPECT_EQ(rig.builder.requests.size(), 7u);
    EXPECT_EQ(rig.configurations().size(), 6u) << "each once";
    EXPECT_EQ(rig.records.records.size(), 6u);
    EXPECT_EQ(sent, twins ? 2 : 7);
  }
}

TEST(TuneLoop, AProgramThatIsLostEachTimeIsBuiltThriceAndThenATrialIs) {
  Rig rig(grid(1, 6));
  rig.runner = ScriptedRunner([&](std::uint64_t, const wire::MeasureRequestT&) {
    return failure(wire::Stage::Dispatch, ErrorCode::MissingBlob);
  });
  rig.options.trials = 4;
  const TuneSummary summary = rig.run();
  EXPECT_EQ(rig.builder.requests.size(), 12u);
  EXPECT_EQ(summary.progress.failures.at("Dispatch MissingBlob"), 4u);
  EXPECT_EQ(rig.records.records.size(), 4u);
}

TEST(TuneLoop, FailuresAreDataAndTheSessionGoesOn) {
  Rig rig(grid(4, 8));
  int count = 0;
  rig.builder = ScriptedBuilder([&](const wire::BuildRequestT& request) {
    return ++count % 3 == 0 ? build_failure(request, ErrorCode::CompilerCrash)
                            : built_program(request, request.configuration);
  });
  rig.options.trials = 30;
  const TuneSummary summary = rig.run();
  EXPECT_EQ(summary.end, SessionEnd::Finished);
  EXPECT_EQ(summary.progress.failures.at("Build CompilerCrash"), 10u);
  EXPECT_FALSE(summary.all_failed);
  EXPECT_TRUE(rig.listener.warnings.empty());
}

TEST(TuneLoop, AllTrialsFailingIsToldAtOnceWithItsCause) {
  Rig rig(grid(4, 8));
  rig.runner = ScriptedRunner([](std::uint64_t, const wire::MeasureRequestT&) {
    return failure(wire::Stage::Load, ErrorCode::LoadError);
  });
  std::uint32_t told_after = 0;
  rig.listener.on_trial = [&](const Progress& progress) {
    if (rig.listener.warnings.empty()) told_after = progress.trials;
  };
  rig.options.trials = 30;
  const TuneSummary summary = rig.run();
  ASSERT_EQ(rig.listener.warnings.size(), 1u);
  EXPECT_EQ(told_after, 8u);
  EXPECT_NE(rig.listener.warnings[0].find("Load LoadError"), std::string::npos);
  EXPECT_TRUE(summary.all_failed);
  EXPECT_NE(summary.main_cause.find("scripted"), std::string::npos);
}

TEST(TuneLoop, StopsATaskEarlyAndGivesItsTrialsToTheOthers) {
  Rig rig(grid(4, 8), 2);
  double next = 1e6;
  rig.runner = ScriptedRunner([&](std::uint64_t, const wire::MeasureRequestT& request) {
    const bool stuck = request.program->target == rig.workloads[0].canonical();
    return measurement(stuck ? 2e6 : next -= 10);
  });
  rig.options.trials = 200;
  rig.options.early_stopping = 10;
  const TuneSummary summary = rig.run();
  EXPECT_EQ(summary.progress.tasks[0].end, TaskEnd::StoppedEarly);
  EXPECT_LT(summary.progress.tasks[0].trials, 25u);  // the first, 10 more, and what was under way
  EXPECT_EQ(summary.progress.tasks[1].end, TaskEnd::None);
  EXPECT_EQ(summary.progress.trials, 200u);
}

// Keeps what it was told.
class Told final : public Searcher {
 public:
  explicit Told(std::unique_ptr<Searcher> inner) : inner_(std::move(inner)) {}
  std::vector<space::Configuration> propose(std::size_t n) override { return inner_->propose(n); }
  void observe(const Observation& observation) override {
    lost += observation.lost;
    failed += !observation.lost && !observation.nanoseconds;
    inner_->observe(observation);
  }
  int lost = 0, failed = 0;

 private:
  std::unique_ptr<Searcher> inner_;
};

TEST(TuneLoop, WhatTheEnvironmentSpoiledIsNoFailureOfTheSearch) {
  Rig rig(grid(4, 8));
  auto told = std::make_unique<Told>(std::move(rig.tasks[0].searcher));
  const Told& searcher = *told;
  rig.tasks[0].searcher = std::move(told);
  rig.runner = ScriptedRunner([](std::uint64_t trial, const wire::MeasureRequestT&) {
    if (trial == 1) return measurement(1e6);
    return trial % 10 == 0 ? failure(wire::Stage::Check, ErrorCode::WrongAnswer)
                           : failure(wire::Stage::Run, ErrorCode::Disturbed);
  });
  rig.options.trials = 50;
  rig.options.early_stopping = 20;
  const TuneSummary summary = rig.run();
  EXPECT_EQ(searcher.lost, 44);
  EXPECT_EQ(searcher.failed, 5);
  EXPECT_EQ(summary.progress.trials, 50u);
  EXPECT_EQ(summary.progress.tasks[0].end, TaskEnd::None) << "five trials without improvement";
}

TEST(TuneLoop, EndsWhenEverySpaceIsExhausted) {
  Rig rig(grid(2, 3), 2);
  rig.options.trials = 1000;
  const TuneSummary summary = rig.run();
  EXPECT_EQ(summary.end, SessionEnd::Finished);
  EXPECT_EQ(rig.configurations().size(), 18u);
  for (const auto& task : summary.progress.tasks) EXPECT_EQ(task.end, TaskEnd::Exhausted);
}

TEST(TuneLoop, ResumeRepeatsNothingAndCountsWhatIsThere) {
  Rig first(grid(2, 6));
  first.options.trials = 20;
  first.run();

  Rig second(grid(2, 6));
  second.tasks[0].history = first.records.records;
  second.options.trials = 36;
  const TuneSummary summary = second.run();
  EXPECT_EQ(summary.progress.resumed, 20u);
  EXPECT_EQ(second.records.records.size(), 16u);
  auto seen = first.configurations();
  seen.merge(second.configurations());
  EXPECT_EQ(seen.size(), 36u);
  EXPECT_GT(second.runner.requests.front()->options->racing_bound_ns, 0);
}

TEST(TuneLoop, ResumeRunsAgainWhatTheEnvironmentSpoiled) {
  Rig first(grid(1, 4));
  first.runner = ScriptedRunner([](std::uint64_t trial, const wire::MeasureRequestT&) {
    return trial == 1 ? failure(wire::Stage::Dispatch, ErrorCode::DeviceLost) : measurement(1e6);
  });
  first.options.trials = 4;
  first.run();
  Rig second(grid(1, 4));
  second.tasks[0].history = first.records.records;
  second.options.trials = 4;
  const TuneSummary summary = second.run();
  EXPECT_EQ(summary.progress.resumed, 3u);
  EXPECT_EQ(second.records.records.size(), 1u);
}

TEST(TuneLoop, AnEnvironmentErrorEndsTheSessionWithEverythingRecorded) {
  Rig rig(grid(4, 8));
  rig.runner.error_after = 10;
  rig.options.trials = 100;
  const TuneSummary summary = rig.run();
  EXPECT_EQ(summary.end, SessionEnd::Failed);
  ASSERT_TRUE(summary.error);
  EXPECT_EQ(summary.error->code, ErrorCode::Unreachable);
  EXPECT_EQ(rig.records.records.size(), rig.listener.trials);
  EXPECT_GE(rig.records.records.size(), 8u);
}

TEST(TuneLoop, AFullDiskEndsTheSessionAndSaysSo) {
  Rig rig(grid(4, 8));
  rig.records.full_after = 5;
  rig.options.trials = 100;
  const TuneSummary summary = rig.run();
  EXPECT_EQ(summary.end, SessionEnd::Failed);
  ASSERT_TRUE(summary.error);
  EXPECT_EQ(summary.error->code, ErrorCode::DiskFull);
  EXPECT_EQ(rig.listener.trials, 5u) << "nobody learns of a trial that is not stored";
}

TEST(TuneLoop, AnInterruptStopsProposingAndKeepsWhatIsOnTheBoards) {
  Rig rig(grid(4, 8));
  rig.options.trials = 1000;
  rig.listener.on_trial = [&](const Progress& progress) { rig.stop.set = progress.trials >= 10; };
  const TuneSummary summary = rig.run();
  EXPECT_EQ(summary.end, SessionEnd::Interrupted);
  EXPECT_TRUE(rig.runner.canceled);
  EXPECT_EQ(rig.runner.requests.size(), rig.records.records.size());
  EXPECT_LT(rig.records.records.size(), 20u);
}

}  // namespace
}  // namespace fettle::tune
