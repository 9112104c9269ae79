// Machine code back to text, to look at it and to prove what it does not hold.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "host/space/cpu_target.h"
#include "schemas/program_generated.h"
#include "schemas/wire/result.h"

namespace fettle::backend::cpu_llvm {

struct Instruction {
  std::uint64_t offset = 0;
  std::uint32_t bytes = 0;
  std::string mnemonic;  // "vfmadd231ps"; "" for bytes that are no instruction
  std::string operands;
};

// `code` lies at `offset` of its image. The decoder knows more instructions than the
// target's CPU has, so that one which the CPU lacks is seen and not skipped.
Result<std::vector<Instruction>> disassemble(std::span<const std::uint8_t> code,
                                             std::uint64_t offset, const space::CpuTarget& target);

// All instructions of an image, by its code ranges.
Result<std::vector<Instruction>> disassemble(const wire::ImageT& image,
                                             const space::CpuTarget& target);

// Fused multiply-add of any width, scalar or vector. Arm's vmla rounds twice and is none.
bool is_fused(const std::string& arch, const std::string& mnemonic);

// Sums of products of bytes in int32: vpdpbusd, sdot and their like.
bool is_dot_product(const std::string& arch, const std::string& mnemonic);

// Counts over a function, or over its hottest innermost loop.
struct CodeCounts {
  int instructions = 0, fused = 0, dot_products = 0, multiplies = 0, loads = 0, stores = 0,
      stack_accesses = 0;
};
CodeCounts count(std::span<const Instruction> code, const std::string& arch);
// Loops that hold no other, in the order of their code.
std::vector<std::span<const Instruction>> innermost_loops(std::span<const Instruction> code,
                                                          const std::string& arch);
// The innermost loop with the most arithmetic; empty when there is no loop.
std::span<const Instruction> hottest_loop(std::span<const Instruction> code,
                                          const std::string& arch);
// The innermost loop with the largest share of multiply-adds (multiplies, where the CPU
// fuses none) and dot products; empty when none multiplies.
std::span<const Instruction> densest_loop(std::span<const Instruction> code,
                                          const space::CpuTarget& target);

std::string to_text(std::span<const Instruction> code);

}  // namespace fettle::backend::cpu_llvm
