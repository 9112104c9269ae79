// Puts tokens where instructions of different units must not overlap (vta_random.h).
#pragma once

#include <array>
#include <deque>
#include <vector>

#include "fpga/isa/queues.h"

namespace fettle::testing {

// A stream in the making. Each instruction has a time in its unit; `known` of a unit says up to
// which time of each other unit everything has ended before its next instruction starts.
class VtaOrder {
 public:
  using Times = std::array<std::size_t, vta::kUnits>;

  // Appends an instruction; its unit's time from now on is time(unit).
  void add(vta::Instruction instruction);
  std::size_t time(vta::Unit unit) const { return times_[static_cast<std::size_t>(unit)]; }
  bool knows(vta::Unit unit, vta::Unit other, std::size_t time) const {
    return known_[static_cast<std::size_t>(unit)][static_cast<std::size_t>(other)] >= time;
  }
  // From here on `unit` starts after `other` has come to `time`: by tokens, on the way through the
  // compute unit where they are no neighbours.
  void wait(vta::Unit unit, vta::Unit other, std::size_t time);
  // One token more than is needed, for someone to take later.
  void push(vta::TokenQueue queue);
  // Takes all tokens that are left, and makes the compute unit wait for everything.
  void settle();

  std::size_t size() const { return stream_.size(); }
  const std::vector<vta::Instruction>& stream() const { return stream_; }

 private:
  // What comes with a token: what was known when it was given.
  struct Queue {
    vta::Unit from, to;
    std::deque<Times> tokens;
  };
  void pop(vta::TokenQueue queue);
  void flush(vta::Unit unit);  // tokens to take, with an instruction that does nothing
  Queue& at(vta::TokenQueue queue) { return queues_[static_cast<std::size_t>(queue)]; }

  std::vector<vta::Instruction> stream_;
  std::array<std::size_t, vta::kUnits> last_ = {};  // its place in the stream, of each unit
  Times times_ = {};
  std::array<Times, vta::kUnits> known_ = {};         // before the next instruction
  std::array<Times, vta::kUnits> given_ = {};         // with the end of the last one
  std::array<vta::Tokens, vta::kUnits> taking_ = {};  // by the next instruction
  std::array<Queue, vta::kTokenQueues> queues_ = {{{vta::Unit::Load, vta::Unit::Compute, {}},
                                                   {vta::Unit::Compute, vta::Unit::Load, {}},
                                                   {vta::Unit::Compute, vta::Unit::Store, {}},
                                                   {vta::Unit::Store, vta::Unit::Compute, {}}}};
};

}  // namespace fettle::testing
