// Instructions and micro-ops as text, for people: `fettle explain`, error messages, tests.
#pragma once

#include <span>
#include <string>

#include "fpga/isa/encoding.h"

namespace fettle::vta {

// "LOAD INP pop_next push_next sram 0 dram 0x1000000 4x4 stride 16 pad 1,1,1,1": rows x columns,
// pads top, bottom, left, right where there are any.
// "GEMM pop_prev push_prev uop 2..5 iter 14x7 dst 14/1 src 16/2 wgt 9/3": factors outer/inner.
// "ALU SHR imm 8 push_next uop 0..1 iter 1x196 dst 0/1 src 0/1".
std::string disassemble(const Instruction& instruction);
// "dst 3 src 7 wgt 9".
std::string disassemble(const MicroOp& uop);
// A line for each instruction, its number before it; what cannot be decoded says why.
std::string disassemble(const Design& design, std::span<const Word> words);

}  // namespace fettle::vta
