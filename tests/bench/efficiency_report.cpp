// The figures of searches (efficiency_report.h).
#include "tests/bench/efficiency_report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "schemas/wire/median.h"

namespace fettle::bench {
namespace {

using Json = nlohmann::json;

constexpr double kShare = 0.95;
constexpr unsigned kLevels[] = {64, 200, 1000};  // trials at which shares are told
constexpr unsigned kLevelOfLayers = 64;          // at which layers under kShare are counted

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double geometric_mean(std::vector<double> values) {
  for (double& value : values) value = std::log(value);
  return std::exp(mean(values));
}

// Of a sample; null: of one value there is none.
Json deviation(const std::vector<double>& values) {
  if (values.size() < 2) return nullptr;
  const double middle = mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - middle) * (value - middle);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

// Runs of one arm, of one layer or of all.
struct Part {
  std::vector<double> to_share;
  std::map<unsigned, std::vector<double>> shares;  // by level
  unsigned never = 0, trials = 0, reused = 0;

  void add(const EfficiencyRun& run, double best, unsigned at_most) {
    const auto reached = trials_to(run.curve, kShare, best);
    to_share.push_back(reached ? *reached : at_most + 1.0);
    never += !reached;
    for (const unsigned level : kLevels) {
      if (const auto share = share_reached(run.curve, level, best)) shares[level].push_back(*share);
    }
    trials += static_cast<unsigned>(run.curve.size());
    reused += run.reused;
  }

