// What the accelerator can compute, found in a compute DAG by the roles of its axes, whatever its
// operator: one sum of products in blocks of the accelerator's GEMM, and what its ALU does to each
// sum before it is stored.
#pragma once

#include <string>
#include <vector>

#include "fpga/isa/instruction.h"
#include "host/ir/module.h"
#include "host/space/compute_dag.h"
#include "schemas/wire/result.h"

namespace fettle::vta::host {

// Strides are in elements of the buffer's on-chip memory: INP, WGT, ACC or OUT.

// An axis of the output along which the weights stay the same. Output i reads the inputs
// step * i + dilation * w - before, 0 <= w < window; what is outside of [0, source) is zero.
struct SpatialAxis {
  std::string name = "";
  std::int64_t extent = 1;
  std::int64_t step = 1, window = 1, dilation = 1, before = 0, source = 1;
  std::int64_t input_stride = 0, weight_stride = 0, output_stride = 0;  // weight: of the window

  // Places of the input from the first to the last that one output reads.
  std::int64_t reach() const { return (window - 1) * dilation + 1; }
  // Nothing is read between two outputs' windows that any of them needs: outputs can be loaded
  // without what lies between.
  bool apart() const { return window == 1 && step > 1; }
};

// An axis of whole blocks of channels.
struct BlockAxis {
  std::int64_t extent = 1;
  std::int64_t input_stride = 0, weight_stride = 0, output_stride = 0;
};

// One thing done to the sums, in ACC.
struct TailStep {
  enum class Kind : std::uint8_t {
    Immediate,   // op with `value`
    AddChannel,  // + an int32 for each channel, of buffers[buffer]
    AddElement   // + an int8 for each output, of buffers[buffer]: by GEMM with ones on the diagonal
  };
  Kind kind = Kind::Immediate;
  AluOp op = AluOp::Add;
  std::int64_t value = 0;
  std::size_t buffer = 0;
};

struct Product {
  std::vector<SpatialAxis> outer;  // beyond rows and columns: without windows
  SpatialAxis rows, columns;       // the last two; of fewer, those that are missing have extent 1
  BlockAxis in, out;               // blocks of channels that are summed over; of the output
  std::int64_t initial = 0;        // what sums begin with: constants added before anything else
  std::vector<TailStep> tail;      // in order; immediates fit their field
  std::vector<ir::ProgramBuffer> buffers;
  std::size_t input = 0, weights = 0, output = 0;  // of buffers

  // Outputs, in elements of OUT; and GEMM's micro-ops for all of them.
  std::int64_t outputs() const;
  std::int64_t products() const;
};

// Unsupported, in one line: what of the DAG the accelerator cannot do.
Result<Product> product_of(const space::ComputeDag& dag, const Design& design);

}  // namespace fettle::vta::host
