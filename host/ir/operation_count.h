// What computing an expression takes, in operations of one element each: the one count that
// facts, features and the roofline rest on.
#pragma once

#include "host/ir/expr.h"

namespace fettle::ir {

// A multiply-add is two. Conversions and index arithmetic of loads are not counted.
struct OperationCount {
  double floating = 0;
  double integer = 0;
  double conditions = 0;  // comparisons, logic, and the integers under a choice's condition

  double all() const { return floating + integer + conditions; }
  OperationCount& operator+=(const OperationCount& other) {
    floating += other.floating, integer += other.integer, conditions += other.conditions;
    return *this;
  }
};

// Of the node alone, without what it is made of, all lanes together. in_condition: it is part
// of a choice's condition.
OperationCount operations_of_node(const Expr& expr, bool in_condition);

// Of the whole; what its parts share is computed once.
OperationCount operations_of(const Expr& expr);

}  // namespace fettle::ir
