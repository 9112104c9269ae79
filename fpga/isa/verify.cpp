// The verifier (verify.h): each instruction by itself in order, then the queues.
#include "fpga/isa/verify.h"

#include <algorithm>
#include <optional>

#include "fpga/isa/disassemble.h"
#include "fpga/isa/hazard.h"
#include "fpga/isa/queues.h"
#include "fpga/isa/steps.h"

namespace fettle::vta {
namespace {

std::string number(std::uint64_t value) { return std::to_string(value); }

class Verifier {
 public:
  Verifier(const Design& design, std::span<const Region> regions)
      : design_(design), regions_(regions), uops_(design) {}

  // Empty, or what is wrong. Instructions in their order: what a LOAD UOP brings, the next GEMM
  // reads, as both are the compute unit's.
  std::string check(const Instruction& instruction) {
    const std::string tokens = check_tokens(instruction);
    if (!tokens.empty()) return tokens;
    if (const Load* load = std::get_if<Load>(&instruction.body)) return check_load(*load);
    if (const Store* store = std::get_if<Store>(&instruction.body)) return check_store(*store);
    if (const Gemm* gemm = std::get_if<Gemm>(&instruction.body)) return check_gemm(*gemm);
    if (const Alu* alu = std::get_if<Alu>(&instruction.body)) return check_alu(*alu);
    const Tokens& of = instruction.tokens;
    return of.pop_prev || of.pop_next || of.push_prev || of.push_next ? "FINISH carries tokens"
                                                                      : "";
  }

  const StreamFacts& facts() const { return facts_; }

 private:
  static std::string check_tokens(const Instruction& instruction) {
    const Unit unit = unit_of(instruction);
    const Neighbours near = neighbours_of(unit);
    const Tokens& tokens = instruction.tokens;
    const bool prev = (tokens.pop_prev && !near.pop_prev) || (tokens.push_prev && !near.push_prev);
    const bool next = (tokens.pop_next && !near.pop_next) || (tokens.push_next && !near.push_next);
    if (!prev && !next) return "";
    return std::string("the ") + name_of(unit) + " unit has no " + (prev ? "previous" : "next") +
           " one to share tokens with";
  }

  // The region that holds all rows, or why there is none.
  std::string find_region(const Transfer& transfer, bool written, const Region** found) const {
    const DramRange range = range_of(design_, transfer);
    *found = region_of(range, regions_);
    if (!*found) {
      return std::string(written ? "writes" : "reads") + " the bytes " + number(range.begin) +
             " to " + number(range.end) + " of DRAM, which lie in none of its buffers";
    }
    return written && !(*found)->writable ? "writes to " + (*found)->name + ", which is only read"
                                          : "";
  }

  std::string check_sram(const Transfer& transfer, std::uint64_t elements, bool written) const {
    const std::uint64_t end = transfer.sram_base + elements;
    if (end <= design_.depth(transfer.memory)) return "";
    return std::string(written ? "writes " : "reads ") + name_of(transfer.memory) + " up to " +
           number(end) + " of " + number(design_.depth(transfer.memory)) + " entries";
  }

  static std::string check_sizes(const Transfer& transfer) {
    return transfer.y_size == 0 ? "has columns but no rows" : "";
  }

  std::string check_load(const Load& load) {
    const bool pads = load.y_pad_top || load.y_pad_bottom || load.x_pad_left || load.x_pad_right;
    if (load.x_size == 0) return pads ? "pads nothing" : "";
    if (std::string wrong = check_sizes(load); !wrong.empty()) return wrong;
    if (pads && load.memory != Memory::Input && load.memory != Memory::Accumulator) {
      return std::string(name_of(load.memory)) + " takes no padding";
    }
    if (load.memory == Memory::Uop && load.y_size != 1) return "loads micro-ops in several rows";
    const std::uint64_t row = load.x_pad_left + load.x_size + load.x_pad_right;
    const std::uint64_t rows = load.y_pad_top + load.y_size + load.y_pad_bottom;
    if (std::string wrong = check_sram(load, row * rows, true); !wrong.empty()) return wrong;
    const Region* region = nullptr;
    if (std::string wrong = find_region(load, false, &region); !wrong.empty()) return wrong;
    facts_.loaded_bytes[static_cast<std::size_t>(load.memory)] +=
        std::uint64_t{load.y_size} * load.x_size * design_.element_bytes(load.memory);
    if (load.memory != Memory::Uop) return "";
    if (region->contents.empty()) {
      return "loads micro-ops from " + region->name + ", of which it is not known what it holds";
    }
    uops_.load(load, *region);
    return "";
  }

