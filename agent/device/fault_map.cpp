// Fault map (fault_map.h).
#include "agent/device/fault_map.h"

namespace fettle::agent {

void FaultMap::set(std::vector<FaultRegion> regions) {
  size_.store(0);
  owned_ = std::move(regions);
  data_.store(owned_.data());
  size_.store(owned_.size());
}

const FaultRegion* FaultMap::find(std::uintptr_t address) const {
  const FaultRegion* data = data_.load();
  for (std::size_t i = 0, n = size_.load(); i < n; ++i) {
    if (address >= data[i].guard_begin && address < data[i].guard_end) return &data[i];
  }
  return nullptr;
}

FaultMap& fault_map() {
  static FaultMap map;
  return map;
}

}  // namespace fettle::agent
