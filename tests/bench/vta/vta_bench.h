// `fettle-bench vta`: the best program of each int8 layer for the VTA accelerator, run on the
// simulator: its cycles beside the layer's bound and beside what was published.
#pragma once

#include <string>
#include <vector>

#include "schemas/wire/result.h"

namespace fettle::bench {

struct VtaBenchOptions {
  std::string db = "fettle.db";
  std::string network = "resnet-18-vta";  // a network's name or a .json file of workloads
  std::string device = "vta-sim";         // device key of the records
  std::string design = "pynq";            // of the simulated core
  std::vector<std::string> layers;        // only those whose title holds one of these; empty: all
  // 0: the records of `db`. Otherwise no database: the best of so many candidates, measured here.
  unsigned candidates = 0;
  std::uint64_t seed = 1;
  bool json = false;
};

struct VtaFigures {
  std::string title;
  std::int64_t record = 0;    // 0: searched here
  std::string configuration;  // SearchSpace::to_json
  std::uint64_t cycles = 0;
  double bound_cycles = 0;  // host/backend/vta/bound.h
  double multiply_adds = 0, clock_hz = 0;
  double published_gops = 0;  // 0: none
  std::string missing;        // why there are none; "": there are
  double gops() const;        // at the design's clock, which no placed core was seen to reach
  double roofline_share() const { return bound_cycles / static_cast<double>(cycles); }
};

struct VtaSummary {
  std::size_t layers = 0;
  double least_share = 0, geomean_share = 0;
  std::string least_layer;
  std::size_t published = 0;  // layers with a published figure
  double geomean_over_published = 0;
};
VtaSummary summarise(const std::vector<VtaFigures>& layers);

// Prints a line per layer and a summary. Each program's output is compared with the reference. An
// Error when there was nothing to run.
Result<void> run_vta_bench(const VtaBenchOptions& options);

}  // namespace fettle::bench
