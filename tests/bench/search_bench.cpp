// Searchers on recorded spaces (search_bench.h).
#include "tests/bench/search_bench.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <map>
#include <numeric>
#include <sstream>

#include <nlohmann/json.hpp>

#include "host/cost/knob_features.h"
#include "host/cost/time_model.h"
#include "host/process/run_program.h"
#include "host/replay/replay.h"
#include "host/tune/tune.h"
#include "tests/bench/local_loop.h"
#include "tests/bench/rank_correlation.h"

namespace fettle::bench {
namespace {

using Json = nlohmann::json;
using replay::Recording;

constexpr double kShares[] = {0.95, 1 / 1.02, 0.99};  // of the best
constexpr const char* kNames[] = {"95", "98", "99"};
constexpr unsigned kModelTrials = 500;  // of which a model is trained, the rest held back
constexpr std::size_t kTaught = 200;    // trials of each other recording in a transfer

// After how many trials each share of the best was reached; with the last, the session ends.
class Reached final : public tune::RecordSink, public tune::StopSignal {
 public:
  explicit Reached(double best) : best_(best) {}
  Result<void> add(const records::TuningRecord& record) override {
    ++trials_;
    const auto nanoseconds = record.nanoseconds();
    for (std::size_t i = 0; i < std::size(kShares); ++i) {
      if (at_[i] == 0 && nanoseconds && best_ / *nanoseconds >= kShares[i]) at_[i] = trials_;
    }
    return {};
  }
  Result<void> confirm(std::span<const records::Confirmation>) override { return {}; }
  bool requested() const override { return at_[std::size(kShares) - 1] > 0; }
  int fd() const override { return -1; }
  // Trials until it was reached; one more than were made when it never was.
  unsigned at(std::size_t share) const { return at_[share] ? at_[share] : trials_ + 1; }

