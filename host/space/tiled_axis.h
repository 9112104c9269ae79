// Cutting an axis into tiles, for steps that rewrite stages.
#pragma once

#include <string>
#include <vector>

#include "host/space/compute_dag.h"

namespace fettle::space {

// A scratch buffer of one dimension per axis.
ir::Buffer make_buffer(std::string name, ir::DataType type, const std::vector<Axis>& axes);

// First element of a tile. The last tile ends with the axis and overlaps the one
// before it where `factor` does not divide `extent`.
ir::Expr tile_begin(const ir::Var& tile, std::int64_t factor, std::int64_t extent);

struct TiledAxis {
  Axis tile, in;   // "<axis>.tile" and "<axis>.in"
  ir::Expr value;  // the axis in terms of both
};
TiledAxis tile_axis(const Axis& axis, std::int64_t factor);

}  // namespace fettle::space
