// Instructions and micro-ops as bits, for a design: the widths of indices follow from the depths of
// its memories.
#pragma once

#include <span>
#include <vector>

#include "fpga/isa/instruction.h"
#include "schemas/wire/codec.h"

namespace fettle::vta {

// An instruction: 128 bits, in memory 16 bytes little-endian, the low word first.
struct Word {
  std::uint64_t low = 0, high = 0;
  bool operator==(const Word&) const = default;
};
inline constexpr std::size_t kWordBytes = 16;
// Of a stream: 32 MiB, which is also what VTA's published runtime allows.
inline constexpr std::size_t kMaxInstructions = std::size_t{1} << 21;

// Fields are packed from bit 0 of a word on, in this order:
//   all     opcode 3 (LOAD 0, STORE 1, GEMM 2, FINISH 3, ALU 4), pop_prev, pop_next, push_prev,
//   push_next memory  low: memory 3, sram_base 16, dram_base 32, zero
//           high: y_size 16, x_size 16, x_stride 16, pads top, bottom, left, right 4 each
//   GEMM    low: reset, uop_begin U, uop_end U + 1, iter_out 14, iter_in 14, zero
//           high: dst_factor out, in A each; src_factor out, in I each; wgt_factor out, in W each
//   ALU     low: as GEMM with reset 0
//           high: dst_factor out, in A each; src_factor out, in A each; operation 3, use_imm, imm
//           16
//   uop     dst A, src max(A, I), wgt W
// with U, W, I and A the index bits of UOP, WGT, INP and ACC.
class Encoding {
 public:
  explicit Encoding(const Design& design);

  // InvalidArgument when a field does not fit.
  Result<Word> encode(const Instruction& instruction) const;
  // Malformed when no instruction has these bits: unknown opcodes, memories and operations, and
  // anything but zero where nothing is encoded.
  Result<Instruction> decode(const Word& word) const;

  Result<std::uint32_t> encode(const MicroOp& uop) const;
  MicroOp decode(std::uint32_t uop) const;  // any bits are one

 private:
  unsigned uop_bits_, weight_bits_, input_bits_, accumulator_bits_;
};

// Lets a LOAD or STORE begin at `address`, in bytes: what a Program's relocations say, once its
// buffers have their places. InvalidArgument for another instruction, and for an address that is no
// multiple of the memory's element or beyond what the field can say.
Result<void> set_dram_address(const Design& design, Word& word, std::uint64_t address);

Bytes bytes_of(std::span<const Word> words);
// Malformed unless whole instructions.
Result<std::vector<Word>> words_of(ByteView bytes);

}  // namespace fettle::vta
