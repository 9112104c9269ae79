// Instructions done (chip.h).
#include "fpga/sim/chip.h"

#include <algorithm>

#include "fpga/isa/steps.h"

namespace fettle::vta {
namespace {

std::string beyond(Memory memory, std::uint64_t index, std::uint64_t depth) {
  return std::string(name_of(memory)) + " entry " + std::to_string(index) + " of " +
         std::to_string(depth);
}

std::string no_memory(std::uint64_t address) {
  return "no memory answers at " + std::to_string(address);
}

// Where shifts are by more than a word has bits, the low 5 bits of the operand count, signed.
std::int32_t shifted(std::int32_t value, std::int32_t by) {
  const int amount = (by & 31) < 16 ? by & 31 : (by & 31) - 32;
  return amount >= 0 ? value >> amount
                     : static_cast<std::int32_t>(static_cast<std::uint32_t>(value) << -amount);
}

// One operation over the lanes; the compiler makes vectors of each.
template <typename Operand>
void apply(AluOp op, std::int32_t* lanes, std::size_t count, Operand operand) {
  switch (op) {
    case AluOp::Min:
      for (std::size_t i = 0; i < count; ++i) lanes[i] = std::min(lanes[i], operand(i));
      break;
    case AluOp::Max:
      for (std::size_t i = 0; i < count; ++i) lanes[i] = std::max(lanes[i], operand(i));
      break;
    case AluOp::Add:
      for (std::size_t i = 0; i < count; ++i) {
        lanes[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(lanes[i]) +
                                             static_cast<std::uint32_t>(operand(i)));
      }
      break;
    case AluOp::ShiftRight:
      for (std::size_t i = 0; i < count; ++i) lanes[i] = shifted(lanes[i], operand(i));
      break;
  }
}

}  // namespace

Result<Chip> Chip::create(const Design& design) {
  if (design.input_bits != 8 || design.weight_bits != 8 || design.accumulator_bits != 32 ||
      design.output_bits != 8) {
    return Error{ErrorCode::Unsupported, "design '" + design.name +
                                             "': only 8-bit inputs, weights and outputs and 32-bit "
                                             "accumulators are simulated"};
  }
  return Chip(design);
}

Chip::Chip(const Design& design)
    : design_(design),
      encoding_(design),
      shape_{design.batch, design.block_in, design.block_out},
      lanes_(std::size_t{design.batch} * design.block_out),
      uops_(design.depth(Memory::Uop)),
      inputs_(std::size_t{design.depth(Memory::Input)} * design.batch * shape_.row()),
      weights_(std::size_t{design.depth(Memory::Weight)} * design.block_out * shape_.row()),
      accumulators_(design.depth(Memory::Accumulator) * lanes_),
      outputs_(design.depth(Memory::Output) * lanes_) {}

std::string Chip::execute(const Instruction& instruction, Dram& dram) {
  if (const Load* each = std::get_if<Load>(&instruction.body)) return load(*each, dram);
  if (const Store* each = std::get_if<Store>(&instruction.body)) return store(*each, dram);
  if (const Gemm* each = std::get_if<Gemm>(&instruction.body)) return gemm(*each);
  if (const Alu* each = std::get_if<Alu>(&instruction.body)) return alu(*each);
  return "";
}

void Chip::put(Memory memory, std::size_t index, const std::uint8_t* element) {
  const auto signed_of = [&](std::size_t i) {
    return element ? static_cast<std::int16_t>(static_cast<std::int8_t>(element[i]))
                   : std::int16_t{0};
  };
  switch (memory) {
    case Memory::Uop: {
      std::uint32_t bits = 0;
      for (unsigned k = 0; element && k < 4; ++k) bits |= std::uint32_t{element[k]} << (8 * k);
      uops_[index] = encoding_.decode(bits);
      break;
    }
    case Memory::Input: {
      std::int16_t* to = inputs_.data() + index * shape_.batch * shape_.row();
      for (std::size_t b = 0; b < shape_.batch; ++b) {
        for (std::size_t ic = 0; ic < shape_.block_in; ++ic) {
          to[b * shape_.row() + ic] = signed_of(b * shape_.block_in + ic);
        }
      }
      break;
    }
    case Memory::Weight: {
      std::int16_t* to = weights_.data() + index * shape_.block_out * shape_.row();
      for (std::size_t oc = 0; oc < shape_.block_out; ++oc) {
        for (std::size_t ic = 0; ic < shape_.block_in; ++ic) {
          to[(ic / 2 * shape_.block_out + oc) * 2 + ic % 2] = signed_of(oc * shape_.block_in + ic);
        }
      }
      break;
    }
    case Memory::Accumulator: {
      for (std::size_t i = 0; i < lanes_; ++i) {
        std::uint32_t bits = 0;
        for (unsigned k = 0; element && k < 4; ++k) {
          bits |= std::uint32_t{element[4 * i + k]} << (8 * k);
        }
        accumulators_[index * lanes_ + i] = static_cast<std::int32_t>(bits);
      }
      break;
    }
    case Memory::Output:
      break;  // nothing loads it
  }
}

std::string Chip::load(const Load& load, Dram& dram) {
  if (load.x_size == 0 || load.y_size == 0) return "";
  const std::uint64_t element = design_.element_bytes(load.memory);
  const std::uint64_t row = load.x_pad_left + load.x_size + load.x_pad_right;
  const std::uint64_t rows = load.y_pad_top + load.y_size + load.y_pad_bottom;
  const std::uint64_t end = load.sram_base + row * rows, depth = design_.depth(load.memory);
  if (end > depth) return "writes " + beyond(load.memory, end - 1, depth);
  std::uint64_t address = load.dram_base * element;
  std::size_t index = load.sram_base;
  const auto zeros = [&](std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) put(load.memory, index++, nullptr);
  };
  row_.resize(load.x_size * element);
  zeros(load.y_pad_top * row);
  for (std::uint32_t y = 0; y < load.y_size; ++y, address += load.x_stride * element) {
    if (!dram.read(address, row_)) return no_memory(address);
    zeros(load.x_pad_left);
    for (std::uint64_t x = 0; x < load.x_size; ++x) {
      put(load.memory, index++, row_.data() + x * element);
    }
    zeros(load.x_pad_right);
  }
  zeros(load.y_pad_bottom * row);
  return "";
}

