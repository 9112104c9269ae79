// `fettle-bench tvm`: fettle and TVM's meta_schedule tune the same layers on this CPU, by turns,
// with as many trials and threads; then the best kernels of both are checked and timed in turns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schemas/wire/result.h"

namespace fettle::bench {

struct TvmBenchOptions {
  std::string python;               // one that has TVM; "": toolchains/tvm.sh brings it
  std::string network;              // a network's name or a .json file; "": three of ResNet-18's
  std::vector<std::string> layers;  // only those whose title holds one of these; empty: all
  unsigned trials = 64;             // of each layer and tool
  unsigned threads = 1;             // of the kernels
  std::uint64_t seed = 1;
  unsigned rounds = 15;
  double sample_ms = 20;
  std::string keep;  // folder where our database and logs stay; "": nowhere
  bool json = false;
};

// Prints a line per layer and a summary. Unsupported: TVM cannot be had here. An Error also when no
// kernels could be compared.
Result<void> run_tvm_bench(const TvmBenchOptions& options);

}  // namespace fettle::bench
