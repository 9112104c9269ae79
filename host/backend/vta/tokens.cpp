// Waiting units (tokens.h). A unit's instructions are numbered from 1 on: its time. A clock says,
// for each unit, up to which of its instructions all have ended.
#include "host/backend/vta/tokens.h"

#include <algorithm>
#include <array>

#include "fpga/isa/queues.h"
#include "host/backend/vta/accesses.h"

namespace fettle::vta::host {
namespace {

using Clock = std::array<std::uint32_t, kUnits>;
constexpr Unit kAllUnits[] = {Unit::Load, Unit::Compute, Unit::Store};

std::size_t index(Unit unit) { return static_cast<std::size_t>(unit); }

// For each entry of a memory, by unit: the last times at which it was written and read.
struct Entries {
  std::vector<Clock> written, read;
};

bool& push_bit(Tokens& tokens, Unit from, Unit to) {
  return index(to) > index(from) ? tokens.push_next : tokens.push_prev;
}
bool& pop_bit(Tokens& tokens, Unit from, Unit to) {
  return index(from) < index(to) ? tokens.pop_prev : tokens.pop_next;
}

class Orderer {
 public:
  Orderer(const Design& design, std::span<const Region> regions) : finder_(design, regions) {
    for (std::size_t i = 0; i < kAccessed; ++i) {
      const std::size_t entries = finder_.entries(static_cast<Access::Where>(i));
      entries_[i] = {std::vector<Clock>(entries, Clock{}), std::vector<Clock>(entries, Clock{})};
    }
  }

  void add(Instruction instruction) {
    const Unit unit = unit_of(instruction);
    const std::span<const Access> accesses = finder_.of(instruction);
    Clock need = {};
    for (const Access& access : accesses) {
      const Entries& entries = entries_[static_cast<std::size_t>(access.where)];
      for (std::uint32_t at = access.first; at < access.end; ++at) {
        later(need, entries.written[at]);
        if (access.writes) later(need, entries.read[at]);
      }
    }
    append(std::move(instruction), need);
    for (const Access& access : accesses) {
      Entries& entries = entries_[static_cast<std::size_t>(access.where)];
      for (std::uint32_t at = access.first; at < access.end; ++at) {
        (access.writes ? entries.written : entries.read)[at][index(unit)] = time(unit);
      }
    }
  }

  // FINISH comes after all that load and store do.
  std::vector<Instruction> finish() {
    const Clock all{time(Unit::Load), 0, time(Unit::Store)};
    if (!knows(Unit::Compute, all)) append(nothing(), all);
    append({{}, Finish{}}, Clock{});
    return std::move(stream_);
  }

 private:
  static Instruction nothing() { return {{}, Load{{Memory::Uop}}}; }
  static void later(Clock& a, const Clock& b) {
    for (std::size_t i = 0; i < kUnits; ++i) a[i] = std::max(a[i], b[i]);
  }
  std::uint32_t time(Unit unit) const {
    return static_cast<std::uint32_t>(ended_[index(unit)].size());
  }
  // What has ended for sure when the unit's next instruction begins.
  Clock known(Unit unit) const {
    return ended_[index(unit)].empty() ? Clock{} : ended_[index(unit)].back();
  }
  bool knows(Unit unit, const Clock& need) const {
    const Clock has = known(unit);
    for (const Unit other : kAllUnits) {
      if (other != unit && has[index(other)] < need[index(other)]) return false;
    }
    return true;
  }