std::string Chip::store(const Store& store, Dram& dram) {
  const std::uint64_t end = store.sram_base + std::uint64_t{store.x_size} * store.y_size;
  const std::uint64_t depth = design_.depth(Memory::Output);
  if (store.x_size == 0 || store.y_size == 0) return "";
  if (end > depth) return "reads " + beyond(Memory::Output, end - 1, depth);
  const std::uint64_t element = design_.element_bytes(Memory::Output);
  const auto row = static_cast<std::size_t>(store.x_size * element);
  std::uint64_t address = store.dram_base * element;
  const std::uint8_t* from = outputs_.data() + store.sram_base * element;
  for (std::uint32_t y = 0; y < store.y_size; ++y) {
    if (!dram.write(address, {from, row})) return no_memory(address);
    address += store.x_stride * element;
    from += row;
  }
  return "";
}

void Chip::write_output(std::size_t index) {
  for (std::size_t i = index * lanes_; i < (index + 1) * lanes_; ++i) {
    outputs_[i] = static_cast<std::uint8_t>(accumulators_[i]);
  }
}

std::string Chip::gemm(const Gemm& gemm) {
  if (gemm.steps() == 0) return "";
  if (gemm.uop_end > uops_.size())
    return "reads " + beyond(Memory::Uop, gemm.uop_end - 1u, uops_.size());
  const std::span<const MicroOp> uops =
      std::span(uops_).subspan(gemm.uop_begin, gemm.uop_end - gemm.uop_begin);
  const struct {
    std::uint64_t index;
    Memory memory;
  } limits[] = {{largest_index(uops, &MicroOp::dst, gemm, gemm.dst_factor_out, gemm.dst_factor_in),
                 Memory::Accumulator},
                {largest_index(uops, &MicroOp::src, gemm, gemm.src_factor_out, gemm.src_factor_in),
                 Memory::Input},
                {largest_index(uops, &MicroOp::wgt, gemm, gemm.wgt_factor_out, gemm.wgt_factor_in),
                 Memory::Weight}};
  for (const auto& limit : limits) {
    const std::uint64_t depth = design_.depth(limit.memory);
    if (limit.index >= depth) return "uses " + beyond(limit.memory, limit.index, depth);
  }
  const std::size_t input_size = std::size_t{shape_.batch} * shape_.row();
  const std::size_t weight_size = std::size_t{shape_.block_out} * shape_.row();
  for_each_step(uops, gemm, gemm.wgt_factor_out, gemm.wgt_factor_in,
                [&](std::size_t dst, std::size_t src, std::size_t wgt) {
                  std::int32_t* sums = accumulators_.data() + dst * lanes_;
                  if (gemm.reset) {
                    std::fill_n(sums, lanes_, 0);
                  } else {
                    multiply_accumulate(shape_, inputs_.data() + src * input_size,
                                        weights_.data() + wgt * weight_size, sums);
                  }
                });
  // OUT shows the last of each: written once, behind the sums.
  for_each_step(uops, gemm, 0, 0,
                [&](std::size_t dst, std::size_t, std::size_t) { write_output(dst); });
  return "";
}

std::string Chip::alu(const Alu& alu) {
  if (alu.steps() == 0) return "";
  if (alu.uop_end > uops_.size())
    return "reads " + beyond(Memory::Uop, alu.uop_end - 1u, uops_.size());
  const std::span<const MicroOp> uops =
      std::span(uops_).subspan(alu.uop_begin, alu.uop_end - alu.uop_begin);
  const std::uint64_t depth = design_.depth(Memory::Accumulator);
  std::uint64_t most =
      largest_index(uops, &MicroOp::dst, alu, alu.dst_factor_out, alu.dst_factor_in);
  if (!alu.use_imm) {
    most = std::max(most,
                    largest_index(uops, &MicroOp::src, alu, alu.src_factor_out, alu.src_factor_in));
  }
  if (most >= depth) return "uses " + beyond(Memory::Accumulator, most, depth);
  for_each_step(uops, alu, 0, 0, [&](std::size_t dst, std::size_t src, std::size_t) {
    std::int32_t* lanes = accumulators_.data() + dst * lanes_;
    if (alu.use_imm) {
      apply(alu.op, lanes, lanes_, [imm = std::int32_t{alu.imm}](std::size_t) { return imm; });
    } else {
      const std::int32_t* other = accumulators_.data() + src * lanes_;
      apply(alu.op, lanes, lanes_, [other](std::size_t i) { return other[i]; });
    }
    write_output(dst);
  });
  return "";
}

}  // namespace fettle::vta
