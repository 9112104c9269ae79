// VTA's instructions and micro-ops as structs. What they do is said here; how they lie in bits, in
// encoding.h.
//
// Four machines work beside each other: fetch hands instructions, in order, to the command queues
// of three units, and each unit does its own in order. Units wait for each other by tokens, which
// carry no data: an instruction takes its tokens (pop) before it works and gives (push) after.
// "Previous" and "next" are the neighbours in the row load, compute, store.
#pragma once

#include <cstdint>
#include <variant>

#include "fpga/config/design.h"

namespace fettle::vta {

struct Tokens {
  bool pop_prev = false, pop_next = false, push_prev = false, push_next = false;
  bool operator==(const Tokens&) const = default;
};

// A two-dimensional copy between a DRAM buffer and an on-chip memory; all sizes in elements of
// that memory. x_size 0 moves nothing: an instruction that carries tokens only.
struct Transfer {
  Memory memory = Memory::Input;
  std::uint16_t sram_base = 0;
  std::uint32_t dram_base = 0;  // address in bytes / bytes of an element
  std::uint16_t y_size = 0, x_size = 0, x_stride = 0;
  bool operator==(const Transfer&) const = default;
};

// Writes y_pad_top rows of zeros, then y_size rows of x_pad_left zeros, x_size elements from DRAM
// and x_pad_right zeros, then y_pad_bottom rows of zeros, one after the other from sram_base on.
// DRAM advances by x_stride a row. Only INP and ACC take padding, and UOP a single row. Input and
// weights are the load unit's, the rest the compute unit's.
struct Load : Transfer {
  std::uint8_t y_pad_top = 0, y_pad_bottom = 0, x_pad_left = 0, x_pad_right = 0;
  bool operator==(const Load&) const = default;
};

// OUT to DRAM: the chip advances by x_size a row, DRAM by x_stride.
struct Store : Transfer {
  bool operator==(const Store&) const = default;
};

// What GEMM and ALU repeat: for o < iter_out, for i < iter_in, for the micro-ops
// [uop_begin, uop_end): an index is the micro-op's own + o * factor_out + i * factor_in.
struct Loops {
  std::uint16_t uop_begin = 0, uop_end = 0, iter_out = 0, iter_in = 0;
  std::uint16_t dst_factor_out = 0, dst_factor_in = 0;
  std::uint16_t src_factor_out = 0, src_factor_in = 0;
  std::uint64_t steps() const {
    return uop_end <= uop_begin ? 0 : std::uint64_t{iter_out} * iter_in * (uop_end - uop_begin);
  }
  bool operator==(const Loops&) const = default;
};

// ACC[dst][b][oc] += sum over ic of INP[src][b][ic] * WGT[wgt][oc][ic], wrapping; OUT[dst] gets its
// low bits. With `reset`: ACC[dst] = 0, and OUT[dst] = 0 (the HLS core's OUT then holds the low
// bits of what the sum would have been: nothing may store it before another operation).
struct Gemm : Loops {
  bool reset = false;
  std::uint16_t wgt_factor_out = 0, wgt_factor_in = 0;
  bool operator==(const Gemm&) const = default;
};

// MUL (4) is no operation of the cores, of the published functional model only.
enum class AluOp : std::uint8_t { Min, Max, Add, ShiftRight };
inline constexpr std::uint8_t kAluOps = 4;

// ACC[dst] = op(ACC[dst], use_imm ? imm : ACC[src]), lane by lane, wrapping; OUT[dst] gets its low
// bits. Shifts are arithmetic, by the second operand's low 5 bits as a signed number: -16 to 15,
// where a negative one shifts left.
struct Alu : Loops {
  AluOp op = AluOp::Min;
  bool use_imm = false;
  std::int16_t imm = 0;
  bool operator==(const Alu&) const = default;
};

// The last instruction: the accelerator says that it is done.
struct Finish {
  bool operator==(const Finish&) const = default;
};

struct Instruction {
  Tokens tokens;
  std::variant<Load, Store, Gemm, Alu, Finish> body;
  bool operator==(const Instruction&) const = default;
};

struct MicroOp {
  std::uint16_t dst = 0;  // ACC and OUT
  std::uint16_t src = 0;  // INP for GEMM, ACC for ALU
  std::uint16_t wgt = 0;  // GEMM only
  bool operator==(const MicroOp&) const = default;
};

enum class Unit : std::uint8_t { Load, Compute, Store };
inline constexpr std::size_t kUnits = 3;
const char* name_of(Unit unit);  // "load", "compute", "store"
Unit unit_of(const Instruction& instruction);

}  // namespace fettle::vta
