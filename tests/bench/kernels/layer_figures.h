// What the benchmark of kernels found, and its arithmetic: ratios and their summary.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tests/bench/kernels/alternate.h"
#include "tests/bench/kernels/layer.h"
#include "tests/bench/kernels/time_split.h"

namespace fettle::bench {

struct PeerFigures {
  std::string name, implementation;
  std::string absent;  // why it does not count; else empty
  Timing timing;
  Timing ours;  // in the turns before this peer's: as many
};

struct LayerFigures {
  std::string title;
  LayerGroup group = LayerGroup::Others;
  double weight = 1;      // how often the network holds it
  double operations = 0;  // nominal, of one run
  std::string missing;    // why there is nothing to compare; else empty
  bool required = false;  // where it is missing, the run fails
  std::int64_t record = 0;
  int tuned_threads = 0;  // that the record was tuned with
  std::string configuration;
  Timing ours;  // in all turns; its firsts are those before the first peer
  std::vector<PeerFigures> peers;
  std::optional<TimeSplit> split;  // where it was asked for

  // The peer of that name which counts, in memory of its own or in huge pages, whichever was
  // faster; null: none.
  const PeerFigures* peer(const std::string& name) const;
  // The fastest of those that are given what they like best: oneDNN's own choice, its Winograd
  // form, each in both memories, CLBlast, PyTorch's ways. Null: none of them was timed.
  const PeerFigures* fastest_peer() const;
  // Median time of the peer over ours: above 1 we are faster.
  double ratio(const PeerFigures& peer) const { return peer.timing.median() / ours.median(); }
  double ratio_of_minima(const PeerFigures& peer) const {
    return peer.timing.least() / peer.ours.least();
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

struct GroupSummary {
  std::size_t layers = 0, missing = 0;
  std::optional<RatioSummary> fastest;  // fastest_peer
  std::optional<RatioSummary> direct;   // onednn
  std::optional<RatioSummary> plain;    // onednn_plain
};
// A peer that does not count in some layers, for one reason.
struct AbsentPeer {
  std::string name, why;
  std::vector<std::string> layers;
};
struct NetworkSummary {
  GroupSummary all;
  std::map<LayerGroup, GroupSummary> groups;  // those that have layers
  std::vector<AbsentPeer> absent;
};
NetworkSummary summarise(const std::vector<LayerFigures>& layers);
// The layers that are missing and required, with the reasons; "": none.
std::string missing_layers(const std::vector<LayerFigures>& layers);

nlohmann::json to_json(const LayerFigures& layer);
// The same for each group, by its name, and for all layers together beside them: geomean_ratio,
// min_ratio, … against the fastest peer; the same with direct_ before it
// against oneDNN's direct algorithm, and with plain_ against that on the layouts of the workload.
// Figures that do not exist are absent.
nlohmann::json to_json(const NetworkSummary& summary);

}  // namespace fettle::bench