  std::string check_store(const Store& store) {
    if (store.x_size == 0) return "";
    if (std::string wrong = check_sizes(store); !wrong.empty()) return wrong;
    const std::uint64_t elements = std::uint64_t{store.y_size} * store.x_size;
    if (std::string wrong = check_sram(store, elements, false); !wrong.empty()) return wrong;
    const Region* region = nullptr;
    if (std::string wrong = find_region(store, true, &region); !wrong.empty()) return wrong;
    facts_.stored_bytes += elements * design_.element_bytes(Memory::Output);
    return "";
  }

  // The instruction's micro-ops, once they are known to be there.
  std::string check_loops(const Loops& loops, std::span<const MicroOp>* uops) {
    if (loops.steps() == 0) return "computes nothing";
    if (loops.uop_end > uops_.depth()) {
      return "reads UOP up to " + number(loops.uop_end) + " of " + number(uops_.depth()) +
             " entries";
    }
    for (std::uint32_t i = loops.uop_begin; i < loops.uop_end; ++i) {
      if (!uops_.loaded(i)) return "reads micro-op " + number(i) + ", which was never loaded";
    }
    *uops = uops_.of(loops);
    return "";
  }

  std::string check_index(std::span<const MicroOp> uops, std::uint16_t MicroOp::* field,
                          const Loops& loops, std::uint16_t factor_out, std::uint16_t factor_in,
                          Memory memory, const char* verb) const {
    const std::uint64_t largest = largest_index(uops, field, loops, factor_out, factor_in);
    if (largest < design_.depth(memory)) return "";
    return std::string(verb) + " " + name_of(memory) + " entry " + number(largest) + " of " +
           number(design_.depth(memory));
  }

  std::string check_hazard(std::span<const MicroOp> uops, const Loops& loops, bool reads_src) {
    const std::optional<Hazard> hazard = find_hazard(uops, loops, reads_src, design_.hazard_steps);
    if (!hazard) return "";
    return "needs ACC entry " + number(hazard->index) + " " + number(hazard->distance) +
           (hazard->distance == 1 ? " step" : " steps") + " after it was written, by micro-op " +
           number(loops.uop_begin + std::uint64_t{hazard->uop}) + ": there must be " +
           number(design_.hazard_steps) + " others between";
  }

  std::string check_gemm(const Gemm& gemm) {
    std::span<const MicroOp> uops;
    std::string wrong = check_loops(gemm, &uops);
    const auto index = [&](std::uint16_t MicroOp::* field, std::uint16_t factor_out,
                           std::uint16_t factor_in, Memory memory, const char* verb) {
      if (wrong.empty()) {
        wrong = check_index(uops, field, gemm, factor_out, factor_in, memory, verb);
      }
    };
    index(&MicroOp::dst, gemm.dst_factor_out, gemm.dst_factor_in, Memory::Accumulator, "writes");
    // A reset reads neither, but the cores may fetch them all the same.
    index(&MicroOp::src, gemm.src_factor_out, gemm.src_factor_in, Memory::Input, "reads");
    index(&MicroOp::wgt, gemm.wgt_factor_out, gemm.wgt_factor_in, Memory::Weight, "reads");
    if (wrong.empty() && !gemm.reset) wrong = check_hazard(uops, gemm, false);
    (gemm.reset ? facts_.reset_steps : facts_.gemm_steps) += gemm.steps();
    return wrong;
  }

