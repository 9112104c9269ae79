// Queues of commands and tokens (queues.h).
#include "fpga/isa/queues.h"

namespace fettle::vta {

const char* name_of(TokenQueue queue) {
  static constexpr const char* names[kTokenQueues] = {"load to compute", "compute to load",
                                                      "compute to store", "store to compute"};
  return names[static_cast<std::size_t>(queue)];
}

Command command_of(const Instruction& instruction) {
  return {unit_of(instruction), instruction.tokens};
}

Neighbours neighbours_of(Unit unit) {
  switch (unit) {
    case Unit::Load:
      return {.pop_next = TokenQueue::ComputeToLoad, .push_next = TokenQueue::LoadToCompute};
    case Unit::Compute:
      return {TokenQueue::LoadToCompute, TokenQueue::StoreToCompute, TokenQueue::ComputeToLoad,
              TokenQueue::ComputeToStore};
    case Unit::Store:
      return {.pop_prev = TokenQueue::ComputeToStore, .push_prev = TokenQueue::StoreToCompute};
  }
  return {};
}

namespace {

// The queues that an instruction takes tokens from (0, 1) and gives them to (2, 3).
std::array<std::optional<TokenQueue>, 4> queues_of(const Command& command) {
  const Neighbours near = neighbours_of(command.unit);
  const Tokens& tokens = command.tokens;
  const auto where = [](bool wanted, std::optional<TokenQueue> queue) {
    return wanted ? queue : std::nullopt;
  };
  return {where(tokens.pop_prev, near.pop_prev), where(tokens.pop_next, near.pop_next),
          where(tokens.push_prev, near.push_prev), where(tokens.push_next, near.push_next)};
}

}  // namespace

Queues::Queues(const Design& design, std::span<const Command> stream)
    : stream_(stream),
      command_depth_(design.command_queue_depth),
      token_depth_(design.token_queue_depth) {
  for (std::uint32_t i = 0; i < stream.size(); ++i) at(stream[i].unit).commands.push_back(i);
}

bool Queues::fetch() {
  if (fetched_ == stream_.size()) return false;
  UnitState& unit = at(stream_[fetched_].unit);
  if (unit.fetched - unit.started >= command_depth_) return false;
  ++unit.fetched;
  ++fetched_;
  return true;
}

std::optional<Queues::Lack> Queues::lack_of(std::uint32_t instruction) const {
  const auto queues = queues_of(stream_[instruction]);
  for (std::size_t i = 0; i < queues.size(); ++i) {
    if (!queues[i]) continue;
    const TokenState& state = at(*queues[i]);
    const bool gives = i >= 2;
    if (gives ? state.held + state.claimed >= token_depth_ : state.held == 0) {
      return Lack{*queues[i], gives};
    }
  }
  return std::nullopt;
}

std::optional<std::uint32_t> Queues::startable(Unit of) const {
  const UnitState& unit = at(of);
  if (unit.started == unit.fetched) return std::nullopt;
  const std::uint32_t instruction = unit.commands[unit.started];
  return lack_of(instruction) ? std::nullopt : std::optional(instruction);
}

void Queues::start(Unit of) {
  UnitState& unit = at(of);
  const auto queues = queues_of(stream_[unit.commands[unit.started++]]);
  for (std::size_t i = 0; i < queues.size(); ++i) {
    if (!queues[i]) continue;
    if (i < 2) {
      --at(*queues[i]).held;
    } else {
      ++at(*queues[i]).claimed;
    }
  }
}

void Queues::end(Unit of) {
  UnitState& unit = at(of);
  const std::uint32_t instruction = unit.commands[unit.ended++];
  const auto queues = queues_of(stream_[instruction]);
  for (const std::size_t i : {2, 3}) {
    if (!queues[i]) continue;
    TokenState& state = at(*queues[i]);
    --state.claimed;
    ++state.held;
    ++state.given;
    state.last_giver = instruction;
  }
  ++ended_;
}

std::string Queues::explain_deadlock() const {
  std::string out;
  const auto line = [&](const std::string& text) { out += (out.empty() ? "" : "; ") + text; };
  for (const Unit of : {Unit::Load, Unit::Compute, Unit::Store}) {
    const UnitState& unit = at(of);
    const std::string name = name_of(of);
    if (unit.started == unit.commands.size()) {
      line(name + " has ended its instructions");
      continue;
    }
    const std::uint32_t instruction = unit.commands[unit.started];
    if (unit.started == unit.fetched) {
      line(name + " waits for instruction " + std::to_string(instruction) + " to be fetched");
      continue;
    }
    const std::optional<Lack> lack = lack_of(instruction);
    if (!lack) continue;  // it goes on
    const TokenState& state = at(lack->queue);
    const std::string said = lack->full         ? std::to_string(state.held) + " are there"
                             : state.given == 0 ? "none was ever given"
                                                : std::to_string(state.given) +
                                                      " given, the last by instruction " +
                                                      std::to_string(state.last_giver);
    line(name + " waits at instruction " + std::to_string(instruction) + " for " +
         (lack->full ? "room among the tokens " : "a token ") + name_of(lack->queue) + " (" + said +
         ")");
  }
  if (fetched_ < stream_.size()) {
    line("fetch waits at instruction " + std::to_string(fetched_) + " for room in the " +
         name_of(stream_[fetched_].unit) + " unit's command queue (" +
         std::to_string(command_depth_) + " are there)");
  }
  return out;
}

void run_without_time(Queues& queues, std::optional<std::uint32_t> withheld) {
  std::array<bool, kUnits> held_back = {};
  for (bool moved = true; moved;) {
    moved = false;
    while (queues.fetch()) moved = true;
    for (const Unit unit : {Unit::Load, Unit::Compute, Unit::Store}) {
      while (const std::optional<std::uint32_t> instruction = queues.startable(unit)) {
        bool& held = held_back[static_cast<std::size_t>(unit)];
        if (held || instruction == withheld) {
          held = true;
          break;
        }
        queues.start(unit);
        queues.end(unit);
        moved = true;
      }
    }
  }
}

}  // namespace fettle::vta
