// How often branches are taken, counted over the iterations of the loops around them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "host/ir/expr.h"

namespace fettle::lower {

struct CountedLoop {
  ir::Var var;
  std::int64_t begin = 0, extent = 1;
};

// What stands around a branch.
struct Surroundings {
  std::vector<CountedLoop> loops;
  std::map<ir::Var, ir::Expr> lets;  // what other variables stand for
  struct Condition {
    ir::Expr condition;
    bool holds = true;
  };
  std::vector<Condition> path;  // branches around it, outermost first
};

// The share of the iterations that come to a branch in which its condition holds, 0 to 1: counted,
// where there are many iterations over an even sample of them. Empty: it rests on something other
// than these loops. Such branches of the path are left out, and those that have no loop in common
// with it.
std::optional<double> branch_share(const ir::Expr& condition, const Surroundings& around);

}  // namespace fettle::lower
