// Ratios, their means and their JSON (tvm_figures.h).
#include "tests/bench/peers/tvm_figures.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/bench/versions/json_summary.h"

namespace fettle::bench {
namespace {

using Json = nlohmann::json;

// `timing`: of the best kernel, here; null: it was not timed.
Json side(const LayerFigures& layer, const TuneFigures& tune, const Timing* timing) {
  Json object = {{"trials", tune.trials},
                 {"failed", tune.failed},
                 {"reused", tune.reused},
                 {"seconds", tune.seconds},
                 {"trials_per_hour", tune.per_hour()}};
  if (tune.told_ns > 0) object["gflops_told"] = layer.operations / tune.told_ns;
  if (timing == nullptr) return object;
  object["ns_median"] = timing->median();
  object["gflops"] = layer.gflops(*timing);
  return object;
}

}  // namespace

Result<TuneFigures> parse_fettle_tune(const std::string& lines) {
  const Json told = last_json_line(lines);
  const Error malformed{ErrorCode::Malformed, "it does not end in a summary", {}};
  if (!told.is_object() || !told.contains("tasks") || !told["tasks"].is_array()) return malformed;
  TuneFigures figures;
  for (const Json& task : told["tasks"]) {
    for (const auto& [name, to] : {std::pair{"trials", &figures.trials},
                                   {"failed", &figures.failed},
                                   {"reused", &figures.reused}}) {
      if (!task.is_object() || !task.contains(name) || !task[name].is_number_unsigned()) {
        return malformed;
      }
      *to += task[name].get<unsigned>();
    }
  }
  if (figures.trials > figures.reused) return figures;
  return Error{ErrorCode::Malformed, "it has measured nothing", {}};
}

std::optional<double> TunedLayer::kernel_ratio() const {
  if (!kernels.missing.empty() || tvm() == nullptr) return std::nullopt;
  return kernels.ratio(*tvm());
}

TunedSummary summarise(const std::vector<TunedLayer>& layers) {
  TunedSummary summary;
  summary.layers = layers.size();
  double kernels = 0, trials = 0;
  for (const TunedLayer& layer : layers) {
    trials += std::log(layer.trials_ratio());
    const auto ratio = layer.kernel_ratio();
    if (!ratio) continue;
    ++summary.compared;
    kernels += std::log(*ratio);
  }
  if (summary.layers > 0) summary.trials_ratio = std::exp(trials / double(summary.layers));
  if (summary.compared > 0) summary.kernel_ratio = std::exp(kernels / double(summary.compared));
  return summary;
}

Json to_json(const TunedLayer& layer) {
  const bool ours = layer.kernels.missing.empty();
  const PeerFigures* tvm = layer.tvm();
  Json object = {{"benchmark", "tvm"},
                 {"layer", layer.kernels.title},
                 {"fettle", side(layer.kernels, layer.ours, ours ? &layer.kernels.ours : nullptr)},
                 {"tvm", side(layer.kernels, layer.theirs, tvm ? &tvm->timing : nullptr)},
                 {"trials_per_hour_ratio", layer.trials_ratio()}};
  if (!ours) object["missing"] = layer.kernels.missing;
  for (const PeerFigures& peer : layer.kernels.peers) {
    if (!peer.absent.empty()) object["tvm"]["absent"] = peer.absent;
  }
  if (const auto ratio = layer.kernel_ratio()) object["ratio"] = *ratio;
  return object;
}

Json to_json(const TunedSummary& summary) {
  Json object = {{"benchmark", "tvm"},
                 {"summary", true},
                 {"layers", summary.layers},
                 {"compared", summary.compared}};
  if (summary.compared > 0) object["geomean_ratio"] = summary.kernel_ratio;
  if (summary.layers > 0) object["geomean_trials_per_hour_ratio"] = summary.trials_ratio;
  return object;
}

}  // namespace fettle::bench
