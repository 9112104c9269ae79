// Bounds: for every stage, the extents of its loops, how its axes follow from
// loop variables, and for a stage inside a consumer's loop, which part of it the
// consumer reads there.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "host/ir/affine.h"
#include "host/ir/mutator.h"
#include "host/space/schedule.h"

namespace fettle::lower {

struct BoundLoop {
  ir::Var var;
  std::int64_t extent;
  ir::ForKind kind;
  bool reduce;
  ir::ThreadAxis axis = ir::ThreadAxis::None;  // of a Bound loop
  ir::Pipeline pipeline = {};
};

// var = value, where value reads loop variables and earlier definitions only.
struct Definition {
  ir::Var var;
  ir::Expr value;
};

struct StageBounds {
  std::vector<BoundLoop> loops;         // outermost first
  std::vector<Definition> definitions;  // parts of fused loops, starts of overlapping tiles
  ir::Substitution axis_values;         // data and reduce axes, in the variables above and,
                                        // for a stage in a consumer, those around it
  std::vector<ir::Expr> guards;         // what else must hold where it is computed (Tail::Guard)
  std::vector<ir::Expr> inside;         // in its axes: where it is more than padding (Tail::Pad)
  std::vector<ir::Affine> base;         // per axis: first element computed; a launch: 0
  std::vector<std::int64_t> extents;    // per axis: elements computed at a time
};

// Whether the value is known where the stage's variables `known` are; those of loops around the
// stage always are.
bool defined(const ir::Expr& value, const std::set<ir::Var>& known, const StageBounds& bounds);

struct Bounds {
  std::map<std::string, StageBounds> stages;  // not of placeholders
  ir::Ranges ranges;                          // of every loop variable and definition
};

// InvalidArgument: the schedule cannot be lowered (a tile larger than its loop or a reduction
// loop split unevenly where tails overlap, a region that is not a box, a stage in memory of one
// thread or block that others read, a tail in an instruction's loop).
Result<Bounds> infer_bounds(const space::Schedule& schedule);

}  // namespace fettle::lower
