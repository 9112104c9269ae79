// Outcomes that were sent, until the broker has surely kept them: one that was restarted
// meanwhile gets them again. Bounded; the oldest go first.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "schemas/wire/codec.h"

namespace fettle::agent {

class KeptOutcomes {
 public:
  // A broker writes what it was told within a heartbeat: an outcome is kept until so many were
  // answered behind it.
  static constexpr std::uint64_t kEchoes = 3;

  void sent(std::uint64_t lease, Bytes outcome);
  void heartbeat_answered();
  void forget(std::uint64_t lease);
  void forget_all() { outcomes_.clear(); }
  std::vector<std::uint64_t> leases() const;

  struct Outcome {
    std::uint64_t lease;
    Bytes bytes;
    std::uint64_t echoes = 0;  // since it was sent
  };
  const std::deque<Outcome>& outcomes() const { return outcomes_; }

 private:
  std::deque<Outcome> outcomes_;
};

}  // namespace fettle::agent
