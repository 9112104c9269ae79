// Every access of a stream, with what each unit knows to have ended (determined.h).
#include "fpga/isa/determined.h"

#include <algorithm>
#include <deque>
#include <optional>

#include "fpga/isa/disassemble.h"
#include "fpga/isa/queues.h"
#include "fpga/isa/steps.h"

namespace fettle::vta {
namespace {

constexpr std::array kAllUnits = {Unit::Load, Unit::Compute, Unit::Store};

// A unit's time is how many of its instructions have started. Of each unit, which time of each
// other has ended for certain before its next instruction starts.
using Times = std::array<std::uint32_t, kUnits>;

std::size_t index(Unit unit) { return static_cast<std::size_t>(unit); }

// A memory, or a buffer: for each entry, when each unit last wrote and last read it.
class Accesses {
 public:
  explicit Accesses(std::size_t entries) : written_(entries), read_(entries), valued_(entries) {}

  // The last access of another unit that one at hand may overlap with.
  struct Conflict {
    Unit unit;
    std::uint32_t time;
  };
  std::optional<Conflict> touch(std::size_t entry, bool writes, Unit unit, std::uint32_t now,
                                const Times& known) {
    for (const Unit other : kAllUnits) {
      if (other == unit) continue;
      const std::uint32_t before =
          std::max(written_[entry][index(other)], writes ? read_[entry][index(other)] : 0);
      if (before > known[index(other)]) return Conflict{other, before};
    }
    (writes ? written_ : read_)[entry][index(unit)] = now;
    return std::nullopt;
  }
  bool has_value(std::size_t entry) const { return valued_[entry]; }
  void set_value(std::size_t entry, bool has) { valued_[entry] = has; }

 private:
  std::vector<Times> written_, read_;
  std::vector<bool> valued_;
};

class Checker {
 public:
  Checker(const Design& design, std::span<const Region> regions)
      : design_(design), regions_(regions), uops_(design) {
    for (std::size_t i = 0; i < kMemories; ++i) {
      memories_.emplace_back(design.depth(static_cast<Memory>(i)));
      granule_ = std::min(granule_, design.element_bytes(static_cast<Memory>(i)));
    }
    for (const Region& region : regions) {
      dram_.emplace_back(region.writable ? region.bytes / granule_ + 2 : 0);
    }
  }

  // Empty, or what is wrong.
  std::string check(std::span<const Instruction> instructions) {
    std::vector<Command> commands;
    for (const Instruction& each : instructions) commands.push_back(command_of(each));
    Queues queues(design_, commands);
    for (bool moved = true; moved;) {
      moved = false;
      while (queues.fetch()) moved = true;
      for (const Unit unit : kAllUnits) {
        while (const std::optional<std::uint32_t> number = queues.startable(unit)) {
          take_tokens(commands[*number]);
          std::vector<std::uint32_t>& own = started_[index(unit)];
          own.push_back(*number);
          unit_ = unit;
          now_ = static_cast<std::uint32_t>(own.size());
          touch_all(instructions[*number]);
          if (!wrong_.empty()) return explain(instructions, *number);
          queues.start(unit);
          queues.end(unit);
          give_tokens(commands[*number]);
          moved = true;
        }
      }
    }
    return "";
  }

 private:
  std::string explain(std::span<const Instruction> instructions, std::uint32_t number) const {
    const auto text = [&](std::uint32_t at) {
      return std::to_string(at) + " (" + disassemble(instructions[at]) + ")";
    };
    if (!conflict_) {
      return "instruction " + text(number) + " reads " + wrong_ +
             ", which has no value: nothing before it wrote one";
    }
    const std::uint32_t other = started_[index(conflict_->unit)][conflict_->time - 1];
    return "instructions " + text(std::min(number, other)) + " and " +
           text(std::max(number, other)) + " may overlap, and share " + wrong_;
  }

  void take_tokens(const Command& command) {
    const Neighbours near = neighbours_of(command.unit);
    for (const auto& [taken, queue] : {std::pair{command.tokens.pop_prev, near.pop_prev},
                                       std::pair{command.tokens.pop_next, near.pop_next}}) {
      if (!taken || !queue) continue;
      std::deque<Times>& tokens = tokens_[static_cast<std::size_t>(*queue)];
      Times& known = known_[index(command.unit)];
      for (std::size_t i = 0; i < kUnits; ++i) known[i] = std::max(known[i], tokens.front()[i]);
      tokens.pop_front();
    }
  }

  void give_tokens(const Command& command) {
    const Neighbours near = neighbours_of(command.unit);
    Times given = known_[index(command.unit)];
    given[index(command.unit)] = now_;
    for (const auto& [wanted, queue] : {std::pair{command.tokens.push_prev, near.push_prev},
                                        std::pair{command.tokens.push_next, near.push_next}}) {
      if (wanted && queue) tokens_[static_cast<std::size_t>(*queue)].push_back(given);
    }
  }

