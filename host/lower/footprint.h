// Footprints: how much memory one access touches while some of the loops around it
// run. From the coefficients of its index alone, so approximate where an index is
// not linear; never more than the whole buffer.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "host/ir/stmt.h"

namespace fettle::lower {

// An index as a sum of coefficient * loop variable, constants left out. min and max
// count as their wider side, divisions by constants divide the coefficients.
using IndexTerms = std::map<const ir::VarDecl*, double>;

struct LoopTrip {
  const ir::VarDecl* var = nullptr;
  double extent = 1;
  ir::ForKind kind = ir::ForKind::Serial;
};

struct Access {
  ir::Buffer buffer;
  bool store = false;
  int lanes = 1;           // elements at once
  double lane_stride = 1;  // between them, in elements
  IndexTerms terms;
};

// `lets`: variables that stand for sums of others.
using LetTerms = std::map<const ir::VarDecl*, IndexTerms>;
IndexTerms index_terms(const ir::Expr& index, const LetTerms& lets);
// `index`: the flat index of a load or store.
Access make_access(const ir::Buffer& buffer, const ir::Expr& index, int lanes, bool store,
                   const LetTerms& lets);

struct Footprint {
  double bytes = 0;      // distinct ones
  double lines = 0;      // cache lines that hold them
  double run_bytes = 0;  // longest contiguous piece
};
Footprint footprint(const Access& access, std::span<const LoopTrip> loops, double line_bytes);

}  // namespace fettle::lower
