// `fettle-bench vta-estimate`: the simulator's estimate of cycles beside the Verilated core's, for
// configurations drawn at random: what search on the simulator is worth.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "schemas/wire/result.h"

namespace fettle::bench {

struct EstimateBenchOptions {
  std::string network = "resnet-18-vta";  // a network's name or a .json file of workloads
  std::string design = "pynq";
  std::vector<std::string> layers;  // only those whose title holds one of these; empty: all
  unsigned configurations = 100;    // over all layers, of each equally many
  std::uint64_t seed = 1;           // of the draws
  unsigned jobs = 0;                // threads; 0: one per core of this machine
  bool json = false;
};

struct Estimated {
  std::string title, configuration;
  std::uint64_t estimated = 0, cycles = 0;
  double difference() const {  // of the estimate, relative
    return static_cast<double>(estimated) / static_cast<double>(cycles) - 1;
  }
};

struct EstimateSummary {
  std::size_t configurations = 0;
  double largest = 0, mean = 0;  // absolute difference
  double mean_signed = 0;
  // Mean and least of the layers' own, as large layers take longer than small ones by any estimate.
  std::optional<double> rank_correlation, least_rank_correlation;
  std::string least_rank_correlation_layer;
};
// Rank correlations are of layers with four configurations at least; empty: there is none.
EstimateSummary summarise(const std::vector<Estimated>& all);
nlohmann::json to_json(const EstimateSummary& summary);

// Draws what fits the chip, and no program twice; what a session would not build (the screen) is
// drawn again. Outputs are compared with the reference on both cores. Errors as run_vta_bench().
Result<void> run_estimate_bench(const EstimateBenchOptions& options);

}  // namespace fettle::bench
