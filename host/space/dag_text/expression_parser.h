// Reading expressions of a compute DAG from text.
//
//   x[n, y - 1, c]                 an element of a tensor; indices are int32
//   x[n, y - 1, c | 0 <= y - 1]    the same where the condition holds, else 0
//   n, y, c                        axes of the stage, int32
//   1, 1.5, 2e-3, true, inf        int32, float32, bool; int8(1), float16(1.5): other types
//   + - * / %   << >>   == != < <= > >=   && || !   -(x)
//   min max select sqrt floor abs  float32(x) …: converted; bits_as_int32(x) …: the same bits
//   tf32(x)                        a float32 rounded to 10 bits of fraction
//   relu relu6 clip(x, low, high) sigmoid tanh gelu hard_swish swish
//                                  of float32; written out in terms of the above
//   and the names of parts that were defined before
//
// Integers are divided toward minus infinity, by positive constants. Both sides of an
// operator have one type; an integer literal takes that of the other side.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "host/ir/expr.h"
#include "schemas/wire/result.h"

namespace fettle::space {

struct ExpressionScope {
  std::map<std::string, ir::Buffer, std::less<>> tensors;
  std::map<std::string, ir::Expr, std::less<>> values;  // axes, and parts defined before
};

struct ParsedExpression {
  ir::Expr value;
  // Some function stands for a polynomial: what its value is off by is kActivationError.
  bool approximates = false;
};

// InvalidArgument: says what is wrong and at which character.
Result<ParsedExpression> parse_expression(const std::string& text, const ExpressionScope& scope);

}  // namespace fettle::space
