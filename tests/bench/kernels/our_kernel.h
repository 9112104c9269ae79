// fettle as a contender: a record's program, rebuilt, on the agent's own device in this process.
// The same memory, threads and launches as on a board.
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

// The configuration's program for that target.
Result<wire::BuildOutputT> build(const Layer& layer, const std::string& configuration,
                                 const space::Target& target);

// What was built, compared with the layer's expected output before it is returned: WrongAnswer,
// StrayWrite. One at a time: the device must outlive it and prepare nothing else.
Result<std::unique_ptr<Contender>> make_built_kernel(agent::Device& device, const Layer& layer,
                                                     wire::BuildOutputT built,
                                                     const std::string& configuration,
                                                     unsigned threads);

// The same of what is built from the record for `threads` threads of a CPU.
Result<std::unique_ptr<Contender>> make_our_kernel(agent::Device& device, const Layer& layer,
                                                   const records::TuningRecord& record,
                                                   unsigned threads);

}  // namespace fettle::bench
