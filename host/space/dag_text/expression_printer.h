// Expressions of a compute DAG as text: what people write and what a task's key is made of.
// The grammar is in expression_parser.h, which reads what is printed here back to the same
// expression, shared nodes included.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "host/ir/expr.h"
#include "schemas/wire/result.h"

namespace fettle::space {

// What the text calls tensors and axes.
struct ExpressionNames {
  std::map<ir::Buffer, std::string> tensors;
  std::map<ir::Var, std::string> axes;
};

struct ExpressionText {
  // Parts that are used more than once, "t0", "t1", …; each may use those before it.
  std::vector<std::pair<std::string, std::string>> lets;
  std::string value;
};

// Unsupported: vectors and instructions, which are a schedule's matter. Internal: a tensor or
// axis without a name.
Result<ExpressionText> print_expression(const ir::Expr& expr, const ExpressionNames& names);

// One that shares nothing, such as an index.
Result<std::string> print_index(const ir::Expr& expr, const ExpressionNames& names);

}  // namespace fettle::space
