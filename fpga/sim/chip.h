// What is on the simulated chip, and what each instruction does to it: exact, without time.
#pragma once

#include <string>
#include <vector>

#include "fpga/isa/encoding.h"
#include "fpga/sim/dram.h"
#include "fpga/sim/matrix_product.h"

namespace fettle::vta {

// All memories begin as zeros, and stay from stream to stream.
class Chip {
 public:
  // Unsupported: other than 8-bit inputs, weights and outputs and 32-bit accumulators.
  static Result<Chip> create(const Design& design);

  // Does the instruction at once. Any may come, also what the verifier refuses: empty, or why it
  // cannot be done, with nothing read or written beyond a memory.
  std::string execute(const Instruction& instruction, Dram& dram);

 private:
  explicit Chip(const Design& design);
  std::string load(const Load& load, Dram& dram);
  std::string store(const Store& store, Dram& dram);
  std::string gemm(const Gemm& gemm);
  std::string alu(const Alu& alu);
  void put(Memory memory, std::size_t index, const std::uint8_t* element);  // null: zeros
  void write_output(std::size_t index);

  Design design_;
  Encoding encoding_;
  BlockShape shape_;
  std::size_t lanes_;  // of an accumulator: batch x block_out
  std::vector<MicroOp> uops_;
  std::vector<std::int16_t> inputs_;   // as multiply_accumulate() wants them
  std::vector<std::int16_t> weights_;  // the same
  std::vector<std::int32_t> accumulators_;
  std::vector<std::uint8_t> outputs_;
  std::vector<std::uint8_t> row_;  // of a transfer
};

}  // namespace fettle::vta
