// What `fettle-bench tvm` found: two tools that tuned the same layers with as many trials each.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tests/bench/kernels/layer_figures.h"
#include "tests/bench/peers/tvm_peer.h"

namespace fettle::bench {

// Of what `fettle tune --json` printed, but the time. Malformed: it does not end in a summary.
Result<TuneFigures> parse_fettle_tune(const std::string& lines);

struct TunedLayer {
  TuneFigures ours, theirs;
  LayerFigures kernels;  // the best of both, timed in turns here; its one peer is "tvm"

  // TVM's best kernel, as it was timed here; null: it does not count, see its `absent`.
  const PeerFigures* tvm() const { return kernels.peer("tvm"); }
  // Above 1: ours is faster. Empty: one of the two was not timed.
  std::optional<double> kernel_ratio() const;
  double trials_ratio() const { return ours.per_hour() / theirs.per_hour(); }
};

struct TunedSummary {
  std::size_t layers = 0, compared = 0;  // compared: both kernels were timed
  double kernel_ratio = 0;               // geometric means; the first over those compared
  double trials_ratio = 0;
};
// Zeros where there is nothing to take a mean of.
TunedSummary summarise(const std::vector<TunedLayer>& layers);

nlohmann::json to_json(const TunedLayer& layer);
nlohmann::json to_json(const TunedSummary& summary);

}  // namespace fettle::bench
