// The command queues and token queues of the accelerator, without time: what may go on next. The
// verifier runs them as fast as they go, the simulator with time. Whatever the order in which units
// go on, they come equally far: each queue has one writer and one reader.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fpga/isa/instruction.h"

namespace fettle::vta {

// Named by who gives and who takes.
enum class TokenQueue : std::uint8_t {
  LoadToCompute,
  ComputeToLoad,
  ComputeToStore,
  StoreToCompute
};
inline constexpr std::size_t kTokenQueues = 4;
const char* name_of(TokenQueue queue);  // "load to compute"

// What the queues see of an instruction.
struct Command {
  Unit unit = Unit::Compute;
  Tokens tokens;
};
Command command_of(const Instruction& instruction);

// Where a unit's tokens come from and go to; no value where it has no such neighbour: the
// accelerator ignores that bit.
struct Neighbours {
  std::optional<TokenQueue> pop_prev, pop_next, push_prev, push_next;
};
Neighbours neighbours_of(Unit unit);

// An instruction starts once all its tokens are there and all that it will give have room, takes
// the former and keeps the room. Cores that take and give one by one come at least as far.
class Queues {
 public:
  // `stream` must outlive this.
  Queues(const Design& design, std::span<const Command> stream);

  // Hands the next instruction to its unit's command queue; false when that is full, or at the end.
  bool fetch();
  // The instruction that the unit would start next, if it can start now.
  std::optional<std::uint32_t> startable(Unit unit) const;
  void start(Unit unit);  // only what is startable
  // Ends the oldest that the unit has started, and gives its tokens.
  void end(Unit unit);

  bool done() const { return ended_ == stream_.size(); }  // every instruction has ended
  std::uint32_t tokens(TokenQueue queue) const { return at(queue).held; }
  std::uint32_t fetched() const { return fetched_; }
  // Instructions of the unit that have ended.
  std::uint32_t ended(Unit unit) const { return at(unit).ended; }

  // Of queues that cannot go on: a line for whom waits where for what.
  std::string explain_deadlock() const;

 private:
  struct TokenState {
    std::uint32_t held = 0, claimed = 0;  // claimed: room kept for what is to be given
    std::uint64_t given = 0;
    std::uint32_t last_giver = 0;  // the instruction that gave the last one
  };
  struct UnitState {
    std::vector<std::uint32_t> commands;  // its instructions of the whole stream
    std::uint32_t fetched = 0, started = 0, ended = 0;
  };
  // What keeps an instruction from its start: the queue, and whether it is empty or full.
  struct Lack {
    TokenQueue queue;
    bool full;
  };

  TokenState& at(TokenQueue queue) { return tokens_[static_cast<std::size_t>(queue)]; }
  const TokenState& at(TokenQueue queue) const { return tokens_[static_cast<std::size_t>(queue)]; }
  UnitState& at(Unit unit) { return units_[static_cast<std::size_t>(unit)]; }
  const UnitState& at(Unit unit) const { return units_[static_cast<std::size_t>(unit)]; }
  std::optional<Lack> lack_of(std::uint32_t instruction) const;

  std::span<const Command> stream_;
  std::uint32_t command_depth_, token_depth_;
  std::uint32_t fetched_ = 0, ended_ = 0;
  std::array<UnitState, kUnits> units_;
  std::array<TokenState, kTokenQueues> tokens_;
};

// Runs all that can run. Without `withheld` the queues end done() or in a deadlock; with it that
// instruction never ends, as if its unit were endlessly slow.
void run_without_time(Queues& queues, std::optional<std::uint32_t> withheld = {});

}  // namespace fettle::vta
