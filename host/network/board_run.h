// A compiled network run on a board, through its agent: the same request, worker and checks as any
// trial has.
#pragma once

#include <vector>

#include "host/tune/pipeline.h"
#include "schemas/fill/fill.h"
#include "schemas/network_generated.h"

namespace fettle::network {

struct BoardRunOptions {
  std::uint32_t runs = 30;  // timed, each by itself; up to limits::kSamples
  std::uint32_t threads = 1;
  std::uint32_t timeout_ms = 600'000;  // of all runs together
  bool layers = false;                 // also tell what each layer takes, which costs a little
};

struct BoardRun {
  // Of each run, in the order taken: clean ones. Fewer than asked for where time ran out, or where
  // the device counts and more would say the same.
  std::vector<double> ticks;
  std::vector<double> layer_ticks;  // median of each layer's; when asked for
  wire::MeasurementT measurement;   // with its clock, its disturbed runs and its conditions
  std::uint64_t load_ns = 0;        // buffers filled, code loaded, constants packed
  double nanoseconds_per_tick = 0;  // 0: ticks are no time
};

// `inputs`: the bytes of each, as the network lists them. `blobs`: as blobs_of() finds them; they
// are offered to the runner. Errors: the trial's own failure; Canceled; what the runner says.
Result<BoardRun> run_on_board(tune::Runner& runner, tune::StopSignal& stop,
                              const wire::NetworkT& network, const BlobLookup& blobs,
                              const std::vector<Bytes>& inputs, const BoardRunOptions& options);

// What it answers, each output as the network lists them. Runs it once for each MiB of them.
Result<std::vector<Bytes>> outputs_on_board(tune::Runner& runner, tune::StopSignal& stop,
                                            const wire::NetworkT& network, const BlobLookup& blobs,
                                            const std::vector<Bytes>& inputs,
                                            std::uint32_t threads);

}  // namespace fettle::network
