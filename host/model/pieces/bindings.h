// The tensors of a network: what its pieces read and write, and what is copied between them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/model/pieces/pieces.h"

namespace fettle::model {

using TensorId = std::uint32_t;

// A value as it lies in memory. Several values may be one: views of each other.
struct Tensor {
  enum class Kind : std::uint8_t { Input, Constant, Computed } kind;
  ValueId value;      // whose elements these are
  Order order;        // of the value's axes, normal()
  ir::Scalar scalar;  // of a constant perhaps another than the value's: float32 for float16
  std::int64_t elements;

  std::int64_t bytes() const { return elements * ir::DataType{scalar}.bytes(); }
};

// A piece, with its operands as tensors.
struct BoundPiece {
  std::vector<std::size_t> nodes;  // none: a copy
  space::Workload workload;
  std::vector<TensorId> inputs;  // one per placeholder of the workload's DAG, in their order
  TensorId output;
  bool accelerated = false;   // as Piece has it
  bool of_interface = false;  // it copies what the network is given or gives
};

struct Bindings {
  std::vector<Tensor> tensors;
  std::vector<BoundPiece> pieces;         // in the order in which they can be computed
  std::vector<TensorId> inputs, outputs;  // of the graph's; outputs are computed, each once
  std::vector<SkippedTask> untuned;       // as pieces_of()
};

// Copies are made where a piece, or the network's user, wants a value in an order in which it does
// not lie yet: they are transpositions, tasks like others. Unsupported: one that no operator does.
Result<Bindings> bind(const Graph& graph, Pieces pieces);

// Equal pieces are one task, its weight how many there are: those of the accelerator, or all others
// without copies of the interface, which are not the network's.
TaskList tasks_of(const std::string& name, const Bindings& bindings, bool accelerated = false);

}  // namespace fettle::model