  Json json() const {
    Json all = {{"runs", to_share.size()},
                {"trials_to_95", mean(to_share)},
                {"trials_to_95_deviation", deviation(to_share)},
                {"trials_to_95_median", median(to_share)},
                {"trials_to_95_geomean", geometric_mean(to_share)},
                {"runs_never_at_95", never},
                {"trials", trials},
                {"trials_reused", reused}};
    for (const auto& [level, values] : shares) {
      if (values.size() < to_share.size()) continue;
      const std::string at = std::to_string(level);
      all["share_at_" + at + "_median"] = median(values);
      all["least_share_at_" + at] = *std::min_element(values.begin(), values.end());
      all["runs_under_95_at_" + at] =
          std::count_if(values.begin(), values.end(), [](double share) { return share < kShare; });
    }
    return all;
  }
};

// Layer and seed that all arms have searched.
std::set<std::pair<std::size_t, std::uint64_t>> complete_pairs(
    std::size_t arms, const std::vector<EfficiencyLayer>& layers,
    const std::vector<EfficiencyRun>& runs) {
  std::map<std::pair<std::size_t, std::uint64_t>, std::size_t> seen;
  for (const EfficiencyRun& run : runs) seen[{run.layer, run.seed}] += layers[run.layer].best > 0;
  std::set<std::pair<std::size_t, std::uint64_t>> complete;
  for (const auto& [pair, count] : seen) {
    if (count == arms) complete.insert(pair);
  }
  return complete;
}

std::string number(const Json& value) {
  return value.is_number() ? fmt::format("{:.1f}", value.get<double>()) : std::string("–");
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

Json efficiency_summary(const std::vector<EfficiencyArm>& arms,
                        const std::vector<EfficiencyLayer>& layers,
                        const std::vector<EfficiencyRun>& runs) {
  unsigned at_most = 0;
  for (const EfficiencyArm& arm : arms) at_most = std::max(at_most, arm.trials);
  const auto pairs = complete_pairs(arms.size(), layers, runs);
  std::map<std::size_t, std::map<std::size_t, Part>> of_layer;  // by layer, then arm
  std::vector<Part> of_arm(arms.size());
  std::vector<std::map<std::uint64_t, std::vector<double>>> of_seed(arms.size());
  std::set<std::uint64_t> seeds;
  for (const EfficiencyRun& run : runs) {
    if (!pairs.contains({run.layer, run.seed})) continue;
    const double best = layers[run.layer].best;
    of_layer[run.layer][run.arm].add(run, best, at_most);
    of_arm[run.arm].add(run, best, at_most);
    of_seed[run.arm][run.seed].push_back(of_arm[run.arm].to_share.back());
    seeds.insert(run.seed);
  }
  Json summary = {{"benchmark", "efficiency"},       {"summary", true},
                  {"layers_begun", of_layer.size()}, {"layers_of_all", layers.size()},
                  {"seeds_begun", seeds.size()},     {"searchers", Json::object()},
                  {"layers", Json::object()}};
  for (std::size_t a = 0; a < arms.size(); ++a) {
    if (of_arm[a].to_share.empty()) continue;
    Json arm = of_arm[a].json();
    std::vector<double> seed_means;
    for (const auto& [seed, values] : of_seed[a]) {
      if (values.size() == layers.size()) seed_means.push_back(mean(values));
    }
    arm["most_trials"] = arms[a].trials;
    arm["trials_to_95_seed_deviation"] = deviation(seed_means);
    unsigned under = 0;
    for (auto& [layer, parts] : of_layer) {
      const Part& part = parts[a];
      const auto shares = part.shares.find(kLevelOfLayers);
      if (shares == part.shares.end()) continue;
      under += median(shares->second) < kShare;
    }
    if (arms[a].trials >= kLevelOfLayers) arm["layers_under_95_at_64"] = under;
    summary["searchers"][arms[a].name] = std::move(arm);
  }
  for (auto& [layer, parts] : of_layer) {
    Json& json = summary["layers"][layers[layer].title];
    for (auto& [a, part] : parts) json[arms[a].name] = part.json();
    json["best_ns"] = layers[layer].best;
  }
  double better = 0;
  for (const char* name : {"xgb-knob", "xgb-itervar"}) {
    if (!summary["searchers"].contains(name)) continue;
    const double trials = summary["searchers"][name]["trials_to_95"];
    better = better > 0 ? std::min(better, trials) : trials;
  }
  if (better > 0) {
    for (auto& [name, arm] : summary["searchers"].items()) {
      arm["over_better_xgb"] = arm["trials_to_95"].get<double>() / better;
    }
  }
  return summary;
}

Json efficiency_line(const std::vector<EfficiencyArm>& arms,
                     const std::vector<EfficiencyLayer>& layers, const EfficiencyRun& run) {
  const double best = layers[run.layer].best;
  Json line = {{"benchmark", "efficiency"},
               {"searcher", arms[run.arm].name},
               {"task", layers[run.layer].title},
               {"seed", run.seed},
               {"trials", run.curve.size()},
               {"trials_reused", run.reused},
               {"best_ns", run.curve.empty() ? 0 : run.curve.back()},
               {"best_ns_of_all", best}};
  for (const unsigned level : kLevels) {
    if (level > arms[run.arm].trials) continue;
    const auto share = share_reached(run.curve, level, best);
    line["share_at_" + std::to_string(level)] = share ? Json(*share) : Json(nullptr);
  }
  const auto reached = trials_to(run.curve, kShare, best);
  line["trials_to_95"] = reached ? Json(*reached) : Json(nullptr);
  return line;
}

std::string efficiency_table(const std::vector<EfficiencyArm>& arms, const Json& summary) {
  std::string text =
      fmt::format("trials to 95 % of the best, mean ± deviation over seeds\n{:<44}", "");
  for (const EfficiencyArm& arm : arms) text += fmt::format(" {:>21}", arm.name);
  text += "\n";
  const auto row = [&](const std::string& title, const auto& cell) {
    text += fmt::format("{:<44}", title);
    for (const EfficiencyArm& arm : arms) text += fmt::format(" {:>21}", cell(arm.name));
    text += "\n";
  };
  const auto spread = [](const Json& of, const char* deviation) {
    return number(of["trials_to_95"]) + " ± " + number(of[deviation]);
  };
  for (const auto& [title, layer] : summary["layers"].items()) {
    row(title,
        [&](const std::string& arm) { return spread(layer[arm], "trials_to_95_deviation"); });
  }
  const Json& all = summary["searchers"];
  if (all.empty()) return text + "no layer was searched by all of them yet\n";
  row("all layers (deviation of the seeds' means)",
      [&](const std::string& arm) { return spread(all[arm], "trials_to_95_seed_deviation"); });
  const auto figure = [&](const char* title, const char* field) {
    row(title, [&](const std::string& arm) {
      const Json& of = all[arm];
      if (!of.contains(field)) return std::string("–");
      return of[field].is_number_float() ? fmt::format("{:.2f}", of[field].get<double>())
                                         : of[field].dump();
    });
  };
  figure("geometric mean", "trials_to_95_geomean");
  figure("ratio to the better xgb", "over_better_xgb");
  figure("layers under 95 % at 64 trials", "layers_under_95_at_64");
  figure("runs under 95 % at 64 trials", "runs_under_95_at_64");
  figure("runs never at 95 %", "runs_never_at_95");
  figure("runs", "runs");
  figure("most trials of a run", "most_trials");
  return text;
}

}  // namespace fettle::bench
