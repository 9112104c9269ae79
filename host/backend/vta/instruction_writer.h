// A stream in the making: buffers at made-up addresses, copies of boxes, and nests with their
// micro-ops, which are loaded as they are needed. Without tokens.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "fpga/isa/verify.h"
#include "host/backend/vta/boxes.h"
#include "host/backend/vta/micro_ops.h"

namespace fettle::vta::host {

// A buffer whose bytes the compiler makes.
struct ConstantBytes {
  std::string name;
  Bytes bytes;
};

// Not copied: regions have contents that lie in `constants`.
struct Untokened {
  std::vector<Instruction> instructions;
  std::vector<Region> regions;  // those of the constants come last, the micro-ops at the end
  std::vector<ConstantBytes> constants;  // in the order of their regions

  Untokened() = default;
  Untokened(Untokened&&) = default;
  Untokened& operator=(Untokened&&) = default;
};

class InstructionWriter {
 public:
  explicit InstructionWriter(const Design& design);

  // A buffer; its region's number. All of them come before the first instruction.
  std::size_t add_buffer(const std::string& name, std::uint64_t bytes, bool writable);
  std::size_t add_constant(const std::string& name, Bytes bytes);

  // A laid-out box whose first element of DRAM is `element` of the region, from `on_chip` on.
  void load(Memory memory, std::span<BoxAxis* const> axes, std::size_t region, std::int64_t element,
            std::int64_t on_chip);
  void store(std::span<BoxAxis* const> axes, std::size_t region, std::int64_t element,
             std::int64_t on_chip);
  // Indices begin at those of `first`.
  void gemm(std::span<const NestAxis> axes, MicroOp first);
  void reset(std::span<const NestAxis> axes, MicroOp first);
  // Nothing for `imm`: the second operand is ACC's at src.
  void alu(std::span<const NestAxis> axes, MicroOp first, AluOp op,
           std::optional<std::int64_t> imm);

  // BuildError: the first thing that instructions cannot say.
  Result<Untokened> finish();

 private:
  void begin_uops();
  void close_uops(std::size_t first, std::size_t count);
  // The nest, with its place in UOP, where it is loaded if need be. Null: there is none.
  const Nest* place(std::span<const NestAxis> axes, MicroOp first, bool alu, Loops& loops);
  Transfer transfer(Memory memory, const Piece& piece, std::size_t region, std::int64_t element,
                    std::int64_t on_chip) const;
  std::uint32_t dram(std::uint64_t address, Memory memory, std::int64_t element) const;
  void fail(const char* why);

  const Design& design_;
  Untokened out_;
  std::uint64_t next_address_;
  MicroOpTable uops_;
  std::map<std::vector<std::int64_t>, std::optional<Nest>> nests_;  // tiles repeat
  std::optional<std::size_t> uop_load_;  // the instruction that loads what uops_ holds
  std::string wrong_;
};

}  // namespace fettle::vta::host
