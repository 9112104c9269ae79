// Footprints: how much memory one access touches while some of the loops around it
// run. From the coefficients of its index alone, so approximate where an index is
// not affine; never more than the whole buffer.
#pragma once

#include <span>

#include "host/ir/affine.h"
#include "host/ir/stmt.h"

namespace fettle::lower {

struct LoopTrip {
  ir::Var var;
  double extent = 1;
  ir::ForKind kind = ir::ForKind::Serial;
  ir::ThreadAxis axis = ir::ThreadAxis::None;  // of a Bound loop
};

struct Access {
  ir::Buffer buffer;
  bool store = false;
  int lanes = 1;           // elements at once
  double lane_stride = 1;  // between them, in elements
  ir::Movement movement;   // of the index
  bool shuffled = false;   // lanes are no row of elements: they are loaded, and then put in order
};

// `index`: the flat index of a load or store. `lets`: what its variables stand for.
Access make_access(const ir::Buffer& buffer, const ir::Expr& index, int lanes, bool store,
                   const ir::Movements& lets);

struct Footprint {
  double bytes = 0;      // distinct ones
  double lines = 0;      // cache lines that hold them
  double run_bytes = 0;  // longest contiguous piece
};
Footprint footprint(const Access& access, std::span<const LoopTrip> loops, double line_bytes);

}  // namespace fettle::lower
