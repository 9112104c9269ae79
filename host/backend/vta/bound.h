// The fewest cycles that a product takes on the accelerator, whatever its program.
#pragma once

#include <string>

#include "host/backend/vta/product.h"

namespace fettle::vta::host {

// Cycles of the compute unit for each step: of the sources of either core (fpga/rtl/README.md, the
// initiation intervals of VTA's HLS code).
struct StepCycles {
  std::uint64_t gemm = 1, reset = 1, alu_imm = 1, alu = 2;
};
StepCycles step_cycles(const Design& design);

inline constexpr std::uint64_t kPortBytes = 8;  // of DRAM in a cycle

struct Bound {
  std::uint64_t gemm_cycles = 0;  // a micro-op for each product of blocks
  std::uint64_t sum_cycles = 0;   // beginning a sum, and its tail
  double compulsory_bytes = 0;    // each needed byte once
  std::uint64_t compute_cycles() const { return gemm_cycles + sum_cycles; }
  double port_cycles() const { return compulsory_bytes / kPortBytes; }
  double cycles() const;
  std::string text(const Product& product) const;  // the formulas with their numbers, in lines
};
Bound bound_of(const Product& product, const Design& design, double compulsory_bytes);

}  // namespace fettle::vta::host
