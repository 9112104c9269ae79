// Two sessions of the same configurations (repeat_bench.h).
#include "tests/bench/repeat_bench.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <set>

#include <nlohmann/json.hpp>

#include "host/app/cores.h"
#include "host/backend/backend.h"
#include "host/records/queries.h"
#include "host/space/workload.h"
#include "tests/bench/conditions_compared.h"
#include "tests/bench/list_searcher.h"
#include "tests/bench/local_loop.h"
#include "tests/bench/rank_correlation.h"
#include "tests/bench/trial_times.h"
#include "tests/bench/tuned_threads.h"

namespace fettle::bench {
namespace {

using Json = nlohmann::json;

constexpr double kOutlier = 0.05;        // drift beyond which a configuration must be explained
constexpr double kSpare = 1.3;           // drawn for each wanted: some fail, some make one program
constexpr std::size_t kLeastOfTask = 5;  // configurations of one layer that an order needs

struct Layer {
  space::Task task;
  std::unique_ptr<const backend::Task> opened;
  std::vector<space::Configuration> chosen;
};

Result<std::vector<space::Task>> wanted_tasks(const RepeatBenchOptions& options) {
  auto list = tasks_of(options.network);
  if (!list) return std::move(list).error();
  std::erase_if(list->tasks, [&](const space::Task& task) {
    const std::string title = task.workload.title();
    const auto named = [&](const std::string& part) { return title.find(part) != title.npos; };
    return !options.layers.empty() &&
           std::none_of(options.layers.begin(), options.layers.end(), named);
  });
  return std::move(list->tasks);
}

Result<std::vector<Layer>> layers_of(const std::vector<space::Task>& tasks,
                                     const space::Target& target) {
  std::vector<Layer> layers;
  for (const space::Task& task : tasks) {
    if (auto opened = backend::open_task(task.workload.dag(), target)) {
      layers.push_back({task, std::move(*opened), {}});
    }
  }
  if (layers.empty()) return Error{ErrorCode::NotFound, "no layer of that name has a space", {}};
  return layers;
}

// From the fastest to the slowest of a task's records, in even steps of the logarithm
// of time as far as there are records, no program twice.
Result<std::vector<space::Configuration>> recorded(const records::Database& database,
                                                   const Layer& layer, const space::Target& target,
                                                   std::size_t count) {
  records::Filter filter;
  filter.workload = layer.task.workload.canonical();
  filter.target = target.canonical();
  filter.measured_only = true;
  auto records = records::history(database, filter);
  if (!records) return std::move(records).error();
  std::multimap<double, space::Configuration> by_time;
  std::set<std::string> programs;
  for (const records::TuningRecord& record : *records) {
    const wire::MeasurementT& m = *record.measurement();
    auto configuration =
        layer.opened->space().parse(record.configuration);  // the sketches may have changed
    if (!configuration || record.reused || m.ticks_per_second <= 0) continue;
    if (!programs.insert(record.program_hash).second) continue;
    by_time.emplace((m.censored ? m.interval_low : m.median) / m.ticks_per_second,
                    std::move(*configuration));
  }
  std::vector<space::Configuration> chosen;
  const std::size_t wanted = std::min(count, by_time.size());
  if (wanted == 0) return chosen;
  const double fastest = by_time.begin()->first, slowest = by_time.rbegin()->first;
  for (std::size_t i = 0; i < wanted; ++i) {
    const double place =
        static_cast<double>(i) / static_cast<double>(std::max<std::size_t>(1, wanted - 1));
    auto nearest = by_time.lower_bound(fastest * std::pow(slowest / fastest, place));
    if (nearest == by_time.end()) --nearest;
    chosen.push_back(std::move(nearest->second));
    by_time.erase(nearest);
  }
  return chosen;
}

std::vector<space::Configuration> drawn(const Layer& layer, std::size_t count,
                                        std::mt19937_64& rng) {
  std::vector<space::Configuration> chosen;
  std::set<std::string> seen;
  for (std::size_t tries = 0; tries < 50 * count && chosen.size() < count; ++tries) {
    space::Configuration configuration = layer.opened->space().random(rng);
    if (!seen.insert(layer.opened->space().to_json(configuration)).second) continue;
    if (!layer.opened->features(configuration)) continue;
    chosen.push_back(std::move(configuration));
  }
  return chosen;
}

// The records to draw from; none without --from.
Result<std::optional<records::Database>> open_from(const RepeatBenchOptions& options) {
  std::optional<records::Database> database;
  if (options.from.empty()) return database;
  records::OpenOptions how;
  how.read_only = true;
  how.create = false;
  auto opened = records::Database::open(options.from, how);
  if (!opened) return std::move(opened).error();
  database.emplace(std::move(*opened));
  return database;
}

Result<int> threads_of(const RepeatBenchOptions& options, const std::vector<space::Task>& tasks,
                       const std::optional<records::Database>& from) {
  if (options.threads > 0 || !from) return std::max(1, static_cast<int>(options.threads));
  std::set<std::string> workloads;
  for (const space::Task& task : tasks) workloads.insert(task.workload.canonical());
  const auto tuned = tuned_threads(*from, workloads, "local");
  if (!tuned) return tuned.error();
  const int cores = static_cast<int>(app::usable_cores().size());
  if (*tuned == 0 || *tuned > cores) {
    const std::string what = "the layers' records of this machine (device key \"local\") in ";
    return Error{ErrorCode::NotFound,
                 *tuned == 0 ? "there are none of " + what + options.from
                             : what + options.from + " are for " + std::to_string(*tuned) +
                                   " threads, there are " + std::to_string(cores) + " cores",
                 {}};
  }
  return *tuned;
}

Result<void> choose(const RepeatBenchOptions& options, const space::Target& target,
                    const std::optional<records::Database>& database, std::vector<Layer>& layers) {
  const double all = options.count * kSpare;
  const auto each = static_cast<std::size_t>(std::ceil(all / static_cast<double>(layers.size())));
  std::mt19937_64 rng(options.seed);
  for (Layer& layer : layers) {
    if (!database) {
      layer.chosen = drawn(layer, each, rng);
      continue;
    }
    auto chosen = recorded(*database, layer, target, each);
    if (!chosen) return std::move(chosen).error();
    layer.chosen = std::move(*chosen);
  }
  return {};
}

// What was measured: by layer, then by the configuration's text.
using Measurements = std::map<std::pair<std::size_t, std::string>, records::TuningRecord>;

// Every configuration once, in an order of its own; keeps the faster of two records.
Result<void> measure_round(LocalLoop& loop, const std::string& name, std::vector<Layer>& layers,
                           std::mt19937_64& rng, Measurements& measured) {
  std::vector<tune::TuneTask> tasks;
  tune::TuneOptions how;
  how.racing = false;  // a stopped trial has no median
  how.trials = 0;
  for (Layer& layer : layers) {
    std::shuffle(layer.chosen.begin(), layer.chosen.end(), rng);
    tasks.push_back(
        {layer.task, &layer.opened->space(), std::make_unique<ListSearcher>(layer.chosen), {}});
    how.trials += static_cast<std::uint32_t>(layer.chosen.size());
  }
  std::int64_t before = 0;
  auto scanned = loop.database().for_each({}, [&](const records::TuningRecord& record) {
    before = record.id;
    return true;
  });
  if (!scanned) return scanned.error();
  const auto summary = loop.run(tasks, how, name);
  if (!summary) return summary.error();
  if (loop.stopped()) return Error{ErrorCode::Canceled, "interrupted", {}};
  for (std::size_t i = 0; i < layers.size(); ++i) {
    records::Filter filter;
    filter.workload = layers[i].task.workload.canonical();
    filter.after_id = before;
    filter.measured_only = true;
    auto records = records::history(loop.database(), filter);
    if (!records) return std::move(records).error();
    for (records::TuningRecord& record : *records) {
      if (record.reused) continue;  // another configuration's measurement
      const auto place = measured.try_emplace({i, record.configuration}, record);
      records::TuningRecord& kept = place.first->second;
      if (*record.nanoseconds() < *kept.nanoseconds()) kept = std::move(record);
    }
  }
  return {};
}

Result<Measurements> measure(const RepeatBenchOptions& options, int threads,
                             std::vector<Layer>& layers, unsigned session, std::uint64_t order) {
  auto loop = LocalLoop::open(options.db, 0, threads);
  if (!loop) return std::move(loop).error();
  std::mt19937_64 rng(order);
  Measurements measured;
  for (unsigned round = 0; round < options.rounds; ++round) {
    const std::string name =
        "repeat " + std::to_string(session) + ", round " + std::to_string(round + 1);
    auto done = measure_round(**loop, name, layers, rng, measured);
    if (!done) return std::move(done).error();
  }
  return measured;
}

// `count` of what was measured, as many of each layer as there are places for.
void keep_measured(const Measurements& measured, unsigned count, std::vector<Layer>& layers) {
  std::size_t left = count;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::size_t share = (left + layers.size() - i - 1) / (layers.size() - i);
    std::vector<std::pair<double, space::Configuration>> fit;
    for (auto& configuration : layers[i].chosen) {
      const auto found = measured.find({i, layers[i].opened->space().to_json(configuration)});
      if (found == measured.end()) continue;
      fit.emplace_back(*found->second.nanoseconds(), std::move(configuration));
    }
    std::sort(fit.begin(), fit.end(), [](auto& a, auto& b) { return a.first < b.first; });
    const std::size_t kept = std::min(share, fit.size());
    layers[i].chosen.clear();
    for (std::size_t k = 0; k < kept; ++k) {
      const std::size_t place = k * (fit.size() - 1) / std::max<std::size_t>(1, kept - 1);
      layers[i].chosen.push_back(std::move(fit[place].second));
    }
    left -= kept;
  }
}

double spread_of(const wire::MeasurementT& m) {
  return (m.interval_high - m.interval_low) / 2 / m.median;
}

struct Comparison {
  std::map<std::size_t, RepeatedTimes> by_layer;
  std::vector<double> drifts;
  unsigned outliers = 0, explained = 0;
};

Comparison compare(const RepeatBenchOptions& options, const std::vector<Layer>& layers,
                   const Measurements& one, const Measurements& two) {
  Comparison all;
  for (const auto& [key, again] : two) {
    const auto found = one.find(key);
    if (found == one.end()) continue;
    const records::TuningRecord& before = found->second;
    const double a = *before.nanoseconds(), b = *again.nanoseconds();
    const double drift = b / a - 1;
    const bool slower = b > a;
    const auto reasons = slowing_conditions(slower ? *again.measurement() : *before.measurement(),
                                            slower ? *before.measurement() : *again.measurement());
    const bool outlier = std::fabs(std::log(b / a)) > std::log1p(kOutlier);
    all.by_layer[key.first].first.push_back(a);
    all.by_layer[key.first].second.push_back(b);
    all.drifts.push_back(std::fabs(drift));
    all.outliers += outlier;
    all.explained += outlier && !reasons.empty();
    if (!options.json && !outlier) continue;
    const std::string title = layers[key.first].task.workload.title();
    if (options.json) {
      const Json line = {
          {"benchmark", "repeat"},
          {"task", title},
          {"configuration", Json::parse(key.second, nullptr, false)},
          {"records", {before.id, again.id}},
          {"ns", {a, b}},
          {"half_interval", {spread_of(*before.measurement()), spread_of(*again.measurement())}},
          {"drift", drift},
          {"outlier", outlier},
          {"conditions", reasons}};
      std::cout << line.dump() << "\n";
    } else {
      std::string why;
      for (const std::string& reason : reasons) why += " " + reason;
      std::printf("%-44s %10.1f us %10.1f us %+6.1f %%:%s\n", title.c_str(), a / 1e3, b / 1e3,
                  drift * 100, why.empty() ? " not explained" : why.c_str());
    }
  }
  return all;
}

}  // namespace

