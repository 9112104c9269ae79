// `fettle-bench vta`: the best programs of each int8 layer for the VTA accelerator, run on the
// simulator or again on the Verilated core: cycles beside the layer's bound and beside what was
// published.
#pragma once

#include <string>
#include <vector>

#include "host/backend/vta/bound.h"

namespace fettle::bench {

struct VtaBenchOptions {
  std::string db = "fettle.db";
  std::string network = "resnet-18-vta";  // a network's name or a .json file of workloads
  std::string device = "vta-sim";         // device key of the records
  std::string design = "pynq";            // of the core
  std::vector<std::string> layers;        // only those whose title holds one of these; empty: all
  bool rtl = false;                       // on the Verilated core, else on the simulator
  unsigned best = 10;                     // distinct programs of each layer that are run there
  // 0: the records of `db`. Otherwise no database: the best of so many candidates, measured here.
  unsigned candidates = 0;
  std::uint64_t seed = 1;
  unsigned jobs = 0;  // threads that run programs; 0: one per core of this machine
  bool json = false;
};

struct VtaFigures {
  std::string title;
  std::string missing;  // why there are none; "": there are
  vta::host::Bound bound;
  double multiply_adds = 0, clock_hz = 0;  // 0: it is no sum of products
  double published_gops = 0;               // 0: none
  std::size_t programs = 0;                // that were run
  // The fastest of them on the core that ran them, and what the simulator says of it.
  std::int64_t record = 0;    // 0: searched here
  std::string configuration;  // SearchSpace::to_json
  std::uint64_t cycles = 0, estimated_cycles = 0;
  // The same of the one that is the fastest by the simulator's estimate.
  std::uint64_t chosen_cycles = 0, chosen_estimated_cycles = 0;

  double gops() const;  // at the design's clock, which no placed core was seen to reach
  double roofline_share() const { return bound.cycles() / static_cast<double>(cycles); }
};

struct VtaSummary {
  std::size_t layers = 0, programs = 0;
  double least_share = 0, geomean_share = 0;
  std::string least_layer;
  std::size_t published = 0;  // layers with a published figure
  double geomean_over_published = 0;
  double geomean_chosen = 0;  // how much longer the estimate's choice takes than the fastest
};
VtaSummary summarise(const std::vector<VtaFigures>& layers);

// Prints a line per layer, the formulas of the bounds and a summary. Each program's output is
// compared with the reference, on each core. An Error when there was nothing to run, a program
// went wrong, or it was interrupted.
Result<void> run_vta_bench(const VtaBenchOptions& options);

}  // namespace fettle::bench
