// Expressions of the IR as expressions of OpenCL C.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "host/backend/opencl_c/helpers.h"
#include "host/backend/opencl_c/scopes.h"
#include "host/backend/opencl_c/types.h"
#include "host/ir/affine.h"
#include "host/ir/stmt.h"

namespace fettle::backend::opencl_c {

// How an array in a kernel is declared: as elements, or as vectors of `lanes` of them, where it is
// never read or written otherwise.
struct Array {
  std::string name;
  int lanes = 1;
  bool only_one = false;  // of them: a variable
  bool halves = false;    // float16 as bits, for vload_half
  // Of a param that is an image of texels: the number of its first one; "": it is memory.
  std::string texels_begin = "";
  std::string pointer() const { return halves ? "(__local half*)" + name : name; }
};

// sum + the products of the bytes of two ints, as text.
using Dot = std::string(const std::string& a, const std::string& b, const std::string& sum);

// Of one kernel. What a statement's expressions share, and what is long, becomes a constant of its
// own: `lines` are their definitions, to be written before the statement.
class Expressions {
 public:
  // dot: null: the device has no instruction for it.
  Expressions(Types types, Dot* dot, Names& names, Scopes& scopes)
      : types_(types), dot_(dot), names_(names), scopes_(scopes) {}

  // A statement begins: what was shared before is forgotten.
  void begin(const ir::Stmt& stmt);
  Code value(const ir::Expr& expr);
  std::string index(const ir::Expr& scalar);
  // The same as a place in the array: its parts are computed once, where they are known.
  std::string place(const ir::Expr& scalar, const std::string& array);
  // Which vector of `lanes` elements the vector index names. Empty: none, or parts of two.
  std::optional<std::string> vector_index(const ir::Expr& index, int lanes);
  // &array[index], as text.
  std::string address(const Array& array, const ir::Expr& scalar_index);
  // Null: all lanes are on.
  ir::Expr condition(const ir::Expr& predicate) const;

  const Array& array(const ir::Buffer& buffer);
  // Its elements of that type are read and written by vload_half and vstore_half.
  bool by_call(const ir::Buffer& buffer, ir::DataType type);
  void declare(const ir::Buffer& buffer, Array array) { arrays_[buffer.get()] = std::move(array); }

  void fail(std::string what) {
    if (problem.empty()) problem = std::move(what);
  }

  std::vector<std::string> lines;
  std::string problem;  // "": none
  ir::Ranges ranges;    // of variables
  Helpers helpers;      // that are called

 private:
  Code computed(const ir::Expr& expr);
  Code value_of(const ir::ExprNode& node, const ir::Binary& binary);
  Code value_of(const ir::ExprNode& node, const ir::Unary& unary);
  Code compared(const ir::Binary& binary, const char* op, Level level);
  Code divided(const ir::Binary& binary);
  Code chosen(const ir::ExprNode& node, const ir::Select& select);
  Code converted(ir::DataType to, const ir::Expr& from);
  Code loaded(const ir::ExprNode& node, const ir::Load& load);
  Code loaded_element(ir::DataType type, const ir::Load& load);
  // `lanes` from a multiple of a texel's elements on.
  std::string loaded_texels(const Array& from, ir::DataType type, const ir::Expr& base);
  Code instruction(const ir::Intrinsic& n);
  Code call(const std::string& function, const std::vector<ir::Expr>& args);
  Code extreme(const ir::ExprNode& node, const ir::Binary& binary);
  Code narrowed(ir::DataType type, Code code) const;

  Types types_;
  Dot* dot_;
  Names& names_;
  Scopes& scopes_;
  bool names_values_ = true;
  std::unordered_map<const ir::BufferDecl*, Array> arrays_;
  std::unordered_map<ir::Expr, int> uses_;           // of the statement at hand
  std::unordered_map<ir::Expr, std::string> named_;  // of those, what has a name
};

// Lane `at` of a vector expression; of a scalar, itself.
ir::Expr lane_of(const ir::Expr& expr, int at);
// "s0" … "sf"
std::string component(int lane);

}  // namespace fettle::backend::opencl_c
