// Draws, features, builds, and their CPU time (candidate_bench.h).
#include "tests/bench/host/candidate_bench.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

#include <nlohmann/json.hpp>

#include "host/backend/backend.h"
#include "host/backend/cpu_llvm/host_cpu.h"
#include "host/records/database.h"
#include "tests/bench/local_loop.h"
#include "tests/bench/process_cpu.h"
#include "tests/support/native_run.h"

namespace fettle::bench {
namespace {

using Json = nlohmann::json;

struct Costs {
  std::vector<double> features_ms, build_ms;
};

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         double(std::max<std::size_t>(values.size(), 1));
}
double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Result<double> build_milliseconds(const backend::Task& task,
                                  const space::Configuration& configuration) {
  const double begun = thread_milliseconds();
  const auto built = task.build(configuration);
  if (!built) return built.error();
  return thread_milliseconds() - begun;
}

// Of one task. What the screen takes out is lowered, but not built.
Result<Costs> costs_of_draws(const backend::Task& task, const CandidateBenchOptions& options,
                             std::mt19937_64& rng) {
  Costs costs;
  const unsigned draws = options.candidates * options.lowered;
  for (unsigned drawn = 0; drawn < draws; ++drawn) {
    const space::Configuration configuration = task.space().random(rng);
    const double start = thread_milliseconds();
    const auto features = task.features(configuration);
    costs.features_ms.push_back(thread_milliseconds() - start);
    if (!features || task.screen(*features)) continue;
    if (costs.build_ms.size() * options.lowered > drawn) continue;
    const auto built = build_milliseconds(task, configuration);
    if (!built) return built.error();
    costs.build_ms.push_back(*built);
  }
  return costs;
}

// What sessions chose of one task, in the order of their trials.
Result<std::vector<space::Configuration>> recorded(const backend::Task& task,
                                                   const records::Database& database,
                                                   const std::string& workload, unsigned most) {
  records::Filter filter;
  filter.workload = workload;
  std::vector<space::Configuration> found;
  auto read = database.for_each(filter, [&](const records::TuningRecord& record) {
    auto configuration = task.space().parse(record.configuration);
    if (configuration) found.push_back(std::move(*configuration));
    return found.size() < most;
  });
  if (!read) return std::move(read).error();
  return found;
}

Result<Costs> costs_of_recorded(const backend::Task& task,
                                const std::vector<space::Configuration>& configurations) {
  Costs costs;
  for (const space::Configuration& configuration : configurations) {
    const double start = thread_milliseconds();
    const auto features = task.features(configuration);
    costs.features_ms.push_back(thread_milliseconds() - start);
    if (!features) return features.error();
    const auto built = build_milliseconds(task, configuration);
    if (!built) return built.error();
    costs.build_ms.push_back(*built);
  }
  return costs;
}

void add(std::vector<double>& all, const std::vector<double>& some) {
  all.insert(all.end(), some.begin(), some.end());
}

Json figures(const Costs& costs) {
  return {{"lowered", costs.features_ms.size()},
          {"features_ms_mean", mean(costs.features_ms)},
          {"features_ms_median", median(costs.features_ms)},
          {"built", costs.build_ms.size()},
          {"build_ms_mean", mean(costs.build_ms)},
          {"build_ms_median", median(costs.build_ms)}};
}

void print(const std::string& title, const Costs& costs, bool json) {
  Json line = figures(costs);
  if (json) {
    line["layer"] = title;
    std::cout << line.dump() << std::endl;
    return;
  }
  std::printf("%-46s features %6.2f ms (median %6.2f), build %6.1f ms (median %6.1f)\n",
              title.c_str(), line["features_ms_mean"].get<double>(),
              line["features_ms_median"].get<double>(), line["build_ms_mean"].get<double>(),
              line["build_ms_median"].get<double>());
  std::fflush(stdout);
}

space::CpuTarget target_of(const std::string& arch) {
  if (arch == "aarch64") return testing::aarch64_target();
  if (arch == "armv7") return testing::armv7_target();
  return backend::cpu_llvm::host_target();
}

}  // namespace

Result<void> run_candidate_bench(const CandidateBenchOptions& options) {
  const auto list = tasks_of(options.network);
  if (!list) return list.error();
  const space::Target target = target_of(options.arch).target();
  std::mt19937_64 rng(options.seed);
  std::optional<records::Database> database;
  if (!options.database.empty()) {
    auto opened = records::Database::open(options.database, {.read_only = true});
    if (!opened) return std::move(opened).error();
    database = std::move(*opened);
  }
  Costs all;
  for (const auto& layer : list->tasks) {
    if (layer.workload.kernel()) {
      return Error{ErrorCode::Unsupported,
                   options.network + " is a kernel: only layers are lowered"};
    }
    const auto task = backend::open_task(layer.workload.dag(), target);
    if (!task) return task.error();
    const auto costs = [&]() -> Result<Costs> {
      if (!database) return costs_of_draws(**task, options, rng);
      const auto found =
          recorded(**task, *database, layer.workload.canonical(), options.candidates);
      if (!found) return found.error();
      return costs_of_recorded(**task, *found);
    }();
    if (!costs) return Error(costs.error()).in("building " + layer.workload.title());
    print(layer.workload.title(), *costs, options.json);
    add(all.features_ms, costs->features_ms);
    add(all.build_ms, costs->build_ms);
  }
  if (all.build_ms.empty()) {
    return Error{ErrorCode::NotFound, options.database + " has no candidate of " + options.network +
                                          " that this fettle makes"};
  }
  if (!options.json) {
    print("all", all, false);
    return {};
  }
  Json summary = figures(all);
  summary.update({{"benchmark", "candidates"},
                  {"summary", true},
                  {"network", options.network},
                  {"arch", options.arch},
                  {"db", options.database},
                  {"seed", options.seed}});
  std::cout << summary.dump() << std::endl;
  return {};
}

}  // namespace fettle::bench
