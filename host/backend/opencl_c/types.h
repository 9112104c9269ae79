// Types, literals and names of OpenCL C, and pieces of its text.
#pragma once

#include <map>
#include <set>
#include <string>

#include "host/ir/expr.h"

namespace fettle::backend::opencl_c {

// How tightly the outermost operator of an expression binds, as in C.
enum class Level {
  Primary,
  Unary,
  Product,
  Sum,
  Shift,
  Relation,
  Equality,
  And,
  Or,
  AllOf,
  AnyOf,
  Choice
};

// An expression's text, to be put into others.
struct Code {
  std::string text;
  Level level = Level::Primary;
  // Fit to be an operand where `level` is the loosest operator that needs no parentheses.
  std::string within(Level loosest) const { return level <= loosest ? text : "(" + text + ")"; }
};

// Where float16 is no type, its values are floats that float16 can hold; in memory it is a half
// all the same.
struct Types {
  bool half = false;

  // Of a value: "float8". A vector of conditions is of ints, 0 and -1.
  std::string value(ir::DataType type) const;
  // Of an element in memory that kernels are given: "half", "uchar" for Bool.
  std::string memory(ir::Scalar scalar) const;
  Code literal(double value, ir::DataType type) const;  // of one element
  // Values of the type are stored and loaded by vstore_half and vload_half.
  bool by_call(ir::DataType type) const { return type.scalar == ir::Scalar::Float16 && !half; }
};

// What follows a type's name, "" for scalars.
std::string lanes_text(int lanes);

Code integer_literal(std::int64_t value, ir::DataType type);

// Names that are words of OpenCL C, and no two alike.
class Names {
 public:
  // The same for the same identity, as near to `wanted` as can be.
  std::string of(const void* identity, const std::string& wanted);
  std::string fresh(const std::string& wanted);
  void set(const void* identity, std::string name) { known_[identity] = std::move(name); }
  // It is another one from here on: its next name is none that it had.
  void forget(const void* identity) { known_.erase(identity); }

 private:
  std::map<const void*, std::string> known_;
  std::set<std::string> taken_;
};

}  // namespace fettle::backend::opencl_c
