// Counting the instructions of Arm programs under qemu-user.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schemas/program_generated.h"
#include "schemas/wire/result.h"
#include "tests/bench/kernels/layer.h"

namespace fettle::bench {

struct CountedRun {
  std::uint64_t instructions = 0;  // of one run of the layer, without preparing anything
  std::vector<float> output;
};

// Empty: both can be counted here. Otherwise what is missing and how to get it.
std::string counting_missing(const std::string& arch);

// The program's Run launches on one thread. `arch`: "aarch64" or "armv7". What is done
// besides is counted alone and taken away: exact, as emulated programs repeat.
Result<CountedRun> count_program(const std::string& arch, wire::ProgramT& program);

// Debian's XNNPACK on the same layer, relu included. Unsupported: dense layers, a
// residual, no relu, kernels that are not square, groups other than depthwise.
Result<CountedRun> count_xnnpack(const std::string& arch, const Layer& layer);

}  // namespace fettle::bench
