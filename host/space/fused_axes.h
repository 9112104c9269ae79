// Several axes as one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "host/ir/mutator.h"
#include "host/space/compute_dag.h"

namespace fettle::space {

// The last of the axes moves fastest. `parts`: each of them, in terms of the one.
struct FusedAxes {
  Axis axis;
  ir::Substitution parts;
};

// Of an index over places of these extents, the last moving fastest: what it is along each.
std::vector<ir::Expr> parts_of_fused(const ir::Expr& fused, std::span<const std::int64_t> extents);

// extent: at least the product of theirs; what is beyond it is no place of theirs.
FusedAxes fused_axes(std::string name, const std::vector<Axis>& axes, std::int64_t extent);

std::int64_t product_of_extents(const std::vector<Axis>& axes);

}  // namespace fettle::space
