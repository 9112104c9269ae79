// Recordings: their file, thinned spaces, and the loop that is answered from them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "host/replay/replay.h"
#include "host/space/cpu_target.h"
#include "host/space/workload.h"
#include "tests/unit/tune_doubles.h"
#include "tests/unit/tune_objective.h"

namespace fettle::replay {
namespace {

using space::SearchSpace;
using tune::doubles::grid;

class TemporaryFile {
 public:
  TemporaryFile() : path_(::testing::TempDir() + "recording" + std::to_string(::getpid())) {}
  ~TemporaryFile() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

space::Target target() {
  space::CpuTarget t;
  t.arch = "x86_64";
  t.triple = "x86_64-linux-gnu";
  return t.target();
}

// Every point of a grid: time 1000 + the distance from (3, 3, 3) in squares. Those
// with a first choice of 5 fail to build.
Recording recording() {
  Recording r;
  r.workload = tune::doubles::workload();
  r.target = target();
  r.device = "a test";
  r.feature_names = {"first", "sum"};
  r.space = grid(3, 6);
  for (std::uint64_t i = 0; i < 216; ++i) {
    RecordedTrial trial;
    trial.configuration = r.space.at(i);
    const auto& c = trial.configuration.choice;
    double time = 1000;
    for (std::uint32_t choice : c) time += 100 * (double(choice) - 3) * (double(choice) - 3);
    if (c[0] == 5) {
      trial.stage = wire::Stage::Build;
      trial.code = ErrorCode::BuildError;
      trial.message = "too much code";
    } else {
      trial.program = "program " + std::to_string(i);
      trial.nanoseconds = time;
      trial.interval_low = time - 1;
      trial.features = {float(c[0]), float(c[0] + c[1] + c[2])};
    }
    r.trials.push_back(std::move(trial));
  }
  r.index_trials();
  return r;
}

struct Session {
  std::vector<records::TuningRecord> records;
  tune::TuneSummary summary;
};

Session replayed(const std::vector<Recording>& recordings, const std::string& searcher,
                 std::uint64_t seed, unsigned trials, bool racing = true) {
  std::vector<space::Workload> workloads;
  std::vector<tune::TuneTask> tasks;
  for (const Recording& r : recordings) {
    workloads.push_back(r.workload);
    tune::SearcherOptions how;
    how.seed = seed;
    how.features = [&r](const space::Configuration& c) { return r.features_of(c); };
    how.itervar_features = tune::doubles::choices_reversed;  // a recording keeps no loops
    how.feature_count = r.feature_names.size();
    auto made = tune::make_searcher(searcher, r.space, how).value();
    tasks.push_back({{r.workload, 1}, &r.space, std::move(made), {}});
  }
  ReplayBuilder builder(recordings);
  ReplayRunner runner(recordings);
  tune::ExpectedOutputs expected(workloads, no_expected_outputs);
  tune::doubles::MemoryRecords records;
  tune::doubles::Flag stop;
  tune::doubles::Listener listener;
  const auto scheduler = tune::make_gradient(seed);
  tune::TuneOptions options;
  options.session = "replay";
  options.device_key = "replay";
  options.trials = trials;
  options.racing = racing;
  options.deterministic = true;
  Session session;
  session.summary =
      tune::tune(tasks, target(), options,
                 {builder, runner, records, expected, *scheduler, stop, listener, {}, {}});
  session.records = std::move(records.records);
  return session;
}

TEST(Recording, IsTheSameAfterItsFile) {
  const Recording before = recording();
  TemporaryFile file;
  ASSERT_TRUE(write_recording(before, file.path()));
  const auto after = read_recording(file.path());
  ASSERT_TRUE(after) << after.error().text();
  EXPECT_EQ(after->workload, before.workload);
  EXPECT_EQ(after->target.canonical(), before.target.canonical());
  EXPECT_EQ(after->feature_names, before.feature_names);
  EXPECT_EQ(after->best_nanoseconds(), 1000);
  ASSERT_EQ(after->trials.size(), before.trials.size());
  for (std::size_t i = 0; i < before.trials.size(); ++i) {
    const RecordedTrial &a = after->trials[i], &b = before.trials[i];
    EXPECT_EQ(a.configuration, b.configuration);
    EXPECT_EQ(after->space.to_json(a.configuration), before.space.to_json(b.configuration));
    EXPECT_EQ(a.nanoseconds, b.nanoseconds);
    EXPECT_EQ(a.interval_low, b.interval_low);
    EXPECT_EQ(a.code, b.code);
    EXPECT_EQ(a.program, b.program);
    EXPECT_EQ(a.features, b.features);
  }
}

TEST(Recording, BrokenFilesAreRefused) {
  TemporaryFile file;
  EXPECT_EQ(read_recording(file.path() + ".none").error().code, ErrorCode::Io);
  std::ofstream(file.path()) << "{\"fettle_recording\": 7}\n";
  EXPECT_EQ(read_recording(file.path()).error().code, ErrorCode::VersionMismatch);
  for (const char* text : {"not JSON\n", "[1, 2]\n", "{\"fettle_recording\": 1}\n"}) {
    std::ofstream(file.path()) << text;
    const Error error = read_recording(file.path()).error();
    EXPECT_EQ(error.code, ErrorCode::Malformed) << text;
    EXPECT_NE(error.message.find("line 1: no"), std::string::npos) << error.message;
    EXPECT_EQ(error.message.find("json.exception"), std::string::npos) << error.message;
  }
  Recording cut = recording();
  cut.trials[3].configuration.choice[1] = 99;
  ASSERT_TRUE(write_recording(cut, file.path()));
  EXPECT_EQ(read_recording(file.path()).error().code, ErrorCode::Malformed);
  Recording nameless = recording();
  nameless.trials[0].program.clear();
  ASSERT_TRUE(write_recording(nameless, file.path()));
  EXPECT_NE(read_recording(file.path()).error().message.find("no program"), std::string::npos);
}

TEST(Recording, IsMadeOnlyOfACompleteSpace) {
  const Recording whole = recording();
  std::vector<records::TuningRecord> records = replayed({whole}, "grid", 1, 216, false).records;
  ASSERT_EQ(records.size(), 216u);
  const auto made = make_recording(whole.workload, target(), whole.space, records);
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(made->best_nanoseconds(), 1000);
  EXPECT_EQ(made->trials[made->find({0, {5, 0, 0}}).value()].code, ErrorCode::BuildError);
  records.pop_back();
  EXPECT_EQ(make_recording(whole.workload, target(), whole.space, records).error().code,
            ErrorCode::InvalidArgument);
}

TEST(ThinOut, KeepsWhatItIsToldAndOneOptionOfTheOthers) {
  const SearchSpace space = grid(3, 6);
  const auto thin = thin_out(space, "", {{"k0", 3, {}}, {"k2", 1, {{0}, {5}}}});
  ASSERT_TRUE(thin);
  const auto& knobs = thin->sketches()[0].knobs;
  EXPECT_EQ(knobs[0].options, (std::vector<std::vector<std::int64_t>>{{1}, {3}, {5}}));
  EXPECT_EQ(knobs[1].options.size(), 1u);
  EXPECT_EQ(knobs[2].options, (std::vector<std::vector<std::int64_t>>{{0}, {5}}));
  EXPECT_FALSE(thin_out(space, "none", {}).ok());
  EXPECT_FALSE(thin_out(space, "", {{"k9", 2, {}}}).ok());
  EXPECT_FALSE(thin_out(space, "", {{"k0", 1, {{77}}}}).ok());
}

TEST(Replay, AnswersWithWhatWasRecorded) {
  const std::vector<Recording> recordings{recording()};
  const Session session = replayed(recordings, "random", 3, 1000, false);
  ASSERT_EQ(session.records.size(), 216u) << "the space is exhausted";
  for (const auto& record : session.records) {
    const auto configuration = recordings[0].space.parse(record.configuration);
    ASSERT_TRUE(configuration);
    const auto& trial = recordings[0].trials[recordings[0].find(*configuration).value()];
    EXPECT_EQ(record.nanoseconds().value_or(0), trial.nanoseconds);
    if (trial.nanoseconds == 0) {
      ASSERT_TRUE(record.failure());
      EXPECT_EQ(record.failure()->error->code, ErrorCode::BuildError);
    }
  }
}

TEST(Replay, RacingCensorsWhatIsClearlySlowerThanTheBest) {
  const Session session = replayed({recording()}, "random", 3, 200);
  double best = 0;
  int censored = 0;
  for (const auto& record : session.records) {
    const auto* measurement = record.measurement();
    if (!measurement) continue;
    censored += measurement->censored;
    if (!measurement->censored && (best == 0 || measurement->median < best)) {
      best = measurement->median;
    }
  }
  EXPECT_GT(censored, 50);
  EXPECT_EQ(best, 1000);
}

class ReplayedSearcher : public testing::TestWithParam<std::string> {};

std::vector<std::string> order_of(const Session& session) {
  std::vector<std::string> order;
  for (const auto& record : session.records) {
    order.push_back(record.workload + record.configuration);
  }
  return order;
}

// Half of both spaces: what is found there, and in which order, is the searcher's doing.
TEST_P(ReplayedSearcher, IsReproducibleAndSearches) {
  Recording other = recording();
  other.workload = tune::doubles::workload(128);
  const std::vector<Recording> recordings{recording(), other};
  const Session a = replayed(recordings, GetParam(), 5, 216);
  ASSERT_EQ(a.records.size(), 216u);
  EXPECT_EQ(order_of(a), order_of(replayed(recordings, GetParam(), 5, 216)));
  if (GetParam() == "grid") return;  // it has one order, and may end before it is there
  EXPECT_NE(order_of(a), order_of(replayed(recordings, GetParam(), 6, 216)));
  double worse = 0;  // of the two tasks' best
  for (const auto& task : a.summary.progress.tasks) {
    worse = std::max(worse, task.best_nanoseconds.value_or(1e9));
  }
  if (GetParam() == "random") {
    EXPECT_GT(worse, 1000) << "with this seed chance does not do";
  } else if (GetParam() != "ga") {  // it has bred a few generations only
    EXPECT_EQ(worse, 1000);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ReplayedSearcher, testing::ValuesIn(tune::searcher_names()),
                         [](const auto& info) { return tune::doubles::test_name(info.param); });

}  // namespace
}  // namespace fettle::replay
