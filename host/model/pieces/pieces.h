// A network cut into pieces, each a workload: operators with what is fused behind them. Pieces read
// and write tensors, which are values of the graph as they lie in memory.
#pragma once

#include <string>
#include <vector>

#include "host/model/pieces/layouts.h"
#include "host/model/task_list.h"

namespace fettle::model {

struct Piece {
  // Of the graph, in its order; the last one's output is the piece's. None: it copies a value, from
  // one order to another.
  std::vector<std::size_t> nodes;
  space::Workload workload;
  std::vector<Operand> inputs;  // one per placeholder of the workload's DAG, in their order
  Operand output;
  bool accelerated = false;  // by the accelerator beside the CPU
};

struct Pieces {
  std::vector<Piece> pieces;         // in the order in which they can be computed
  std::vector<SkippedTask> untuned;  // nodes that no workload can state yet, such as of int64
};

// Every node that computes is in one piece or untuned; views and transpositions, which move
// nothing, are in none. Operators of the library become that (conv2d, dense, max_pool2d …, images
// channels last), with a tail of what only reads their output: bias, another tensor's sum, an
// activation; the one with more operations takes a sum of two. The rest are stated by their stages,
// one node each. Operands may lie otherwise than any piece writes them: bindings.h says what is
// copied. What `accelerates` takes is in pieces of its own, with channels in blocks.
Pieces pieces_of(const Graph& graph, const Accelerates& accelerates = nullptr);

}  // namespace fettle::model