  // Notes an access; what is wrong with it goes to wrong_. `what` names the entry.
  template <typename What>
  void touch(Accesses& accesses, std::size_t at, bool writes, What what) {
    if (!wrong_.empty()) return;
    conflict_ = accesses.touch(at, writes, unit_, now_, known_[index(unit_)]);
    if (conflict_) wrong_ = what();
  }
  void touch(Memory memory, std::size_t at, bool writes, bool with_value = true) {
    Accesses& accesses = memories_[static_cast<std::size_t>(memory)];
    const auto name = [&] { return std::string(name_of(memory)) + " entry " + std::to_string(at); };
    touch(accesses, at, writes, name);
    if (writes) {
      accesses.set_value(at, with_value);
    } else if (wrong_.empty() && !accesses.has_value(at)) {
      wrong_ = name();
    }
  }

  void touch_dram(const Transfer& transfer, bool writes) {
    const Region* region = region_of(range_of(design_, transfer), regions_);
    if (!region->writable) return;
    Accesses& accesses = dram_[static_cast<std::size_t>(region - regions_.data())];
    const std::uint64_t element = design_.element_bytes(transfer.memory);
    const std::uint64_t first = region->address / granule_;
    std::uint64_t row = transfer.dram_base * element;
    for (std::uint32_t y = 0; y < transfer.y_size; ++y, row += transfer.x_stride * element) {
      const std::uint64_t end = row + transfer.x_size * element;
      for (std::uint64_t at = row / granule_; at < (end + granule_ - 1) / granule_; ++at) {
        touch(accesses, at - first, writes, [&] {
          return "byte " + std::to_string(at * granule_ - region->address) + " of " + region->name;
        });
      }
    }
  }

  void touch_all(const Instruction& instruction) {
    if (const Load* load = std::get_if<Load>(&instruction.body)) {
      if (load->x_size > 0) touch_load(*load);
    } else if (const Store* store = std::get_if<Store>(&instruction.body)) {
      if (store->x_size == 0) return;
      const std::size_t count = std::size_t{store->x_size} * store->y_size;
      for (std::size_t i = 0; i < count; ++i) touch(Memory::Output, store->sram_base + i, false);
      touch_dram(*store, true);
    } else if (const Gemm* gemm = std::get_if<Gemm>(&instruction.body)) {
      touch_gemm(*gemm);
    } else if (const Alu* alu = std::get_if<Alu>(&instruction.body)) {
      for_each_step(uops_.of(*alu), *alu, 0, 0, [&](std::size_t dst, std::size_t src, std::size_t) {
        if (!alu->use_imm) touch(Memory::Accumulator, src, false);
        touch(Memory::Accumulator, dst, false);
        touch(Memory::Output, dst, true);
      });
    }
  }

  void touch_load(const Load& load) {
    touch_dram(load, false);
    if (load.memory == Memory::Uop) uops_.load(load, *region_of(range_of(design_, load), regions_));
    const std::size_t row = load.x_pad_left + load.x_size + load.x_pad_right;
    const std::size_t rows = load.y_pad_top + load.y_size + load.y_pad_bottom;
    for (std::size_t i = 0; i < row * rows; ++i) touch(load.memory, load.sram_base + i, true);
  }

  void touch_gemm(const Gemm& gemm) {
    for_each_step(uops_.of(gemm), gemm, gemm.wgt_factor_out, gemm.wgt_factor_in,
                  [&](std::size_t dst, std::size_t src, std::size_t wgt) {
                    if (!gemm.reset) {
                      touch(Memory::Input, src, false);
                      touch(Memory::Weight, wgt, false);
                      touch(Memory::Accumulator, dst, false);
                    }
                    touch(Memory::Accumulator, dst, true);
                    touch(Memory::Output, dst, true, !gemm.reset || design_.core != Core::VtaHls);
                  });
  }

  const Design& design_;
  std::span<const Region> regions_;
  UopMemory uops_;
  std::uint32_t granule_ = ~0u;     // of DRAM: the smallest element
  std::vector<Accesses> memories_;  // by Memory
  std::vector<Accesses> dram_;      // of each region; empty where nothing is written
  std::array<Times, kUnits> known_ = {};
  std::array<std::deque<Times>, kTokenQueues> tokens_;
  std::array<std::vector<std::uint32_t>, kUnits> started_;  // instructions, by time
  Unit unit_ = Unit::Load;                                  // of the instruction at hand
  std::uint32_t now_ = 0;
  std::string wrong_;  // what is shared, or has no value
  std::optional<Accesses::Conflict> conflict_;
};

}  // namespace

Result<void> check_determined(const Design& design, std::span<const Word> words,
                              std::span<const Region> regions) {
  const Encoding encoding(design);
  std::vector<Instruction> instructions;
  for (const Word& word : words) {
    Result<Instruction> instruction = encoding.decode(word);
    if (!instruction) return std::move(instruction).error();
    instructions.push_back(std::move(*instruction));
  }
  const std::string wrong = Checker(design, regions).check(instructions);
  if (!wrong.empty()) return Error{ErrorCode::Malformed, wrong};
  return {};
}

}  // namespace fettle::vta
