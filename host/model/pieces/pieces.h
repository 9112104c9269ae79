// A network cut into pieces, each a workload: operators with what is fused behind them.
#pragma once

#include <string>
#include <vector>

#include "host/model/graph/graph.h"
#include "host/model/task_list.h"
#include "schemas/wire/result.h"

namespace fettle::model {

struct Piece {
  std::vector<std::size_t>
      nodes;  // of the graph, in its order; the last one's output is the piece's
  space::Workload workload;
};

// Every node that computes is in one piece; views are in none. Operators of the library become that
// (conv2d, dense, max_pool2d …, images channels last), with a tail of what only reads their output:
// bias, another tensor's sum, an activation; the one with more operations takes a sum of two. The
// rest are stated by their stages, one node each. Unsupported names the node.
Result<std::vector<Piece>> pieces_of(const Graph& graph);

// Equal pieces are one task, its weight how many there are.
TaskList tasks_of(const std::string& name, const std::vector<Piece>& pieces);

}  // namespace fettle::model
