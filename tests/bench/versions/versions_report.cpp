// Tables and JSON lines of compared versions (versions_report.h).
#include "tests/bench/versions/versions_report.h"

#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "host/records/table.h"

namespace fettle::bench {
namespace {

using Json = nlohmann::json;
using records::Align;

struct NetworkMeans {
  Spread ratio;
  // Each side beside oneDNN, over the layers where both sides were; empty: none.
  std::optional<double> baseline_onednn, candidate_onednn;
};

NetworkMeans means_of(const ComparedNetwork& network) {
  std::vector<double> ratios, baseline, candidate;
  for (const ComparedLayer& layer : network.layers) {
    ratios.push_back(layer.ratio());
    if (!layer.baseline.onednn_ratio || !layer.candidate.onednn_ratio) continue;
    baseline.push_back(*layer.baseline.onednn_ratio);
    candidate.push_back(*layer.candidate.onednn_ratio);
  }
  NetworkMeans means{spread_of(ratios), std::nullopt, std::nullopt};
  if (baseline.empty()) return means;
  means.baseline_onednn = spread_of(baseline).geomean;
  means.candidate_onednn = spread_of(candidate).geomean;
  return means;
}

Json number(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

std::string text(const std::optional<double>& value) {
  return value ? fmt::format("{:.3f}", *value) : "-";
}

Json line_of(const ComparedTunes& pair) {
  return {{"benchmark", "versions"},
          {"kind", "tune"},
          {"network", pair.network},
          {"seed", pair.seed},
          {"baseline_trials_per_hour", pair.baseline_per_hour},
          {"candidate_trials_per_hour", pair.candidate_per_hour},
          {"ratio", pair.ratio()}};
}

Json line_of(const std::string& network, const ComparedLayer& layer) {
  return {{"benchmark", "versions"},
          {"kind", "layer"},
          {"network", network},
          {"layer", layer.title},
          {"baseline_ns", layer.baseline.nanoseconds},
          {"candidate_ns", layer.candidate.nanoseconds},
          {"ratio", layer.ratio()},
          {"ratio_of_turns", layer.of_turns},
          {"baseline_onednn_ratio", number(layer.baseline.onednn_ratio)},
          {"candidate_onednn_ratio", number(layer.candidate.onednn_ratio)}};
}

Json line_of(const ComparedNetwork& network) {
  const NetworkMeans means = means_of(network);
  return {{"benchmark", "versions"},
          {"kind", "network"},
          {"network", network.network},
          {"layers", network.layers.size()},
          {"kernels_geomean", means.ratio.geomean},
          {"least_ratio", means.ratio.least},
          {"baseline_onednn_geomean", number(means.baseline_onednn)},
          {"candidate_onednn_geomean", number(means.candidate_onednn)},
          {"missing_in_baseline", network.missing_in_baseline},
          {"missing_in_candidate", network.missing_in_candidate}};
}

}  // namespace

void print_json(const ComparedVersions& versions, std::ostream& out) {
  for (const ComparedTunes& pair : versions.tunes) out << line_of(pair).dump() << "\n";
  std::size_t layers = 0;
  std::vector<std::string> lost;
  for (const ComparedNetwork& network : versions.networks) {
    for (const ComparedLayer& layer : network.layers) {
      out << line_of(network.network, layer).dump() << "\n";
    }
    out << line_of(network).dump() << "\n";
    layers += network.layers.size();
    for (const std::string& title : network.lost()) lost.push_back(network.network + ": " + title);
  }
  const Spread kernels = versions.kernels(), trials = versions.trials_per_hour();
  const Json summary = {{"benchmark", "versions"},
                        {"summary", true},
                        {"layers", layers},
                        {"layers_lost", lost},
                        {"kernels_geomean", kernels.geomean},
                        {"kernels_geomean_least_turn", kernels.least},
                        {"kernels_geomean_most_turn", kernels.most},
                        {"tunes", versions.tunes.size()},
                        {"trials_per_hour_ratio", trials.geomean},
                        {"trials_per_hour_ratio_least", trials.least},
                        {"trials_per_hour_ratio_most", trials.most},
                        {"slower_because", slower_because(versions)}};
  out << summary.dump() << std::endl;
}

void print_tables(const ComparedVersions& versions, std::ostream& out) {
  records::Table tunes({{"tuned"},
                        {"seed", Align::Right},
                        {"baseline, trials/h", Align::Right},
                        {"candidate", Align::Right},
                        {"ratio", Align::Right}});
  for (const ComparedTunes& pair : versions.tunes) {
    tunes.row(
        {pair.network, std::to_string(pair.seed), fmt::format("{:.0f}", pair.baseline_per_hour),
         fmt::format("{:.0f}", pair.candidate_per_hour), fmt::format("{:.3f}", pair.ratio())});
  }
  tunes.print(out);
  for (const ComparedNetwork& network : versions.networks) {
    records::Table layers({{"\n" + network.network},
                           {"baseline, µs", Align::Right},
                           {"candidate", Align::Right},
                           {"ratio", Align::Right},
                           {"baseline to oneDNN", Align::Right},
                           {"candidate", Align::Right}});
    for (const ComparedLayer& layer : network.layers) {
      layers.row({layer.title, fmt::format("{:.1f}", layer.baseline.nanoseconds * 1e-3),
                  fmt::format("{:.1f}", layer.candidate.nanoseconds * 1e-3),
                  fmt::format("{:.3f}", layer.ratio()), text(layer.baseline.onednn_ratio),
                  text(layer.candidate.onednn_ratio)});
    }
    const NetworkMeans means = means_of(network);
    layers.rule();
    layers.row({"geometric mean", "", "", fmt::format("{:.3f}", means.ratio.geomean),
                text(means.baseline_onednn), text(means.candidate_onednn)});
    layers.print(out);
    for (const auto& [title, why] : network.missing_in_baseline) {
      out << "missing in the baseline: " << title << ": " << why << "\n";
    }
    for (const auto& [title, why] : network.missing_in_candidate) {
      out << "missing in the candidate: " << title << ": " << why << "\n";
    }
  }
  const Spread kernels = versions.kernels(), trials = versions.trials_per_hour();
  out << fmt::format(
      "\nRatios: above 1 the candidate is faster.\n"
      "kernels_geomean {:.4f} ({:.4f} to {:.4f} in single turns)\n"
      "trials_per_hour_ratio {:.4f} ({:.4f} to {:.4f} in single pairs)\n",
      kernels.geomean, kernels.least, kernels.most, trials.geomean, trials.least, trials.most);
  out.flush();
}

}  // namespace fettle::bench
