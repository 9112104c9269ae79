// A stage's body as a list of nodes, each of which yields a column of values along the
// innermost data axis, or a single value where it does not depend on that axis.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "host/ir/expr.h"
#include "host/space/compute_dag.h"
#include "host/space/tensor.h"
#include "schemas/wire/result.h"

namespace fettle::space {

// A linear form over the loops of one evaluation, by loop number.
struct LoopForm {
  std::vector<std::int64_t> coefficients;
  std::int64_t constant = 0;
  std::int64_t column = 0;  // coefficient of the column axis

  std::int64_t value(const std::vector<std::int64_t>& loops) const {
    std::int64_t sum = constant;
    for (std::size_t i = 0; i < coefficients.size(); ++i) sum += coefficients[i] * loops[i];
    return sum;
  }
};

struct StageNode {
  enum class Kind { Constant, Index, Load, Unary, Binary, MulAdd, Select, Cast, Reinterpret } kind;
  ir::UnaryOp unary{};
  ir::BinaryOp binary{};
  ir::DataType type{}, operand{};  // of the value, and of what it is computed from
  int a = -1, b = -1, c = -1;      // operands: earlier nodes
  bool column = false;             // one value per element of the column, else one
  const Tensor* tensor = nullptr;  // Load: predicate is operand c, a is added to the element
  LoopForm at;                     // Load: flat element; Index: the value
  std::vector<double> buffer;      // where values are computed
  const double* values = nullptr;
};

// Moved, never copied: `values` of a node may point into its own buffer.
struct StageProgram {
  std::vector<const Axis*> loops;  // data axes, then reduce axes
  int column_axis = 0;             // of loops: the innermost data axis
  std::int64_t length = 1;         // of a column
  std::vector<StageNode> nodes;    // operands before users
  int root = 0;
  bool product = false;  // the root is number * column, operands in that order
};

// Unsupported: the body reads what `tensors` lacks, or by places that may lie outside. The stage
// and the tensors outlive the program.
Result<StageProgram> compile_stage(const Stage& stage, const std::map<ir::Buffer, Tensor>& tensors);

// The evaluator's own refusals.
Error refuse(const Stage& stage, const std::string& what);

}  // namespace fettle::space
