// How fast a loop could run: LLVM's machine code analyser on its instructions.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "host/space/cpu_target.h"
#include "schemas/wire/result.h"

namespace fettle::backend::cpu_llvm {

// Of the scheduling model of the target's CPU, with every access in the first-level
// cache and every branch predicted: a lower bound of what the loop takes.
struct Throughput {
  std::string model;  // LLVM's name of the CPU that is modelled
  double cycles = 0;  // per iteration, after many
  double micro_operations = 0;
  std::string busiest;        // the resource used for most cycles, "" where none is modelled
  double busiest_cycles = 0;  // per iteration, of one of its units
};

// `loop` is the machine code of one iteration, its backward branch included.
// Unsupported: the CPU has no scheduling model (LLVM's generic ones have some), or it
// holds an instruction that the model does not know.
Result<Throughput> static_throughput(std::span<const std::uint8_t> loop,
                                     const space::CpuTarget& target);

}  // namespace fettle::backend::cpu_llvm
