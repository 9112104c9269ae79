// ptxas, NVIDIA's assembler, of the toolkits that this machine has: PTX to a cubin, and what each
// kernel takes. 12.9 is the last that knows Maxwell, Pascal and Volta, 13.0 the first for sm_110.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "host/space/gpu_target.h"
#include "schemas/wire/result.h"

namespace fettle::backend::cuda_ptx {

struct KernelFacts {
  std::string name;
  int registers = 0;
  std::int64_t stack_bytes = 0, spill_store_bytes = 0, spill_load_bytes = 0;  // of a thread
  std::int64_t shared_bytes = 0;                                              // of a block
};

struct Assembled {
  std::vector<std::uint8_t> cubin;
  int cuda = 0;  // the version of the toolkit that made it: drivers at least as new load it
  std::vector<KernelFacts> kernels;
};

struct Ptxas {
  std::string path;
  int cuda = 0;                   // its toolkit's version, 1300 of 13.0
  std::vector<int> capabilities;  // that it assembles for, 90 of sm_90
};
// Looked for once: what FETTLE_PTXAS names and no other, or PATH's and those of all toolkits
// (toolkits.h). Only those that run and tell what they know.
std::span<const Ptxas> ptxas_here();
// Of those that know the target's capability the newest whose cubins its driver loads, or, where
// its driver is older than all of them, the newest: it judges the text. Null: there is none.
const Ptxas* ptxas_for(const space::GpuTarget& target);

// Unsupported: there is no ptxas that knows the target's capability. BuildError: it refuses the
// text, in its words.
Result<Assembled> assemble(const std::string& ptx, const space::GpuTarget& target);

// What it says of the PTX, a line for each kernel, or why it says nothing: for people.
std::string ptxas_text(const std::string& ptx, const space::GpuTarget& target);

// Its report of what was compiled with -v, by kernel.
std::vector<KernelFacts> read_report(const std::string& report);

}  // namespace fettle::backend::cuda_ptx