  std::string check_alu(const Alu& alu) {
    std::span<const MicroOp> uops;
    std::string wrong = check_loops(alu, &uops);
    if (wrong.empty()) {
      wrong = check_index(uops, &MicroOp::dst, alu, alu.dst_factor_out, alu.dst_factor_in,
                          Memory::Accumulator, "writes");
    }
    if (wrong.empty() && !alu.use_imm) {
      wrong = check_index(uops, &MicroOp::src, alu, alu.src_factor_out, alu.src_factor_in,
                          Memory::Accumulator, "reads");
    }
    if (wrong.empty()) wrong = check_hazard(uops, alu, !alu.use_imm);
    (alu.use_imm ? facts_.alu_imm_steps : facts_.alu_steps) += alu.steps();
    return wrong;
  }

  const Design& design_;
  std::span<const Region> regions_;
  UopMemory uops_;
  StreamFacts facts_;
};

Error malformed(std::string what) { return {ErrorCode::Malformed, std::move(what)}; }

Result<void> check_regions(std::span<const Region> regions) {
  for (const Region& region : regions) {
    const auto bad = [&](const char* what) {
      return Error{ErrorCode::InvalidArgument, "buffer " + region.name + " " + what};
    };
    if (region.address + region.bytes < region.address) return bad("ends beyond all addresses");
    if (region.contents.empty()) continue;
    if (region.contents.size() != region.bytes) return bad("has contents of another size");
    if (region.address % 4 != 0) return bad("has micro-ops at an address that is none of words");
    for (const Region& other : regions) {
      const bool overlaps = other.address < region.address + region.bytes &&
                            region.address < other.address + other.bytes;
      if (other.writable && overlaps) return bad("has contents and can be written");
    }
  }
  return {};
}

// Nothing may wait forever or be left over, and FINISH must be last in time, too.
Result<void> check_queues(const Design& design, std::span<const Command> commands) {
  Queues queues(design, commands);
  run_without_time(queues);
  if (!queues.done()) {
    return malformed("the units wait for each other forever: " + queues.explain_deadlock());
  }
  for (std::size_t i = 0; i < kTokenQueues; ++i) {
    const TokenQueue queue = static_cast<TokenQueue>(i);
    if (queues.tokens(queue) == 0) continue;
    return malformed("tokens " + std::string(name_of(queue)) +
                     " are left over at the end: " + number(queues.tokens(queue)));
  }
  for (const Unit unit : {Unit::Load, Unit::Store}) {
    const auto last = std::find_if(commands.rbegin(), commands.rend(),
                                   [&](const Command& command) { return command.unit == unit; });
    if (last == commands.rend()) continue;
    const std::uint32_t at = static_cast<std::uint32_t>(commands.rend() - last - 1);
    Queues slow(design, commands);
    run_without_time(slow, at);
    // The last compute instruction is FINISH.
    if (slow.ended(Unit::Compute) == queues.ended(Unit::Compute)) {
      return malformed("FINISH does not wait for the " + std::string(name_of(unit)) +
                       " unit's last instruction, " + number(at));
    }
  }
  return {};
}

}  // namespace

Result<StreamFacts> verify(const Design& design, std::span<const Word> words,
                           std::span<const Region> regions) {
  if (Result<void> checked = check_regions(regions); !checked) return std::move(checked).error();
  if (words.empty()) return malformed("a stream without instructions");
  if (words.size() > kMaxInstructions) {
    return malformed("a stream of " + number(words.size()) + " instructions, more than " +
                     number(kMaxInstructions));
  }
  const Encoding encoding(design);
  Verifier verifier(design, regions);
  std::vector<Command> commands;
  commands.reserve(words.size());
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Result<Instruction> instruction = encoding.decode(words[i]);
    if (!instruction) {
      return malformed("instruction " + number(i) + ": " + instruction.error().message);
    }
    const bool finishes = std::holds_alternative<Finish>(instruction->body);
    std::string wrong = verifier.check(*instruction);
    if (wrong.empty() && finishes != (i + 1 == words.size())) {
      wrong = finishes ? "instructions follow" : "the last instruction is to be FINISH";
    }
    if (!wrong.empty()) {
      return malformed("instruction " + number(i) + " (" + disassemble(*instruction) +
                       "): " + wrong);
    }
    commands.push_back(command_of(*instruction));
  }
  if (Result<void> checked = check_queues(design, commands); !checked) {
    return std::move(checked).error();
  }
  return verifier.facts();
}

}  // namespace fettle::vta
