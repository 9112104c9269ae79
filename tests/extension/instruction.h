// Code of the stack machine, a device that exists for this test alone: what its host part writes
// and its agent part runs. Values are 64-bit integers or doubles; a float is rounded after each
// operation as its type asks.
#pragma once

#include <cstdint>

#include "schemas/common_generated.h"

namespace fettle::extension {

enum class Op : std::uint8_t {
  PushInt,      // value
  PushReal,     // value's bits
  PushVar,      // slot
  SetVar,       // slot; takes 1
  Load,         // slot: buffer; takes an index, in elements
  Store,        // slot: buffer; takes an index and a value
  Unary,        // slot: ir::UnaryOp
  Binary,       // slot: ir::BinaryOp; type: the operands'
  Select,       // takes a condition and two values
  Cast,         // type: to; slot: wire::ScalarType it was
  Reinterpret,  // as Cast, the same bits
  Jump,         // value: index of an instruction of the function
  JumpIfZero,   // takes 1
  Return
};

struct Instruction {
  Op op;
  wire::ScalarType type;
  std::uint16_t slot;
  std::uint32_t zero;  // room, always 0
  std::int64_t value;
};
static_assert(sizeof(Instruction) == 16);

// A function of an image: this at its entry's offset, a multiple of 8; then the bytes of each
// local buffer, 64 bits each; then the instructions, the last of them Return. Buffers are those
// of the launch's arguments, then the locals; its first variables are the whole numbers among them.
// Ends of loops and indices are as the compiler left them: an access outside of a buffer and the
// room around it ends the process.
struct FunctionHeader {
  std::uint32_t arguments, scalars, variables, locals, instructions, zero;
};
inline constexpr std::uint32_t kMostSlots = 1 << 14;

}  // namespace fettle::extension
