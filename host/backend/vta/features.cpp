// Features (features.h): most are logarithms, since they multiply.
#include "host/backend/vta/features.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace fettle::vta::host {
namespace {

constexpr const char* kNames[] = {
    "log_gemm_steps",
    "log_reset_steps",
    "log_alu_imm_steps",
    "log_alu_steps",
    "log_uop_bytes",
    "log_weight_bytes",
    "log_input_bytes",
    "log_accumulator_bytes",
    "log_stored_bytes",
    "log_instructions",
    "log_loads",
    "log_stores",
    "log_nests",
    "log_micro_ops",
    "log_compute_cycles",
    "log_port_cycles",
    "log_longer_cycles",
    "log_turns_cycles",
    "log_first_cycles",
    "log_last_bytes",
    "log_transferred_rows",
    "bytes_of_a_row",
    "input_slots",
    "weight_slots",
    "sum_slots",
    "port_share",
};
constexpr std::size_t kLonger = 16;

struct Counts {
  std::uint64_t gemm = 0, reset = 0, alu_imm = 0, alu = 0;  // steps
  std::array<std::uint64_t, kMemories> loaded = {};         // bytes
  std::uint64_t stored = 0, loads = 0, stores = 0, nests = 0, rows = 0;
  // Cycles if what one GEMM needs were loaded while the one before works, and no earlier.
  std::uint64_t turns = 0;
  std::uint64_t first = 0;  // cycles of the port before the first GEMM can begin
  std::uint64_t last = 0;   // bytes stored behind the last step
};

class Counter {
 public:
  explicit Counter(const Design& design) : design_(design), cycles_(step_cycles(design)) {}

  Counts count(std::span<const Instruction> instructions) {
    for (const Instruction& each : instructions) {
      if (const auto* load = std::get_if<Load>(&each.body)) {
        const std::uint64_t bytes = moved(*load);
        counts_.loaded[static_cast<std::size_t>(load->memory)] += bytes;
        ++counts_.loads;
        port_ += bytes / kPortBytes;
      } else if (const auto* store = std::get_if<Store>(&each.body)) {
        const std::uint64_t bytes = moved(*store);
        counts_.stored += bytes;
        counts_.last += bytes;
        ++counts_.stores;
        port_ += bytes / kPortBytes;
      } else if (const auto* gemm = std::get_if<Gemm>(&each.body)) {
        (gemm->reset ? counts_.reset : counts_.gemm) += gemm->steps();
        worked(gemm->steps() * (gemm->reset ? cycles_.reset : cycles_.gemm), !gemm->reset);
      } else if (const auto* alu = std::get_if<Alu>(&each.body)) {
        (alu->use_imm ? counts_.alu_imm : counts_.alu) += alu->steps();
        worked(alu->steps() * (alu->use_imm ? cycles_.alu_imm : cycles_.alu), false);
      }
    }
    counts_.turns += std::max(work_, port_);
    return counts_;
  }

 private:
  std::uint64_t moved(const Transfer& transfer) {
    counts_.rows += transfer.y_size;
    return std::uint64_t{transfer.x_size} * transfer.y_size *
           design_.element_bytes(transfer.memory);
  }
  void worked(std::uint64_t cycles, bool product) {
    ++counts_.nests;
    counts_.last = 0;
    if (product) {
      if (counts_.first == 0) counts_.first = port_;
      counts_.turns += std::max(work_, port_);
      work_ = port_ = 0;
    }
    work_ += cycles;
  }

  const Design& design_;
  StepCycles cycles_;
  Counts counts_;
  std::uint64_t work_ = 0, port_ = 0;  // since the last GEMM began
};

float logarithm(std::uint64_t value) { return std::log2(1 + static_cast<float>(value)); }

}  // namespace

std::vector<std::string> feature_names() { return {std::begin(kNames), std::end(kNames)}; }

std::vector<float> features_of(const Design& design, const Generated& program) {
  const std::vector<Instruction>& instructions = program.code.instructions;
  const Counts c = Counter(design).count(instructions);
  const StepCycles cycles = step_cycles(design);
  const std::uint64_t compute = c.gemm * cycles.gemm + c.reset * cycles.reset +
                                c.alu_imm * cycles.alu_imm + c.alu * cycles.alu;
  std::uint64_t bytes = c.stored + instructions.size() * kWordBytes;
  for (const std::uint64_t loaded : c.loaded) bytes += loaded;
  const std::uint64_t port = bytes / kPortBytes, longer = std::max(compute, port);
  const auto loaded = [&](Memory memory) {
    return logarithm(c.loaded[static_cast<std::size_t>(memory)]);
  };
  return {logarithm(c.gemm),
          logarithm(c.reset),
          logarithm(c.alu_imm),
          logarithm(c.alu),
          loaded(Memory::Uop),
          loaded(Memory::Weight),
          loaded(Memory::Input),
          loaded(Memory::Accumulator),
          logarithm(c.stored),
          logarithm(instructions.size()),
          logarithm(c.loads),
          logarithm(c.stores),
          logarithm(c.nests),
          logarithm(program.code.constants.back().bytes.size() / 4),
          logarithm(compute),
          logarithm(port),
          logarithm(longer),
          logarithm(c.turns),
          logarithm(c.first),
          logarithm(c.last),
          logarithm(c.rows),
          static_cast<float>(bytes) / static_cast<float>(std::max<std::uint64_t>(c.rows, 1)),
          static_cast<float>(program.input_slots),
          static_cast<float>(program.weight_slots),
          static_cast<float>(program.sum_slots),
          static_cast<float>(port) / static_cast<float>(longer)};
}

const char* screened(std::span<const float> features, const Bound& bound) {
  constexpr double kTooLong = 4;
  return std::exp2(static_cast<double>(features[kLonger])) > kTooLong * bound.cycles()
             ? "moves so much that it takes four times the layer's bound at least"
             : nullptr;
}

}  // namespace fettle::vta::host
