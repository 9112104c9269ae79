// The benchmark's own arithmetic and its reader of ELF files.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "host/backend/backend.h"
#include "host/cost/prior.h"
#include "host/cost/time_model.h"
#include "host/replay/recording.h"
#include "host/space/cpu_target.h"
#include "host/space/workload.h"
#include "schemas/wire/codec.h"
#include "tests/bench/conditions_compared.h"
#include "tests/bench/elf_facts.h"
#include "tests/bench/pipeline_bench.h"
#include "tests/bench/process_memory.h"
#include "tests/bench/rank_correlation.h"
#include "tests/bench/repeat_bench.h"
#include "tests/bench/search_bench.h"
#include "tests/bench/trial_times.h"
#include "tests/bench/tuned_threads.h"
#include "tests/unit/records_sample.h"

namespace fettle::bench {
namespace {

using std::chrono::milliseconds;

TEST(BenchTunedThreads, MostOfTheRecordsCount) {
  const records::test::TempFolder folder;
  records::Database database = records::test::open_or_die(folder.file("r.db"));
  const auto add = [&](int n, int threads, const std::string& workload) {
    records::TuningRecord record = records::test::measured(n, 100);
    record.workload = workload;
    space::CpuTarget cpu;
    cpu.threads = threads;
    record.target = cpu.canonical();
    ASSERT_DONE(database.insert(record));
  };
  add(1, 1, "a");
  add(2, 3, "a");
  add(3, 3, "b");
  for (int n = 4; n < 10; ++n) add(n, 8, "another layer");
  ASSERT_DONE(database.insert(records::test::failed(10, ErrorCode::Crash, wire::Stage::Run, "x")));
  const std::set<std::string> both = {"a", "b"};
  EXPECT_EQ(tuned_threads(database, both, "local").value(), 3);
  EXPECT_EQ(tuned_threads(database, {"a"}, "local").value(), 1) << "as many of either";
  EXPECT_EQ(tuned_threads(database, {"c"}, "local").value(), 0);
  EXPECT_EQ(tuned_threads(database, both, "pynq").value(), 0);
}

constexpr std::uint64_t kMs = 1'000'000;

Seen seen(std::uint64_t trial, int built_ms, int completed_ms, std::uint64_t gap_ms) {
  Seen s;
  s.trial = trial;
  s.build_ns = 30 * kMs;
  s.built = TimePoint(milliseconds(built_ms));
  s.completed = TimePoint(milliseconds(completed_ms));
  wire::MeasurementT m;
  m.ticks_per_second = 1e9;
  m.median = 5 * kMs;
  s.outcome.body.Set(std::move(m));
  s.outcome.times = std::make_unique<wire::StageTimesT>();
  s.outcome.times->total_ns = 90 * kMs;
  s.outcome.times->run_ns = 70 * kMs;
  s.outcome.times->warmup_ns = 15 * kMs;  // the check's run is one of them
  s.outcome.times->check_ns = 1 * kMs;    // comparing
  s.outcome.times->load_ns = 2 * kMs;
  s.outcome.times->idle_before_ns = gap_ms * kMs;
  return s;
}

TEST(BenchTrialTimes, GapsAreSharedBetweenBuildersAndPipeline) {
  std::vector<Seen> all;
  all.push_back(seen(1, 0, 100, 5000));   // the session's start: left out
  all.push_back(seen(2, 50, 200, 1));     // was built long before: the gap is ours
  all.push_back(seen(3, 230, 330, 33));   // built 30 ms after trial 2 had ended
  all.push_back(seen(4, 480, 580, 100));  // 150 ms by the host's clock: at most the gap
  const std::vector<TrialTimes> trials = account(all);
  ASSERT_EQ(trials.size(), 3u);
  EXPECT_DOUBLE_EQ(trials[0].supply_ms, 0);
  EXPECT_DOUBLE_EQ(trials[1].supply_ms, 30);
  EXPECT_DOUBLE_EQ(trials[2].supply_ms, 100);
  EXPECT_DOUBLE_EQ(trials[0].running_ms, 85);
  EXPECT_DOUBLE_EQ(trials[0].overhead_ms(), 6);  // 90 - 85 + 1
  EXPECT_DOUBLE_EQ(trials[1].overhead_ms(), 8);  // 90 - 85 + 33 - 30
  EXPECT_DOUBLE_EQ(trials[2].overhead_ms(), 5);
  const Summary s = summarise(trials, 0.48);
  EXPECT_DOUBLE_EQ(s.busy_share, 270.0 / (270 + 4));
  EXPECT_DOUBLE_EQ(s.busy_share_overall, 270.0 / (270 + 134));
  EXPECT_DOUBLE_EQ(s.supply_limited_share, 130.0 / 404);
  EXPECT_DOUBLE_EQ(s.running_share, 3 * 85.0 / 404);
  EXPECT_DOUBLE_EQ(s.sampled_share, 3 * 70.0 / 404);
  EXPECT_DOUBLE_EQ(s.overhead_ms_median, 6);
  EXPECT_DOUBLE_EQ(s.load_ms_median, 2);
  EXPECT_DOUBLE_EQ(s.check_ms_median, 1);
  EXPECT_DOUBLE_EQ(s.kernel_ms_median, 5);
  EXPECT_NEAR(s.trials_per_hour, 3 / 0.48 * 3600, 1e-6);
}

TEST(BenchTrialTimes, TheGateWantsMoreOfLongerKernels) {
  EXPECT_EQ(running_share_fault(20, 0.97), "");
  EXPECT_NE(running_share_fault(20, 0.9699).find("0.9699 of all time, 0.97 is wanted"),
            std::string::npos);
  EXPECT_EQ(running_share_fault(1, 0.90), "");
  EXPECT_NE(running_share_fault(1, 0.89), "");
  EXPECT_EQ(running_share_fault(0.5, 0.1), "") << "of shorter ones nothing is known";
}

TEST(BenchTrialTimes, FailuresTakeDeviceTimeButHaveNoOverheadFigure) {
  std::vector<Seen> all;
  all.push_back(seen(1, 0, 100, 0));
  all.push_back(seen(2, 0, 200, 0));
  all.push_back(seen(3, 0, 300, 0));
  all[2].outcome.body.Set(make_failure(wire::Stage::Run, Error{ErrorCode::Crash, "x", {}}));
  const Summary s = summarise(account(all), 1);
  EXPECT_EQ(s.trials, 2u);
  EXPECT_EQ(s.failed, 1u);
  EXPECT_DOUBLE_EQ(s.overhead_ms_median, 5);
  EXPECT_DOUBLE_EQ(s.busy_share, 1);
  EXPECT_EQ(account(all)[1].failure, "Crash");
  EXPECT_EQ(summarise({}, 0).trials, 0u);
}

TEST(BenchRankCorrelation, CountsOrderOnlyAndSharesRanksOfEqualValues) {
  const std::vector<double> a = {1, 2, 3, 4, 5};
  EXPECT_DOUBLE_EQ(rank_correlation(a, std::vector<double>{1, 4, 9, 16, 25}), 1);
  EXPECT_DOUBLE_EQ(rank_correlation(a, std::vector<double>{5, 4, 3, 2, 1}), -1);
  // Spearman's by its formula without ties: 1 - 6 * sum d^2 / (n (n^2 - 1)).
  EXPECT_DOUBLE_EQ(rank_correlation(a, std::vector<double>{2, 1, 3, 4, 5}), 1 - 6.0 * 2 / 120);
  // Ties share the mean of their ranks: Pearson's of (0 1 2 3 4) and (0.5 0.5 2 3 4).
  EXPECT_NEAR(rank_correlation(a, std::vector<double>{1, 1, 3, 4, 5}), 9.5 / std::sqrt(10 * 9.5),
              1e-12);
  EXPECT_EQ(rank_correlation(a, std::vector<double>{7, 7, 7, 7, 7}), 0);
}

// Sessions that order the layers alike and nothing within them agree on nothing.
TEST(BenchRepeat, AgreementIsWithinLayers) {
  const RepeatedTimes small{{1, 2, 3, 4, 5}, {5, 4, 3, 2, 1}};
  const RepeatedTimes large{{1000, 2000, 3000, 4000, 8000}, {5000, 4000, 3000, 2000, 1000}};
  const RepeatedTimes same{{10, 20, 30, 40, 50}, {11, 21, 31, 41, 51}};
  const RepeatedTimes few{{1e6, 2e6}, {1e6, 2e6}};
  const nlohmann::json none = agreement_json({few, few});
  for (const char* figure :
       {"rank_correlation", "least_rank_correlation_in_a_task", "slowest_over_fastest"}) {
    ASSERT_TRUE(none.contains(figure)) << figure;
    EXPECT_TRUE(none[figure].is_null()) << figure;
  }
  const nlohmann::json two = agreement_json({small, large, few});
  EXPECT_DOUBLE_EQ(two["rank_correlation"], -1);
  EXPECT_NEAR(two["slowest_over_fastest"].get<double>(), std::sqrt(5.0 * 8), 1e-9);
  const nlohmann::json three = agreement_json({small, large, same});
  EXPECT_NEAR(three["rank_correlation"].get<double>(), -1.0 / 3, 1e-12);
  EXPECT_DOUBLE_EQ(three["least_rank_correlation_in_a_task"], -1);
}

// A back end whose features changed would leave the prior unused without a word.
TEST(ShippedPrior, IsForTheBackEndsFeaturesAndFloat32OnX86Only) {
  const auto names = backend::find_backend("cpu_llvm")->feature_names();
  const auto workload = [](const char* dtype) {
    return space::Workload::parse(
               R"({"op":"dense","batch":1,"in_features":64,"out_features":64,"dtype":")" +
               std::string(dtype) + "\"}")
        .value();
  };
  space::CpuTarget cpu;
  cpu.arch = "x86_64";
  space::Target target = cpu.target();
  EXPECT_TRUE(cost::shipped_prior(workload("float32"), target, names));
  EXPECT_FALSE(cost::shipped_prior(workload("float16"), target, names));
  EXPECT_FALSE(cost::shipped_prior(workload("float32"), target, {"log_estimated_cycles"}));
  cpu.vector_bits = 256;
  const auto narrow = cost::shipped_prior(workload("float32"), cpu.target(), names);
  cpu.vector_bits = 512;
  const auto wide = cost::shipped_prior(workload("float32"), cpu.target(), names);
  ASSERT_TRUE(narrow && wide);
  EXPECT_NE(narrow->origin().find("v3"), std::string::npos) << narrow->origin();
  EXPECT_EQ(wide->origin().find("v3"), std::string::npos) << wide->origin();
  cpu.arch = "armv7";
  target = cpu.target();
  EXPECT_FALSE(cost::shipped_prior(workload("float32"), target, names));
}

// Spaces of which it has seen no program.
TEST(ShippedPrior, OrdersRecordedProgramsBetterThanTheEstimate) {
  double estimated = 0, corrected = 0;
  for (const std::string& path : stored_recordings()) {
    const auto recording = replay::read_recording(path).value();
    const auto prior =
        cost::shipped_prior(recording.workload, recording.target, recording.feature_names);
    ASSERT_TRUE(prior) << path;
    const std::size_t estimate = cost::estimate_among(recording.feature_names).value();
    std::vector<double> before, after, times;
    for (const replay::RecordedTrial& trial : recording.trials) {
      if (trial.nanoseconds <= 0 || trial.features.empty()) continue;
      std::vector<float> features = trial.features;
      before.push_back(features[estimate]);
      prior->correct(features);
      after.push_back(features[estimate]);
      times.push_back(trial.nanoseconds);
    }
    estimated += rank_correlation(before, times);
    corrected += rank_correlation(after, times);
  }
  EXPECT_GT(corrected, estimated + 0.2);  // sums over the recordings
}

// A measurement of 1 ms, ±1 %, in three samples of 20 ms.
wire::MeasurementT quiet_measurement() {
  wire::MeasurementT m;
  m.ticks_per_second = 1e9;
  m.median = 1e6;
  m.interval_low = 0.99e6;
  m.interval_high = 1.01e6;
  m.samples.assign(3, wire::Sample(20 * kMs, 20));
  m.before = std::make_unique<wire::ConditionsT>();
  m.before->cpu_khz = 2'000'000;
  m.after = std::make_unique<wire::ConditionsT>(*m.before);
  return m;
}

TEST(BenchConditions, OnlyReadingsThatSlowDownExplain) {
  using Reasons = std::vector<std::string>;
  const wire::MeasurementT fast = quiet_measurement();
  wire::MeasurementT slow = quiet_measurement();
  slow.median *= 1.2, slow.interval_low *= 1.2, slow.interval_high *= 1.2;
  EXPECT_EQ(slowing_conditions(slow, fast), Reasons{});
  slow.interval_low = 1.0e6;
  EXPECT_EQ(slowing_conditions(slow, fast), Reasons{"uncertain"});
  slow.interval_low = 1.19e6;
  slow.disturbed = 4;
  slow.after->involuntary_switches = 7;
  slow.after->steal_ticks = 2;
  slow.after->throttle_events = 1;
  slow.after->cpu_khz = 1'900'000;
  slow.after->load_average = 1;
  EXPECT_EQ(slowing_conditions(slow, fast),
            (Reasons{"disturbed", "interrupted", "stolen", "throttled", "clock", "load"}));
  // The same readings of the faster one explain nothing.
  wire::MeasurementT calm = quiet_measurement();
  calm.median *= 1.2, calm.interval_low *= 1.2, calm.interval_high *= 1.2;
  wire::MeasurementT busy = quiet_measurement();
  busy.disturbed = 4;
  *busy.after = *slow.after;
  busy.after->cpu_khz = 2'000'000;
  EXPECT_EQ(slowing_conditions(calm, busy), Reasons{});
}

TEST(BenchElf, ThisProgramIsDynamicAndItsPiecesAreRefused) {
  Result<ElfFacts> self = read_elf("/proc/self/exe");
  ASSERT_TRUE(self.ok()) << self.error().text();
  EXPECT_FALSE(self->is_static());
  EXPECT_TRUE(self->interpreter);
  bool libc = false;
  for (const std::string& name : self->needed) libc = libc || name.starts_with("libc.so");
  EXPECT_TRUE(libc);
  EXPECT_LE(self->stripped_bytes, self->file_bytes);
  std::ifstream file("/proc/self/exe", std::ios::binary);
  std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{3}, std::size_t{30}, std::size_t{70}}) {
    EXPECT_FALSE(
        parse_elf({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)}).ok());
  }
  for (std::size_t at = 16; at < 64; ++at) {  // every byte of the header wrong in turn: no crash
    std::vector<std::uint8_t> wrong = bytes;
    wrong[at] ^= 0xff;
    (void)parse_elf(wrong).ok();
  }
  EXPECT_EQ(read_elf("/no/such/file").error().code, ErrorCode::Io);
}

TEST(BenchProcessMemory, AFamilyIsItsRootAndWhatItStarted) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    char byte;
    close(ends[1]);
    (void)!read(ends[0], &byte, 1);
    _exit(0);
  }
  close(ends[0]);
  const std::vector<ProcessMemory> family = memory_of(getpid());
  ASSERT_GE(family.size(), 2u);
  EXPECT_EQ(family[0].pid, getpid());
  EXPECT_GT(family[0].resident_bytes, 500'000u);
  bool seen_child = false;
  for (const ProcessMemory& p : family) seen_child = seen_child || p.pid == child;
  EXPECT_TRUE(seen_child);
  close(ends[1]);
}

}  // namespace
}  // namespace fettle::bench
