// Finalists: the fastest programs among one task's trials. Which of them is the fastest, the trials
// do not tell: the least of many times was measured well by luck, or when the board was fast.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "host/records/record.h"

namespace fettle::tune {

struct Finalist {
  std::string configuration, program_hash, board_id;  // of its fastest trial
  double nanoseconds = 0;                             // which took so long
  std::set<std::string> sessions;                     // of all its trials
  bool confirmed = false;                             // by the finals of an earlier session
};

class Finalists {
 public:
  // At most so many programs are kept.
  explicit Finalists(std::size_t most) : most_(most) {}

  // Failures, times that racing ended early and clocks without a rate are passed over.
  void add(const records::TuningRecord& record);
  // Each program once, the fastest first.
  const std::vector<Finalist>& all() const { return all_; }
  // True where earlier sessions' finals measured it again or passed it over: those whom they found
  // slower than their trials leave their places to it, which is no reason to begin anew.
  bool decided(const Finalist& one) const;

 private:
  std::size_t most_;
  std::set<std::string> held_;  // sessions whose finals were held
  std::vector<Finalist> all_;
};

}  // namespace fettle::tune
