// fettle as a contender: a record's program, rebuilt, on the agent's own CPU device
// in this process. The same memory, threads and launches as on a board.
#pragma once

#include <memory>

#include "agent/device/device.h"
#include "host/records/record.h"
#include "host/space/cpu_target.h"
#include "schemas/build_generated.h"
#include "tests/bench/kernels/contender.h"
#include "tests/bench/kernels/layer.h"

namespace fettle::bench {

// This machine's CPU as a device: the last `threads` cores that this process may
// use (0: all of them), as `fettle tune --device local` takes them. Pins the
// caller to the first of them. InvalidArgument: there are fewer.
Result<std::unique_ptr<agent::Device>> open_local_cpu(unsigned threads);

// A record's program for `threads` threads, and the target it is built for.
struct Rebuilt {
  space::CpuTarget target;
  wire::BuildOutputT output;
};
Result<Rebuilt> rebuild(const Layer& layer, const records::TuningRecord& record, unsigned threads);

// What is built from the record, and compared with the layer's expected output
// before it is returned: WrongAnswer, StrayWrite and what the build may say. One
// at a time: the device must outlive it and prepare nothing else.
Result<std::unique_ptr<Contender>> make_our_kernel(agent::Device& device, const Layer& layer,
                                                   const records::TuningRecord& record,
                                                   unsigned threads);

}  // namespace fettle::bench