Json agreement_json(const std::vector<RepeatedTimes>& layers) {
  std::vector<double> ranks, spans;
  for (const RepeatedTimes& times : layers) {
    if (times.first.size() < kLeastOfTask) continue;
    ranks.push_back(rank_correlation(times.first, times.second));
    const auto [fastest, slowest] = std::minmax_element(times.first.begin(), times.first.end());
    spans.push_back(std::log(*slowest / *fastest));
  }
  if (ranks.empty()) {
    return {{"rank_correlation", nullptr},
            {"least_rank_correlation_in_a_task", nullptr},
            {"slowest_over_fastest", nullptr}};
  }
  const auto mean = [](const std::vector<double>& of) {
    return std::accumulate(of.begin(), of.end(), 0.0) / static_cast<double>(of.size());
  };
  return {{"rank_correlation", mean(ranks)},
          {"least_rank_correlation_in_a_task", *std::min_element(ranks.begin(), ranks.end())},
          {"slowest_over_fastest", std::exp(mean(spans))}};
}

Result<void> run_repeat_bench(const RepeatBenchOptions& options) {
  const auto tasks = wanted_tasks(options);
  if (!tasks) return tasks.error();
  const auto from = open_from(options);
  if (!from) return from.error();
  const auto threads = threads_of(options, *tasks, *from);
  if (!threads) return threads.error();
  std::vector<Layer> layers;
  {
    auto loop = LocalLoop::open(options.db, 0, *threads);
    if (!loop) return std::move(loop).error();
    const space::Target& target = (*loop)->target();
    auto found = layers_of(*tasks, target);
    if (!found) return std::move(found).error();
    layers = std::move(*found);
    if (auto chosen = choose(options, target, *from, layers); !chosen) return chosen.error();
    std::erase_if(layers, [](const Layer& layer) { return layer.chosen.empty(); });
    if (layers.empty()) {
      return Error{ErrorCode::NotFound,
                   "no configuration of these layers" +
                       (*from ? " in " + options.from + " for " + target.canonical()
                              : std::string(" can be built")),
                   {}};
    }
  }
  auto one = measure(options, *threads, layers, 1, options.seed);
  if (!one) return std::move(one).error().in("the first session");
  keep_measured(*one, options.count, layers);
  auto two = measure(options, *threads, layers, 2, options.seed + 1);
  if (!two) return std::move(two).error().in("the second session");

  const Comparison all = compare(options, layers, *one, *two);
  if (all.drifts.empty()) {
    return Error{ErrorCode::Disturbed, "no configuration was measured in both sessions", {}};
  }
  Json summary = {{"benchmark", "repeat"},
                  {"summary", true},
                  {"configurations", all.drifts.size()},
                  {"tasks", all.by_layer.size()},
                  {"rounds", options.rounds},
                  {"threads", *threads},
                  {"median_drift", median_of(all.drifts)},
                  {"largest_drift", *std::max_element(all.drifts.begin(), all.drifts.end())},
                  {"outliers", all.outliers},
                  {"outliers_explained", all.explained}};
  std::vector<RepeatedTimes> layer_times;
  for (auto& [layer, times] : all.by_layer) layer_times.push_back(times);
  summary.update(agreement_json(layer_times));
  std::cout << summary.dump(options.json ? -1 : 1) << std::endl;
  return {};
}

}  // namespace fettle::bench
