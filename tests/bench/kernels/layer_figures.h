// What the benchmark of kernels found, and its arithmetic: ratios and their summary.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tests/bench/kernels/alternate.h"
#include "tests/bench/kernels/time_split.h"

namespace fettle::bench {

struct PeerFigures {
  std::string name, implementation;
  std::string absent;  // why it was not timed; else empty
  Timing timing;
};

struct LayerFigures {
  std::string title;
  double weight = 1;      // how often the network holds it
  double operations = 0;  // nominal, of one run
  std::string missing;    // why there is nothing to compare; else empty
  std::int64_t record = 0;
  int tuned_threads = 0;  // that the record was tuned with
  std::string configuration;
  Timing ours;
  std::vector<PeerFigures> peers;
  std::optional<TimeSplit> split;  // where it was asked for

  // The timed peer of that name; null: none.
  const PeerFigures* peer(const std::string& name) const;
  // The fastest of those that are given what they like best: oneDNN's own choice, its Winograd
  // form, CLBlast, PyTorch's ways. Null: none of them was timed.
  const PeerFigures* fastest_peer() const;
  // Median time of the peer over ours: above 1 we are faster.
  double ratio(const PeerFigures& peer) const { return peer.timing.median() / ours.median(); }
  double ratio_of_minima(const PeerFigures& peer) const {
    return peer.timing.least() / ours.least();
  }
  double gflops(const Timing& timing) const { return operations / timing.median(); }
};

// Over the layers where both were timed; empty when there are none.
struct RatioSummary {
  std::size_t layers = 0;
  double geomean = 0, least = 0;
  double geomean_of_minima = 0;  // of the fastest rounds: what a restless machine leaves whole
  std::string least_layer;
  // Time of the whole list, each layer as often as the network holds it: peer's over ours.
  double weighted = 0;
};

struct NetworkSummary {
  std::size_t layers = 0, missing = 0;
  std::optional<RatioSummary> fastest;  // fastest_peer
  std::optional<RatioSummary> direct;   // onednn
  std::optional<RatioSummary> plain;    // onednn_plain
};
NetworkSummary summarise(const std::vector<LayerFigures>& layers);

nlohmann::json to_json(const LayerFigures& layer);
// geomean_ratio, min_ratio, … against the fastest peer; the same with direct_ before it
// against oneDNN's direct algorithm, and with plain_ against that on the layouts of the workload.
// Figures that do not exist are absent.
nlohmann::json to_json(const NetworkSummary& summary);

}  // namespace fettle::bench