  // Appends it so that it starts after `need` of the other units.
  void append(Instruction instruction, Clock need) {
    const Unit unit = unit_of(instruction);
    Clock clock = known(unit);
    if (unit != Unit::Compute) need[index(Unit::Compute)] = by_way_of_compute(unit, need);
    // Of compute's neighbours one may know enough of the other.
    for (const Unit first : kAllUnits) {
      const Unit second = first == Unit::Load ? Unit::Store : Unit::Load;
      if (unit != Unit::Compute || first == Unit::Compute) continue;
      if (clock[index(first)] >= need[index(first)]) continue;
      if (ended_[index(first)][need[index(first)] - 1][index(second)] >= need[index(second)]) {
        need[index(second)] = 0;
      }
    }
    for (const Unit other : kAllUnits) {
      const bool neighbours = (unit == Unit::Compute) != (other == Unit::Compute);
      if (!neighbours || clock[index(other)] >= need[index(other)]) continue;
      take(instruction.tokens, other, unit, need[index(other)], clock);
    }
    ++clock[index(unit)];
    ended_[index(unit)].push_back(clock);
    places_[index(unit)].push_back(stream_.size());
    stream_.push_back(std::move(instruction));
  }

  // The token that `from` gives at the end of its instruction of that time. All that it gave before
  // have been taken, and for earlier times: its bit is free, and tokens are taken in their order.
  void take(Tokens& tokens, Unit from, Unit to, std::uint32_t when, Clock& clock) {
    Instruction& giver = stream_[places_[index(from)][when - 1]];
    push_bit(giver.tokens, from, to) = true;
    pop_bit(tokens, from, to) = true;
    later(clock, ended_[index(from)][when - 1]);
  }

  // When compute knows enough of the unit on its other side, for load or store to wait for that.
  std::uint32_t by_way_of_compute(Unit unit, const Clock& need) {
    const Unit far = unit == Unit::Load ? Unit::Store : Unit::Load;
    const std::uint32_t own = need[index(Unit::Compute)], wanted = need[index(far)];
    if (known(unit)[index(far)] >= wanted) return own;
    const std::vector<Clock>& history = ended_[index(Unit::Compute)];
    const auto first = std::partition_point(
        history.begin(), history.end(), [&](const Clock& at) { return at[index(far)] < wanted; });
    const std::size_t before = static_cast<std::size_t>(first - history.begin());
    if (first == history.end()) {
      Clock wait = {};
      wait[index(far)] = wanted;
      append(nothing(), wait);
    }
    return std::max(own, static_cast<std::uint32_t>(before + 1));
  }

  AccessFinder finder_;
  std::array<Entries, kAccessed> entries_;
  std::vector<Instruction> stream_;
  std::array<std::vector<Clock>, kUnits> ended_;         // when each instruction has ended
  std::array<std::vector<std::size_t>, kUnits> places_;  // of each instruction in the stream
};

// One instruction after the other no queue may overflow: then none does that units wait for
// forever.
Result<void> check_room(const Design& design, std::span<const Instruction> stream) {
  std::array<std::uint32_t, kTokenQueues> held = {};
  const auto at = [&](TokenQueue queue) -> std::uint32_t& {
    return held[static_cast<std::size_t>(queue)];
  };
  for (const Instruction& each : stream) {
    const Neighbours near = neighbours_of(unit_of(each));
    if (each.tokens.pop_prev) --at(*near.pop_prev);
    if (each.tokens.pop_next) --at(*near.pop_next);
    if (each.tokens.push_prev) ++at(*near.push_prev);
    if (each.tokens.push_next) ++at(*near.push_next);
    if (*std::max_element(held.begin(), held.end()) > design.token_queue_depth) {
      return Error{ErrorCode::BuildError, "more than " + std::to_string(design.token_queue_depth) +
                                              " tokens would wait in a queue"};
    }
  }
  return {};
}

}  // namespace

Result<std::vector<Instruction>> with_tokens(const Design& design,
                                             std::span<const Instruction> stream,
                                             std::span<const Region> regions) {
  Orderer orderer(design, regions);
  for (const Instruction& each : stream) orderer.add(each);
  std::vector<Instruction> ordered = orderer.finish();
  if (auto room = check_room(design, ordered); !room) return std::move(room).error();
  return ordered;
}

}  // namespace fettle::vta::host
