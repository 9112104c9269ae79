// Which memory belongs to which buffer, readable from a signal handler: so that a
// candidate's fault is told as "wrote behind output buffer 'conv2d'".
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace fettle::agent {

struct FaultRegion {
  std::uintptr_t guard_begin, begin, end,
      guard_end;  // guards: [guard_begin, begin), [end, guard_end)
  bool read_only;
  bool code;
  char name[64];
  char role[16];
};

class FaultMap {
 public:
  // Replaces all regions; never while a candidate runs.
  void set(std::vector<FaultRegion> regions);
  // Async-signal-safe. The region whose range with its guards holds the address.
  const FaultRegion* find(std::uintptr_t address) const;
  // Set around every call into candidate code, by the measuring thread.
  std::atomic<bool> candidate_running{false};

 private:
  std::vector<FaultRegion> owned_;
  std::atomic<const FaultRegion*> data_{nullptr};
  std::atomic<std::size_t> size_{0};
};

// The one of this process: signal handlers have no other way to it.
FaultMap& fault_map();

}  // namespace fettle::agent
