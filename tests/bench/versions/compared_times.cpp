// Reading runs of `fettle-bench kernels`; medians and geometric means (compared_times.h).
#include "tests/bench/versions/compared_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/bench/trial_times.h"

namespace fettle::bench {
namespace {

using Json = nlohmann::json;

double number_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

// False: the line is of no layer.
bool add_layer(const Json& line, KernelRun& run) {
  const auto layer = line.find("layer");
  if (layer == line.end() || !layer->is_string()) return false;
  std::string title = layer->get<std::string>();
  const auto had = [&](const std::string& name) {
    return std::find(run.layers.begin(), run.layers.end(), name) != run.layers.end();
  };
  for (int again = 2; had(title); ++again) {
    title = fmt::format("{} ({})", layer->get<std::string>(), again);
  }
  const auto ours = line.find("fettle");
  const double nanoseconds =
      ours != line.end() && ours->is_object() ? number_of(*ours, "ns_median") : 0;
  if (nanoseconds > 0) {
    LayerTime& time = run.times[title];
    time.nanoseconds = nanoseconds;
    if (const double ratio = number_of(line, "ratio"); ratio > 0) time.onednn_ratio = ratio;
  } else {
    const auto why = line.find("missing");
    if (why == line.end() || !why->is_string()) return false;
    run.missing[title] = why->get<std::string>();
  }
  run.layers.push_back(std::move(title));
  return true;
}

// Of one layer in the runs of one build: the time in each turn.
struct Turns {
  std::vector<LayerTime> of;  // as many as there are turns
  LayerTime median() const {
    std::vector<double> times, ratios;
    for (const LayerTime& time : of) {
      times.push_back(time.nanoseconds);
      if (time.onednn_ratio) ratios.push_back(*time.onednn_ratio);
    }
    LayerTime middle{median_of(times), std::nullopt};
    if (!ratios.empty()) middle.onednn_ratio = median_of(ratios);
    return middle;
  }
};

// Of the seed whose median is least, among those timed in every turn; empty: none is.
std::optional<Turns> best_of(const KernelRuns& runs, const std::string& layer) {
  std::optional<Turns> best;
  for (const std::vector<KernelRun>& turns : runs) {
    Turns mine;
    for (const KernelRun& run : turns) {
      const auto found = run.times.find(layer);
      if (found != run.times.end()) mine.of.push_back(found->second);
    }
    if (mine.of.empty() || mine.of.size() < turns.size()) continue;
    if (!best || mine.median().nanoseconds < best->median().nanoseconds) best = std::move(mine);
  }
  return best;
}

std::string why_missing(const KernelRuns& runs, const std::string& layer) {
  for (const auto& turns : runs) {
    for (const KernelRun& run : turns) {
      if (const auto found = run.missing.find(layer); found != run.missing.end()) {
        return found->second;
      }
    }
  }
  return "no layer of that name there";
}

// Of either build, each once, in the network's order.
std::vector<std::string> layers_of(const KernelRuns& baseline, const KernelRuns& candidate) {
  std::vector<std::string> all;
  for (const KernelRuns* runs : {&baseline, &candidate}) {
    for (const auto& turns : *runs) {
      for (const KernelRun& run : turns) {
        for (const std::string& layer : run.layers) {
          if (std::find(all.begin(), all.end(), layer) == all.end()) all.push_back(layer);
        }
      }
    }
  }
  return all;
}

}  // namespace

Result<KernelRun> parse_kernel_run(std::string_view lines) {
  KernelRun run;
  bool summary = false;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    const Json object = Json::parse(line, nullptr, false);
    summary = object.is_object() && object.contains("summary");
    if (!object.is_object() || (!summary && !add_layer(object, run))) {
      return Error{ErrorCode::Malformed, "no line of a layer: '" + std::string(line) + "'", {}};
    }
  }
  if (!summary) {
    return Error{
        ErrorCode::Malformed, fmt::format("no summary after {} layers", run.layers.size()), {}};
  }
  return run;
}

std::vector<std::string> ComparedNetwork::lost() const {
  std::vector<std::string> titles;
  for (const auto& [title, why] : missing_in_candidate) {
    if (!missing_in_baseline.contains(title)) titles.push_back(title);
  }
  return titles;
}

ComparedNetwork compare(const std::string& network, const KernelRuns& baseline,
                        const KernelRuns& candidate) {
  ComparedNetwork compared;
  compared.network = network;
  for (const std::string& title : layers_of(baseline, candidate)) {
    const auto before = best_of(baseline, title), now = best_of(candidate, title);
    if (!before) compared.missing_in_baseline[title] = why_missing(baseline, title);
    if (!now) compared.missing_in_candidate[title] = why_missing(candidate, title);
    if (!before || !now) continue;
    ComparedLayer layer{title, before->median(), now->median(), {}};
    for (std::size_t turn = 0; turn < std::min(before->of.size(), now->of.size()); ++turn) {
      layer.of_turns.push_back(before->of[turn].nanoseconds / now->of[turn].nanoseconds);
    }
    compared.layers.push_back(std::move(layer));
  }
  return compared;
}

Spread spread_of(std::span<const double> values) {
  if (values.empty()) return {};
  double logarithms = 0;
  for (const double value : values) logarithms += std::log(value);
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return {std::exp(logarithms / static_cast<double>(values.size())), *least, *most};
}

Spread ComparedVersions::kernels() const {
  std::vector<double> ratios;
  std::vector<std::vector<double>> turns;  // of each turn: the layers' ratios
  for (const ComparedNetwork& network : networks) {
    for (const ComparedLayer& layer : network.layers) {
      ratios.push_back(layer.ratio());
      if (turns.size() < layer.of_turns.size()) turns.resize(layer.of_turns.size());
      for (std::size_t i = 0; i < layer.of_turns.size(); ++i) turns[i].push_back(layer.of_turns[i]);
    }
  }
  std::vector<double> means;
  for (const auto& turn : turns) means.push_back(spread_of(turn).geomean);
  const Spread of_turns = spread_of(means);
  return {spread_of(ratios).geomean, of_turns.least, of_turns.most};
}

Spread ComparedVersions::trials_per_hour() const {
  std::vector<double> ratios;
  for (const ComparedTunes& pair : tunes) ratios.push_back(pair.ratio());
  return spread_of(ratios);
}

std::vector<std::string> slower_because(const ComparedVersions& versions) {
  std::vector<std::string> reasons;
  const auto hold = [&](const char* what, double value, double least) {
    if (value < least) reasons.push_back(fmt::format("{} {:.4f} < {:.2f}", what, value, least));
  };
  hold("kernels_geomean", versions.kernels().geomean, kLeastKernels);
  hold("trials_per_hour_ratio", versions.trials_per_hour().geomean, kLeastTrialsPerHour);
  for (const ComparedNetwork& network : versions.networks) {
    for (const std::string& title : network.lost()) {
      reasons.push_back(fmt::format("{} of {} is lost: {}", title, network.network,
                                    network.missing_in_candidate.at(title)));
    }
  }
  return reasons;
}

}  // namespace fettle::bench
