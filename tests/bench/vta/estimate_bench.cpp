// The estimate judged (estimate_bench.h).
#include "tests/bench/vta/estimate_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "host/app/interrupt.h"
#include "host/records/table.h"
#include "schemas/wire/content_hash.h"
#include "tests/bench/rank_correlation.h"
#include "tests/bench/vta/core_runs.h"

namespace fettle::bench {
namespace {

constexpr unsigned kDraws = 1000;  // of a layer, before it is given up
constexpr std::size_t kLeastForRanks = 4;

// Adds up to `count` runs of the layer.
Result<void> draw(const VtaLayer& layer, std::size_t place, std::size_t count, std::mt19937_64& rng,
                  std::vector<CoreRun>& runs) {
  std::set<std::string> programs;
  for (unsigned draws = 0; draws < kDraws && programs.size() < count; ++draws) {
    const space::Configuration configuration = layer.task->space().random(rng);
    auto built = layer.task->build(configuration);
    if (!built) return std::move(built).error();
    if (layer.task->screen(built->facts->features)) continue;
    if (!programs.insert(to_hex(*built->program_hash)).second) continue;
    CoreRun& run = runs.emplace_back();
    run.layer = place;
    run.configuration = configuration;
  }
  return {};
}

void print_json(const Estimated& each) {
  std::cout << nlohmann::json{{"layer", each.title},
                              {"configuration", nlohmann::json::parse(each.configuration)},
                              {"estimated_cycles", each.estimated},
                              {"cycles", each.cycles},
                              {"difference", each.difference()}}
                   .dump()
            << std::endl;
}

std::map<std::string, std::vector<Estimated>> by_layer(const std::vector<Estimated>& all) {
  std::map<std::string, std::vector<Estimated>> layers;
  for (const Estimated& each : all) layers[each.title].push_back(each);
  return layers;
}

double ranks_agree(const std::vector<Estimated>& all) {
  std::vector<double> estimated, cycles;
  for (const Estimated& each : all) {
    estimated.push_back(static_cast<double>(each.estimated));
    cycles.push_back(static_cast<double>(each.cycles));
  }
  return rank_correlation(estimated, cycles);
}

void print(const std::vector<Estimated>& all) {
  using records::Align;
  const EstimateSummary whole = summarise(all);
  records::Table table({{"layer"},
                        {"programs", Align::Right},
                        {"cycles", Align::Right},
                        {"largest difference", Align::Right},
                        {"mean", Align::Right},
                        {"rank correlation", Align::Right}});
  const auto row = [&](const std::string& title, const std::vector<Estimated>& of) {
    const EstimateSummary summary = summarise(of);
    const auto [least, most] = std::minmax_element(
        of.begin(), of.end(), [](const auto& a, const auto& b) { return a.cycles < b.cycles; });
    table.row({title, std::to_string(of.size()),
               fmt::format("{} to {}", least->cycles, most->cycles),
               fmt::format("{:.2f} %", 100 * summary.largest),
               fmt::format("{:.2f} %", 100 * summary.mean),
               summary.rank_correlation ? fmt::format("{:.4f}", *summary.rank_correlation) : "-"});
  };
  for (const auto& [title, of] : by_layer(all)) row(title, of);
  table.rule();
  row("all", all);
  table.print(std::cout);
  std::cout << fmt::format(
      "\nestimates are {:.2f} % too {} in the mean; the rank correlation of all is the mean of the "
      "layers'\n",
      100 * std::fabs(whole.mean_signed), whole.mean_signed < 0 ? "low" : "high");
}

}  // namespace

EstimateSummary summarise(const std::vector<Estimated>& all) {
  EstimateSummary summary;
  summary.configurations = all.size();
  for (const Estimated& each : all) {
    summary.largest = std::max(summary.largest, std::fabs(each.difference()));
    summary.mean += std::fabs(each.difference()) / static_cast<double>(all.size());
    summary.mean_signed += each.difference() / static_cast<double>(all.size());
  }
  std::size_t layers = 0;
  double sum = 0;
  for (const auto& [title, of] : by_layer(all)) {
    if (of.size() < kLeastForRanks) continue;
    const double agree = ranks_agree(of);
    ++layers, sum += agree;
    if (summary.least_rank_correlation && agree > *summary.least_rank_correlation) continue;
    summary.least_rank_correlation = agree;
    summary.least_rank_correlation_layer = title;
  }
  if (layers > 0) summary.rank_correlation = sum / static_cast<double>(layers);
  return summary;
}

nlohmann::json to_json(const EstimateSummary& summary) {
  const auto number = [](const std::optional<double>& value) {
    return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
  };
  return {{"configurations", summary.configurations},
          {"largest_difference", summary.largest},
          {"mean_difference", summary.mean},
          {"mean_signed_difference", summary.mean_signed},
          {"rank_correlation", number(summary.rank_correlation)},
          {"least_rank_correlation_in_a_layer", number(summary.least_rank_correlation)},
          {"least_rank_correlation_layer",
           summary.least_rank_correlation ? nlohmann::json(summary.least_rank_correlation_layer)
                                          : nlohmann::json(nullptr)}};
}

Result<void> run_estimate_bench(const EstimateBenchOptions& options) {
  auto design = vta::find_design(options.design);
  if (!design) return std::move(design).error();
  auto layers = layers_of(options.network, options.layers, *design);
  if (!layers) return std::move(layers).error();
  for (const VtaLayer& layer : *layers) {
    if (!layer.missing.empty()) std::cerr << layer.title << ": " << layer.missing << "\n";
  }
  std::erase_if(*layers, [](const VtaLayer& layer) { return !layer.missing.empty(); });
  std::mt19937_64 rng(options.seed);
  std::vector<CoreRun> runs;
  for (std::size_t i = 0; i < layers->size(); ++i) {
    const std::size_t until = options.configurations * (i + 1) / layers->size();
    const std::size_t from = options.configurations * i / layers->size();
    if (auto drawn = draw((*layers)[i], i, until - from, rng, runs); !drawn) return drawn;
  }
  if (runs.empty()) {
    return Error{ErrorCode::NotFound, "no layer of " + options.network + " could be run", {}};
  }
  app::Interrupt interrupt;
  Answers answers(*layers);
  const unsigned here = std::max(1u, std::thread::hardware_concurrency());
  if (auto ran = run_on_cores(*layers, answers, runs,
                              {*design, true, options.jobs > 0 ? options.jobs : here, interrupt});
      !ran) {
    return ran;
  }
  std::vector<Estimated> all;
  for (const CoreRun& run : runs) {
    const VtaLayer& layer = (*layers)[run.layer];
    const std::string configuration = layer.task->space().to_json(run.configuration);
    if (!run.wrong.empty()) {
      return Error{ErrorCode::WrongAnswer, layer.title + " " + configuration + ": " + run.wrong};
    }
    all.push_back({layer.title, configuration, run.estimated, run.cycles});
    if (options.json) print_json(all.back());
  }
  if (!options.json) {
    print(all);
    return {};
  }
  nlohmann::json last = {{"benchmark", "vta-estimate"},
                         {"summary", true},
                         {"network", options.network},
                         {"design", vta::configuration_of(*design)},
                         {"seed", options.seed}};
  last.update(to_json(summarise(all)));
  std::cout << last.dump() << std::endl;
  return {};
}

}  // namespace fettle::bench
