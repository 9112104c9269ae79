// A network cut into pieces, each a workload: operators with what is fused behind them.
#pragma once

#include <string>
#include <vector>

#include "host/model/graph/graph.h"
#include "host/model/task_list.h"

namespace fettle::model {

struct Piece {
  // Of the graph, in its order; the last one's output is the piece's.
  std::vector<std::size_t> nodes;
  space::Workload workload;
};

struct Pieces {
  std::vector<Piece> pieces;         // in the order in which they can be computed
  std::vector<SkippedTask> untuned;  // nodes that no workload can state yet, such as of int64
};

// Every node that computes is in one piece or untuned; views are in none. Operators of the library
// become that (conv2d, dense, max_pool2d …, images channels last), with a tail of what only reads
// their output: bias, another tensor's sum, an activation; the one with more operations takes a sum
// of two. The rest are stated by their stages, one node each.
Pieces pieces_of(const Graph& graph);

// Equal pieces are one task, its weight how many there are.
TaskList tasks_of(const std::string& name, const Pieces& pieces);

}  // namespace fettle::model
