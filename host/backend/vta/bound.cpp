// Bounds of products (bound.h).
#include "host/backend/vta/bound.h"

#include <algorithm>

#include <fmt/format.h>

#include "host/backend/vta/pooling.h"

namespace fettle::vta::host {
namespace {

// A sum begins with one step at least, be it a reset or a comparison with what is known of the
// entry.
std::uint64_t cycles_per_sum(const Product& product, const Design& design) {
  const StepCycles cycles = step_cycles(design);
  std::uint64_t sum = product.initial == 0 ? cycles.reset : cycles.alu_imm;
  for (const TailStep& step : product.tail) {
    sum += step.kind == TailStep::Kind::Immediate    ? cycles.alu_imm
           : step.kind == TailStep::Kind::AddChannel ? cycles.alu
                                                     : cycles.gemm;
  }
  return sum;
}

}  // namespace

StepCycles step_cycles(const Design& design) {
  StepCycles cycles;
  if (design.core == Core::VtaHls) cycles.alu_imm = 2;
  return cycles;
}

double Bound::cycles() const {
  return std::max(static_cast<double>(compute_cycles()), port_cycles());
}

std::string Bound::text(const Product& p) const {
  const std::int64_t outputs = p.outputs();
  return fmt::format(
      "GEMM: {} outputs x {} blocks x {} places of the window, one micro-op a cycle: {} cycles\n"
      "sums begun and their tails: {} outputs x {} cycles: {} cycles\n"
      "port: {:.0f} compulsory bytes / {} a cycle: {:.0f} cycles\n"
      "bound: max({} + {}, {:.0f}) = {:.0f} cycles\n",
      outputs, p.in.extent, p.rows.window * p.columns.window, gemm_cycles, outputs,
      sum_cycles / static_cast<std::uint64_t>(outputs), sum_cycles, compulsory_bytes, kPortBytes,
      port_cycles(), gemm_cycles, sum_cycles, port_cycles(), cycles());
}

Bound bound_of(const Pooling& pooling, const Design& design, double compulsory_bytes) {
  const StepCycles cycles = step_cycles(design);
  const auto count = [](std::int64_t steps) { return static_cast<std::uint64_t>(steps); };
  return {count(pooling.inputs()) * cycles.gemm,
          count(pooling.inputs()) * cycles.reset + count(pooling.outputs()) * cycles.alu_imm +
              count(pooling.comparisons()) * cycles.alu,
          compulsory_bytes};
}

Bound bound_of(const Product& product, const Design& design, double compulsory_bytes) {
  const std::uint64_t outputs = static_cast<std::uint64_t>(product.outputs());
  return {static_cast<std::uint64_t>(product.products()) * step_cycles(design).gemm,
          outputs * cycles_per_sum(product, design), compulsory_bytes};
}

}  // namespace fettle::vta::host
