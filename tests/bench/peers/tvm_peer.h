// TVM's meta_schedule as a peer: a process of its own (tvm_meta_schedule.py) that tunes layers and
// runs the best kernels that it found.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/bench/asked_process.h"
#include "tests/bench/kernels/kernel_side.h"

namespace fettle::bench {

// What one tool says of tuning one layer.
struct TuneFigures {
  double seconds = 0;  // wall clock
  unsigned trials = 0, failed = 0;
  // Of trials: not measured, as another configuration had made the same program.
  unsigned reused = 0;
  double told_ns = 0;  // of the best kernel, by the tool's own measurement; 0: not told
  double per_hour() const { return (trials - reused) / seconds * 3600; }  // that were measured
};
// Of an answer to "tune". Unsupported: it refuses, in its words. Malformed: a field is not there.
Result<TuneFigures> parse_tvm_tune(const std::string& line);

// The path of a Python that has TVM, as toolchains/tvm.sh prints it; it may take it from PyPI
// first. Unsupported: it cannot be had here, with what the script says.
Result<std::string> python_with_tvm();

class TvmProcess {
 public:
  // Unsupported: that Python runs no TVM.
  static Result<std::unique_ptr<TvmProcess>> start(const std::string& python, unsigned threads);
  const std::string& version() const { return version_; }  // "TVM 0.27.0 for {…}"
  // The layer is known by its title from now on. Unsupported: it cannot tune it, with the reason.
  Result<TuneFigures> tune(const Layer& layer, unsigned trials, std::uint64_t seed);
  Result<void> run_on(const std::vector<int>& cores);  // kernels, from now on
  // The best kernel of that layer, tuned before.
  NamedPeer peer(const Layer& layer);

 private:
  std::unique_ptr<AskedProcess> process_;
  std::string version_;
};

}  // namespace fettle::bench
