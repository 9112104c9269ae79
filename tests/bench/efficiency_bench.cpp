// Search efficiency on the device (efficiency_bench.h).
#include "tests/bench/efficiency_bench.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <map>

#include <nlohmann/json.hpp>

#include "host/backend/backend.h"
#include "host/cost/time_model.h"
#include "host/records/queries.h"
#include "host/space/workload.h"
#include "host/tune/background.h"
#include "tests/bench/local_loop.h"

namespace fettle::bench {
namespace {

using Json = nlohmann::json;

constexpr unsigned kLevels[] = {64, 200, 1000};  // trials at which shares are told
constexpr double kShare = 0.95;

struct Layer {
  space::Task task;
  std::unique_ptr<const backend::Task> opened;
};

Result<std::vector<Layer>> layers_of(const EfficiencyBenchOptions& options,
                                     const space::Target& target) {
  auto list = tasks_of(options.network);
  if (!list) return std::move(list).error();
  std::vector<Layer> layers;
  for (const space::Task& task : list->tasks) {
    if (task.workload.call()->op() != "conv2d" || layers.size() == options.layers) continue;
    auto opened = backend::open_task(task.workload.dag(), target);
    if (!opened) return std::move(opened).error().in("the space of " + task.workload.title());
    layers.push_back({task, std::move(*opened)});
  }
  if (layers.empty()) {
    return Error{ErrorCode::NotFound, options.network + " has no convolution", {}};
  }
  return layers;
}

constexpr const char* kSessions = "efficiency ";  // how the names of all these sessions begin

std::string session_name(const EfficiencyBenchOptions& options, const std::string& searcher) {
  const bool without = searcher == "evolutionary" && !options.prior;
  return kSessions + searcher + (without ? " without prior" : "") + " seed " +
         std::to_string(options.seed);
}

// The trials of one layer in the sessions of that name, or of all of this bench where it
// is empty, in the order they ended.
Result<std::vector<records::TuningRecord>> trials_of(const records::Database& database,
                                                     const Layer& layer,
                                                     const space::Target& target,
                                                     const std::string& session_name) {
  auto sessions = database.sessions();
  if (!sessions) return std::move(sessions).error();
  std::vector<records::TuningRecord> all;
  for (const records::Session& session : *sessions) {
    if (session_name.empty() ? !session.name.starts_with(kSessions)
                             : session.name != session_name) {
      continue;
    }
    records::Filter filter;
    filter.workload = layer.task.workload.canonical();
    filter.target = target.canonical();
    filter.session = session.session;
    auto part = records::history(database, filter);
    if (!part) return std::move(part).error();
    std::move(part->begin(), part->end(), std::back_inserter(all));
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  return all;
}

// Goes on with one layer and searcher until `trials` are there, or time is over.
Result<void> search(const EfficiencyBenchOptions& options, LocalLoop& loop, Layer& layer,
                    std::size_t place, const std::string& searcher, unsigned trials) {
  const std::string name = session_name(options, searcher);
  auto history = trials_of(loop.database(), layer, loop.target(), name);
  if (!history) return std::move(history).error();
  if (history->size() >= trials) return {};
  // Programs that any of these sessions measured on this device are not measured again.
  auto measured = trials_of(loop.database(), layer, loop.target(), "");
  if (!measured) return std::move(measured).error();
  std::erase_if(*measured, [&](const records::TuningRecord& record) {
    return record.reused || record.device_key != loop.device().key;
  });
  const space::Workload& workload = layer.task.workload;
  const space::Target& target = loop.target();
  const std::vector<std::string> features =
      backend::find_backend(target.backend())->feature_names();
  tune::Background background;
  tune::SearcherOptions how;
  how.seed = options.seed * 1000003 + place;
  how.features = [&](const space::Configuration& configuration) {
    return layer.opened->features(configuration);
  };
  how.feature_count = features.size();
  how.estimate = cost::estimate_among(features);
  how.screen = [&](std::span<const float> values) { return layer.opened->screen(values); };
  if (options.prior) how.prior = cost::shipped_prior(workload, target, features);
  how.task = workload.canonical();
  how.background = &background;
  auto made = tune::make_searcher(searcher, layer.opened->space(), how);
  if (!made) return std::move(made).error();
  std::vector<tune::TuneTask> tasks;
  tasks.push_back({layer.task, &layer.opened->space(), std::move(*made), std::move(*history),
                   std::move(*measured)});
  tune::TuneOptions loop_options;
  loop_options.trials = trials;
  const Json how_json = {{"searcher", searcher}, {"trials", trials}};
  const auto summary = loop.run(tasks, loop_options, name, how_json.dump());
  if (!summary) return summary.error();
  std::fprintf(stderr, "%-12s %-44s %u trials\n", searcher.c_str(), workload.title().c_str(),
               summary->progress.trials);
  return {};
}

// Of one searcher over the layers.
struct Totals {
  std::map<unsigned, std::vector<double>> shares;  // by level
  std::vector<double> to_share;                    // one more than were made: never
  unsigned least_trials = 0, never = 0;
  unsigned measured = 0, reused = 0;  // trials; the latter by a program that was there
};

double geometric_mean(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

Json line_of(const EfficiencyBenchOptions& options, const std::string& searcher, const Layer& layer,
             const std::vector<double>& curve, double best, Totals& totals) {
  Json line = {{"benchmark", "efficiency"},
               {"searcher", searcher},
               {"task", layer.task.workload.title()},
               {"trials", curve.size()},
               {"best_ns", curve.empty() ? 0 : curve.back()},
               {"best_ns_of_all", best}};
  for (const unsigned level : kLevels) {
    if (level > options.trials) continue;
    const auto share = share_reached(curve, level, best);
    line["share_at_" + std::to_string(level)] = share ? Json(*share) : Json(nullptr);
    if (share) totals.shares[level].push_back(*share);
  }
  const auto reached = trials_to(curve, kShare, best);
  line["trials_to_95"] = reached ? Json(*reached) : Json(nullptr);
  totals.never += !reached;
  totals.to_share.push_back(reached ? *reached : static_cast<double>(curve.size() + 1));
  const auto made = static_cast<unsigned>(curve.size());
  totals.least_trials = totals.to_share.size() == 1 ? made : std::min(totals.least_trials, made);
  return line;
}

Json summary_of(const Totals& totals, std::size_t layers) {
  Json summary = {{"least_trials", totals.least_trials},
                  {"trials_measured", totals.measured},
                  {"trials_reused", totals.reused},
                  {"trials_to_95", 0.0},
                  {"trials_to_95_geomean", geometric_mean(totals.to_share)},
                  {"layers_never_at_95", totals.never}};
  double sum = 0;
  for (const double trials : totals.to_share) sum += trials;
  summary["trials_to_95"] = sum / static_cast<double>(layers);
  for (const auto& [level, shares] : totals.shares) {
    if (shares.size() < layers) continue;  // some layers have not come so far
    const std::string at = std::to_string(level);
    summary["share_at_" + at] = geometric_mean(shares);
    summary["least_share_at_" + at] = *std::min_element(shares.begin(), shares.end());
  }
  return summary;
}

Result<void> report(const EfficiencyBenchOptions& options,
                    const std::vector<std::string>& searchers, const records::Database& database,
                    const std::vector<Layer>& layers, const space::Target& target) {
  std::map<std::string, Totals> totals;
  std::size_t told = 0;  // layers that every searcher has begun
  for (const Layer& layer : layers) {
    std::map<std::string, std::vector<double>> curves;
    double best = 0;
    for (const std::string& searcher : searchers) {
      auto trials = trials_of(database, layer, target, session_name(options, searcher));
      if (!trials) return std::move(trials).error();
      std::vector<std::optional<double>> times;
      for (const auto& trial : *trials) {
        times.push_back(trial.nanoseconds());
        ++(trial.reused ? totals[searcher].reused : totals[searcher].measured);
      }
      if (times.size() > options.trials) times.resize(options.trials);
      auto& curve = curves[searcher] = best_so_far(times);
      if (curve.empty() || curve.back() <= 0) continue;
      best = best > 0 ? std::min(best, curve.back()) : curve.back();
    }
    const auto begun = [](const auto& entry) {
      return !entry.second.empty() && entry.second.back() > 0;
    };
    if (!std::all_of(curves.begin(), curves.end(), begun)) continue;
    ++told;
    for (const std::string& searcher : searchers) {
      const Json line = line_of(options, searcher, layer, curves[searcher], best, totals[searcher]);
      if (options.json) std::cout << line.dump() << "\n";
    }
  }
  Json summary = {{"benchmark", "efficiency"}, {"summary", true},
                  {"layers", layers.size()},   {"layers_begun", told},
                  {"trials", options.trials},  {"seed", options.seed},
                  {"prior", options.prior}};
  bool complete = told == layers.size();
  for (const std::string& searcher : searchers) {
    if (told == 0) break;
    summary["searchers"][searcher] = summary_of(totals[searcher], told);
    complete = complete && totals[searcher].least_trials >= options.trials;
  }
  summary["complete"] = complete;
  if (told > 0 && totals.contains("evolutionary") && totals.contains("xgb")) {
    const Json& of = summary["searchers"];
    summary["evolutionary_over_xgb_95"] =
        of["evolutionary"]["trials_to_95"].get<double>() / of["xgb"]["trials_to_95"].get<double>();
  }
  std::cout << summary.dump(options.json ? -1 : 1) << std::endl;
  return {};
}

}  // namespace

std::vector<double> best_so_far(std::span<const std::optional<double>> nanoseconds) {
  std::vector<double> curve;
  double best = 0;
  for (const std::optional<double>& time : nanoseconds) {
    if (time && *time > 0 && (best <= 0 || *time < best)) best = *time;
    curve.push_back(best);
  }
  return curve;
}

std::optional<double> share_reached(std::span<const double> curve, unsigned trials, double best) {
  if (trials == 0 || trials > curve.size()) return std::nullopt;
  const double had = curve[trials - 1];
  return had > 0 ? best / had : 0;
}

std::optional<unsigned> trials_to(std::span<const double> curve, double share, double best) {
  for (std::size_t i = 0; i < curve.size(); ++i) {
    if (curve[i] > 0 && best / curve[i] >= share) return static_cast<unsigned>(i + 1);
  }
  return std::nullopt;
}

Result<void> run_efficiency_bench(const EfficiencyBenchOptions& options) {
  std::vector<std::string> searchers = options.searchers;
  if (searchers.empty()) {
    searchers = tune::searcher_names();
    std::erase(searchers, "grid");
  }
  auto loop = LocalLoop::open(options.db, options.seconds);
  if (!loop) return std::move(loop).error();
  auto layers = layers_of(options, (*loop)->target());
  if (!layers) return std::move(layers).error();
  // All to the first level, then all to the next: what is there is comparable at any time.
  std::vector<unsigned> levels;
  for (const unsigned level : kLevels) {
    if (level < options.trials) levels.push_back(level);
  }
  levels.push_back(options.trials);
  for (const unsigned level : levels) {
    for (std::size_t i = 0; i < layers->size(); ++i) {
      for (const std::string& searcher : searchers) {
        if ((*loop)->stopped()) break;
        auto done = search(options, **loop, (*layers)[i], i, searcher, level);
        if (!done) return std::move(done).error().in(searcher + " on the device");
      }
    }
  }
  return report(options, searchers, (*loop)->database(), *layers, (*loop)->target());
}

}  // namespace fettle::bench
