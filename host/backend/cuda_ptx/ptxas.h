// ptxas, NVIDIA's assembler, where this machine has it: PTX to a cubin, and what each kernel takes.
#pragma once

#include <cstdint>
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
  std::vector<KernelFacts> kernels;
};

// Where it is: what FETTLE_PTXAS names, PATH's, or the CUDA toolkit's usual place.
struct Ptxas {
  std::string path;
  int cuda = 0;  // its toolkit's version, 1300 of 13.0
};
// Looked for once. Null: there is none, or it does not say its version.
const Ptxas* find_ptxas();

// Unsupported: there is no ptxas, or it does not know the target's capability. BuildError: it
// refuses the text, in its words.
Result<Assembled> assemble(const std::string& ptx, const space::GpuTarget& target);

// What it says of the PTX, a line for each kernel, or why it says nothing: for people.
std::string ptxas_text(const std::string& ptx, const space::GpuTarget& target);

// Its report of what was compiled with -v, by kernel.
std::vector<KernelFacts> read_report(const std::string& report);

}  // namespace fettle::backend::cuda_ptx