 private:
  double best_;
  unsigned trials_ = 0;
  unsigned at_[std::size(kShares)] = {};
};

struct Run {
  unsigned reached[std::size(kShares)];
  double seconds = 0;
  tune::SearchStatistics search;
};

std::shared_ptr<const cost::Prior> prior_of(const Recording& recording) {
  return cost::shipped_prior(recording.workload, recording.target, recording.feature_names);
}

// Random trials of the recordings beside this one, as earlier sessions would have left.
std::shared_ptr<cost::Experience> taught(const std::vector<Recording>& recordings, std::size_t but,
                                         bool with_prior, std::uint64_t seed) {
  auto experience = std::make_shared<cost::Experience>();
  std::mt19937_64 rng(seed);
  for (std::size_t i = 0; i < recordings.size(); ++i) {
    if (i == but) continue;
    const auto prior = with_prior ? prior_of(recordings[i]) : nullptr;
    for (std::size_t t = 0; t < kTaught; ++t) {
      const auto& trial = recordings[i].trials[rng() % recordings[i].trials.size()];
      if (trial.features.empty()) continue;
      std::vector<float> features = trial.features;
      if (prior) prior->correct(features);
      experience->add("earlier " + std::to_string(i),
                      {std::move(features), trial.nanoseconds, false});
    }
  }
  return experience;
}

Result<Run> run_once(const std::vector<Recording>& recordings, std::size_t which,
                     const std::string& searcher, const SearchBenchOptions& options,
                     std::uint64_t seed) {
  const Recording& recording = recordings[which];
  tune::SearcherOptions how;
  how.seed = seed * 1000003 + which;
  how.feature_count = recording.feature_names.size();
  if (how.feature_count > 0) {
    how.features = [&recording](const space::Configuration& c) { return recording.features_of(c); };
  }
  how.estimate = cost::estimate_among(recording.feature_names);
  how.task = recording.workload.canonical();
  if (options.prior) how.prior = prior_of(recording);
  if (options.transfer) how.experience = taught(recordings, which, options.prior, seed);
  auto made = tune::make_searcher(searcher, recording.space, how);
  if (!made) return std::move(made).error();
  std::vector<tune::TuneTask> tasks;
  tasks.push_back({{recording.workload, 1}, &recording.space, std::move(*made), {}});
  replay::ReplayBuilder builder(recordings);
  replay::ReplayRunner runner(recordings);
  tune::ExpectedOutputs expected({recording.workload}, replay::no_expected_outputs);
  while (!expected.ready(0)) ::usleep(100);
  Reached reached(recording.best_nanoseconds());
  const auto scheduler = tune::make_round_robin();
  SilentListener silent;
  tune::TuneOptions loop;
  loop.session = "search";
  loop.device_key = "replay";
  loop.trials = options.trials;
  loop.stop_grace = std::chrono::milliseconds(0);
  const auto start = std::chrono::steady_clock::now();
  const tune::TuneSummary summary =
      tune::tune(tasks, recording.target, loop,
                 {builder, runner, reached, expected, *scheduler, reached, silent, {}, {}});
  if (summary.end == tune::SessionEnd::Failed) return *summary.error;
  Run run;
  for (std::size_t i = 0; i < std::size(kShares); ++i) run.reached[i] = reached.at(i);
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  run.search = summary.search;
  return run;
}

double mean(const std::vector<unsigned>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}
double median(std::vector<unsigned> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2.0;
}

// The model alone: trained on random trials, compared on those held back.
Result<double> held_back_correlation(const Recording& recording, std::uint64_t seed) {
  std::vector<std::size_t> order(recording.trials.size());
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 rng(seed);
  std::shuffle(order.begin(), order.end(), rng);
  const std::size_t columns =
      recording.feature_names.size() + cost::knob_feature_count(recording.space);
  std::vector<cost::Trial> trials;
  cost::Table held{columns, {}};
  std::vector<double> measured;
  for (std::size_t i : order) {
    const replay::RecordedTrial& trial = recording.trials[i];
    if (trial.nanoseconds <= 0 || trial.features.size() != recording.feature_names.size()) continue;
    std::vector<float> row = trial.features;
    const auto knobs = cost::knob_features(recording.space, trial.configuration);
    row.insert(row.end(), knobs.begin(), knobs.end());
    if (trials.size() < kModelTrials) {
      trials.push_back({row, trial.nanoseconds, false});
    } else {
      held.add(row);
      measured.push_back(trial.nanoseconds);
    }
  }
  cost::TimeModelOptions how;
  how.estimate = cost::estimate_among(recording.feature_names);
  auto model = cost::TimeModel::train(columns, trials, {}, how, static_cast<std::uint32_t>(seed));
  if (!model) return std::move(model).error();
  const std::vector<float> predicted = model->mean(held);
  return rank_correlation(std::vector<double>(predicted.begin(), predicted.end()), measured);
}

struct Totals {
  std::vector<unsigned> reached[std::size(kShares)];
  double seconds = 0;
  void add(const Run& run) {
    for (std::size_t i = 0; i < std::size(kShares); ++i) reached[i].push_back(run.reached[i]);
    seconds += run.seconds;
  }
};

void print_task(const Totals& task, const tune::SearchStatistics& search,
                const std::string& searcher, const Recording& recording,
                const SearchBenchOptions& options) {
  const double runs = options.seeds;
  Json line = {{"benchmark", "search"},
               {"searcher", searcher},
               {"task", recording.workload.title()},
               {"points", recording.trials.size()},
               {"seconds", task.seconds / runs},
               {"plans", static_cast<double>(search.plans) / runs},
               {"lowered", static_cast<double>(search.lowered) / runs},
               {"screened", static_cast<double>(search.screened) / runs},
               {"training_seconds", search.training_seconds / runs}};
  std::string text;
  for (std::size_t i = 0; i < std::size(kShares); ++i) {
    const std::string to = std::string("trials_to_") + kNames[i];
    line[to] = mean(task.reached[i]);
    line[to + "_median"] = median(task.reached[i]);
    line[std::string("each_to_") + kNames[i]] = task.reached[i];
    char part[80];
    std::snprintf(part, sizeof part, "  to %s %%: %6.1f (median %5.1f)", kNames[i],
                  mean(task.reached[i]), median(task.reached[i]));
    text += part;
  }
  if (options.json) {
    std::cout << line.dump() << std::endl;
  } else {
    std::printf("%-13s %-44s%s\n", searcher.c_str(), recording.workload.title().c_str(),
                text.c_str());
  }
}

// Kernel Tuner's strategies on the same spaces, by a script of ours and its package.
Result<void> run_kernel_tuner(const SearchBenchOptions& options) {
  const process::ScratchFolder scratch;
  process::RunPlan plan;
  plan.argv = {options.kernel_tuner, FETTLE_KERNEL_TUNER_SCRIPT};
  plan.argv.insert(plan.argv.end(), options.recordings.begin(), options.recordings.end());
  plan.argv.insert(plan.argv.end(), {"--seeds", std::to_string(options.seeds), "--first-seed",
                                     std::to_string(options.first_seed), "--trials",
                                     std::to_string(options.trials)});
  plan.output = scratch.file("lines");
  plan.limit = std::chrono::hours(4);
  const auto ran = process::run_program(plan);
  if (!ran) return ran.error();
  std::fputs(ran->said.c_str(), stderr);
  if (ran->status != 0) {
    return Error{ErrorCode::Unsupported, options.kernel_tuner + " could not run Kernel Tuner"};
  }
  std::istringstream lines(process::read_file(plan.output));
  for (std::string line; std::getline(lines, line);) {
    const Json json = Json::parse(line);
    if (options.json) {
      std::cout << line << std::endl;
      continue;
    }
    std::printf("%-36s %-21s", json.at("searcher").get<std::string>().c_str(),
                json.at("task").get<std::string>().c_str());
    for (const std::string name : kNames) {
      const std::string to = "trials_to_" + name;
      std::printf("  to %s %%: %6.1f (median %5.1f)", name.c_str(), json.at(to).get<double>(),
                  json.at(to + "_median").get<double>());
    }
    std::printf("\n");
  }
  return {};
}

Result<void> run_all(const SearchBenchOptions& options, const std::vector<Recording>& recordings) {
  std::vector<std::string> searchers = options.searchers;
  if (searchers.empty()) {
    searchers = tune::searcher_names();
    std::erase(searchers, "grid");
    std::erase(searchers, "xgb-itervar");  // recordings keep no loops
  }
  for (std::string& searcher : searchers) searcher = tune::current_searcher_name(searcher);
  Json summary = {{"benchmark", "search"},    {"summary", true},
                  {"seeds", options.seeds},   {"first_seed", options.first_seed},
                  {"trials", options.trials}, {"transfer", options.transfer},
                  {"prior", options.prior}};
  for (const std::string& searcher : searchers) {
    Totals all;
    for (std::size_t which = 0; which < recordings.size(); ++which) {
      Totals task;
      tune::SearchStatistics search;
      for (unsigned seed = 0; seed < options.seeds; ++seed) {
        auto run = run_once(recordings, which, searcher, options, options.first_seed + seed);
        if (!run) return std::move(run).error();
        task.add(*run);
        all.add(*run);
        search += run->search;
      }
      print_task(task, search, searcher, recordings[which], options);
    }
    for (std::size_t i = 0; i < std::size(kShares); ++i) {
      summary[std::string("trials_to_") + kNames[i]][searcher] = mean(all.reached[i]);
    }
  }
  for (std::size_t which = 0; which < recordings.size(); ++which) {
    auto correlation = held_back_correlation(recordings[which], 1);
    if (!correlation) return std::move(correlation).error();
    summary["rank_correlation"][recordings[which].workload.title()] = *correlation;
  }
  for (const std::string share : {"95", "99"}) {
    const Json& means = summary["trials_to_" + share];
    if (!means.contains("evolutionary") || !means.contains("xgb-knob")) continue;
    summary["evolutionary_over_xgb_" + share] =
        means["evolutionary"].get<double>() / means["xgb-knob"].get<double>();
  }
  std::cout << summary.dump(options.json ? -1 : 1) << std::endl;
  return {};
}

}  // namespace

std::vector<std::string> stored_recordings() {
  std::vector<std::string> paths;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(FETTLE_RECORDINGS, none)) {
    if (entry.path().extension() == ".gz") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

Result<void> run_search_bench(const SearchBenchOptions& options) {
  std::vector<Recording> recordings;
  for (const std::string& path : options.recordings) {
    auto recording = replay::read_recording(path);
    if (!recording) return std::move(recording).error();
    recordings.push_back(std::move(*recording));
  }
  if (recordings.empty()) {
    return Error{ErrorCode::NotFound, "no recordings: name some, or run from the source tree", {}};
  }
  if (auto done = run_all(options, recordings); !done) return done;
  return options.kernel_tuner.empty() ? Result<void>() : run_kernel_tuner(options);
}

}  // namespace fettle::bench
