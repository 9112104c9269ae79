// What the benchmark of whole networks found, and its arithmetic.
#pragma once

#include <cmath>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace fettle::bench {

// Outputs may differ by so much of the largest one from onnxruntime's without its optimisations:
// Winograd's tiles come to a hundredth of it, sums of bfloat16 are beyond.
inline constexpr double kOutputBound = 1e-4;

// Of int8 networks: steps of 1/127 of the largest. Who multiplies in float32 and who in integers
// round to another step here and there, and what follows carries it on.
inline constexpr double kInt8OutputBound = 3.0 / 127;

struct ContenderFigures {
  std::string name, version;
  std::string absent;             // why it was not timed: not there, or wrong; else empty
  double difference = NAN;        // of its outputs, relative to the largest
  double load_ms = 0;             // until its first result is there; of its last start
  std::vector<double> slices_ns;  // of each turn the median run
  unsigned disturbed = 0;         // turns that another process interrupted, taken again

  bool timed() const { return absent.empty() && !slices_ns.empty(); }
  double quantile(double part) const;  // of the slices; 0.5: the median. Timed ones only
  double median() const { return quantile(0.5); }
};

// One network with that many threads.
struct NetworkFigures {
  std::string network;
  unsigned threads = 1;
  ContenderFigures ours;
  std::vector<ContenderFigures> peers;

  const ContenderFigures* peer(const std::string& name) const;  // timed; null: none
  const ContenderFigures* best_peer() const;                    // null: none was timed
  // The peer's median time over ours: above 1 we are faster. None: one of them was not timed.
  std::optional<double> ratio(const ContenderFigures* peer) const;
};

// The networks of one number of threads.
struct NetworksSummary {
  unsigned threads = 1;
  std::size_t networks = 0, compared = 0;
  std::optional<double> geomean_ratio;        // best peer over ours
  std::optional<double> geomean_onnxruntime;  // onnxruntime over ours
  double lowest_ratio = 0;                    // of those compared
  std::string lowest_network;
};

// "" where `output` agrees, else what is wrong; the difference is told either way.
std::string wrong_output(const std::vector<float>& output, const std::vector<float>& expected,
                         double bound, double& difference);

// A summary for each number of threads, in their order.
std::vector<NetworksSummary> summarise(const std::vector<NetworkFigures>& networks);

// The thresholds for whole networks, which are for one thread.
struct NetworkGate {
  double geomean_ratio, resnet_18, lowest, geomean_onnxruntime;  // 0: no such threshold
};
inline constexpr NetworkGate kResolved{1.2, 0, 0, 0};
inline constexpr NetworkGate kGoal{1.5, 1.6, 1.05, 2.0};

// What keeps the gate shut, a line each: peers that are absent or wrong, networks without ours,
// thresholds missed, at any number of threads but for those.
std::vector<std::string> gate_faults(const std::vector<NetworkFigures>& networks,
                                     const NetworkGate& gate);

nlohmann::json to_json(const NetworkFigures& network);
nlohmann::json to_json(const NetworksSummary& summary);

}  // namespace fettle::bench
