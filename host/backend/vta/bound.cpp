// Bounds of products (bound.h).
#include "host/backend/vta/bound.h"

#include <algorithm>
#include <cstdio>

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
  const auto number = [](auto value) { return std::to_string(static_cast<long long>(value)); };
  const std::int64_t outputs = p.outputs(), each = p.outputs() ? p.products() / outputs : 0;
  return "GEMM: " + number(outputs) + " outputs x " + number(p.in.extent) + " blocks x " +
         number(p.rows.window * p.columns.window) + " places of the window = " +
         number(outputs * each) + " micro-ops, one a cycle\nbeginning and tail of sums: " +
         number(outputs) + " outputs x " +
         number(sum_cycles / static_cast<std::uint64_t>(std::max<std::int64_t>(outputs, 1))) +
         " cycles = " + number(sum_cycles) + "\nport: " + number(compulsory_bytes) +
         " compulsory bytes / " + number(kPortBytes) + " a cycle = " + number(port_cycles()) +
         "\nbound: max(" + number(gemm_cycles) + " + " + number(sum_cycles) + ", " +
         number(port_cycles()) + ") = " + number(cycles()) + " cycles\n";
}

Bound bound_of(const Product& product, const Design& design, double compulsory_bytes) {
  const std::uint64_t outputs = static_cast<std::uint64_t>(product.outputs());
  return {static_cast<std::uint64_t>(product.products()) * step_cycles(design).gemm,
          outputs * cycles_per_sum(product, design), compulsory_bytes};
}

}  // namespace fettle::vta::host
