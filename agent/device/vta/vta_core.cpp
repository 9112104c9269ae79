// The table of cores (vta_core.h).
#include "agent/device/vta/vta_core.h"

#include <vector>

#include "fpga/config/register_map.h"
#include "runtime/vta/simulated_accelerator.h"

namespace fettle::agent {
namespace {

std::vector<VtaCore>& cores() {
  static std::vector<VtaCore> all = {
      {"simulator", "simulated", true, runtime::make_simulated_accelerator},
      {kBoardCore, "in programmable logic", false, nullptr}};
  return all;
}

}  // namespace

std::span<const VtaCore> vta_cores() { return cores(); }

const VtaCore* find_vta_core(std::string_view name) {
  for (const VtaCore& core : cores()) {
    if (name == core.name) return &core;
  }
  return nullptr;
}

wire::ClockDomain clock_of(const VtaCore& core, const vta::Design& design) {
  const bool counted = core.open || vta::counts_cycles(vta::register_map(design.core));
  return counted ? wire::ClockDomain::AcceleratorCycles : wire::ClockDomain::Nanoseconds;
}

void add_vta_core(const VtaCore& core) { cores().push_back(core); }

}  // namespace fettle::agent
