// `fettle-bench instructions`: how many instructions an Arm CPU executes for the best
// program of each pointwise and depthwise layer, and how many for XNNPACK's kernel.
// Emulated: instructions can be counted without a board, time cannot be measured.
#pragma once

#include <string>
#include <vector>

#include "schemas/wire/result.h"

namespace fettle::bench {

struct InstructionBenchOptions {
  std::string db = "fettle.db";
  std::string network = "mobilenet";  // a network's name or a .json file of workloads
  std::string device;                 // device key of the records; "": any
  std::string arch = "aarch64";       // or "armv7"
  std::vector<std::string> layers;    // only those whose title holds one of these; empty: all
  // 0: the records of `db`. Otherwise no database: the best of so many candidates, searched
  // by their counts (instruction_search.h).
  unsigned candidates = 0;
  std::uint64_t seed = 1;
  bool json = false;
};

struct InstructionFigures {
  std::string title;
  double multiply_adds = 0;
  std::int64_t record = 0;              // 0: searched here
  std::string configuration;            // SearchSpace::to_json
  std::uint64_t ours = 0, xnnpack = 0;  // executed instructions of one run
  std::string missing;                  // why there are none; "": there are
  double ratio() const { return static_cast<double>(xnnpack) / static_cast<double>(ours); }
};

struct InstructionSummary {
  std::size_t layers = 0;  // compared
  double geomean = 0, least = 0;
  std::string least_layer;
};
InstructionSummary summarise(const std::vector<InstructionFigures>& layers);

// Prints a line per layer and a summary. A layer without a record or whose program is
// wrong is named; an Error when nothing could be compared at all.
Result<void> run_instruction_bench(const InstructionBenchOptions& options);

}  // namespace fettle::bench
