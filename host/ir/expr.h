// Immutable expressions. Nodes are shared and never changed; a pass builds new ones.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "host/ir/scope.h"
#include "host/ir/type.h"

namespace fettle::ir {

struct ExprNode;
using Expr = std::shared_ptr<const ExprNode>;

// A variable is its identity: two of the same name differ.
struct VarDecl {
  std::string name;
  DataType type;
};
using Var = std::shared_ptr<const VarDecl>;

struct BufferDecl {
  std::string name;
  DataType type;                    // of one element; lanes 1
  std::vector<std::int64_t> shape;  // constant; row-major; empty: a scalar
  Scope scope = Scope::Global;
  std::uint32_t alignment = 64;  // bytes
  std::int64_t elements() const;
};
using Buffer = std::shared_ptr<const BufferDecl>;

enum class BinaryOp : std::uint8_t {
  Add,
  Sub,
  Mul,
  Div,  // floats: IEEE; integers: toward minus infinity, divisor > 0
  Mod,  // integers: result in [0, divisor)
  Min,
  Max,
  And,
  Or,  // And/Or: Bool
  ShiftLeft,
  ShiftRight,  // integers; ShiftRight is arithmetic for signed types
  Eq,
  Ne,
  Lt,
  Le  // result: Bool with the operands' lanes
};
enum class UnaryOp : std::uint8_t {
  Neg,
  Not,
  Sqrt,
  Floor,
  Abs,
  Tf32,      // of float32: rounded to TF32 (tf32.h)
  RoundEven  // of float32: the nearest whole number, of two equally near ones the even one
};

struct IntImm {
  std::int64_t value;
};
struct FloatImm {
  double value;
};
struct VarRef {
  Var var;
};
struct Unary {
  UnaryOp op;
  Expr a;
};
struct Binary {
  BinaryOp op;
  Expr a, b;
};
// a * b + c for floats; fused or rounded twice as the CPU does best (llvm.fmuladd).
struct MulAdd {
  Expr a, b, c;
};
// An instruction with a shape, lane by lane; one argument per operand of its row.
struct IntrinsicRow;  // intrinsics.h
struct Intrinsic {
  const IntrinsicRow* row;
  std::vector<Expr> args;
};
struct Select {
  Expr condition, then_value, else_value;
};  // both sides may be evaluated
struct Cast {
  Expr value;
};  // to the node's type; int from float truncates
struct Reinterpret {
  Expr value;
};  // same bits, another type
// Indices: one per dimension until storage is flattened, then exactly one, in
// elements. A vector load has a Ramp (or any vector) as last index. predicate
// (null: all true) has the node's lanes; lanes that are off load 0 and touch no memory.
struct Load {
  Buffer buffer;
  std::vector<Expr> indices;
  Expr predicate;
};
struct Ramp {
  Expr base;
  std::int64_t stride;
};  // base + stride * {0, 1, …, lanes-1}
struct Broadcast {
  Expr value;
};

struct ExprNode {
  DataType type;
  std::variant<IntImm, FloatImm, VarRef, Unary, Binary, MulAdd, Intrinsic, Select, Cast,
               Reinterpret, Load, Ramp, Broadcast>
      node;
};

// Makers. Binary makers require equal types (assert); a scalar constant may be
// made of any type. They fold constants and the neutral elements, nothing else.
Expr int_imm(std::int64_t value, DataType type = kInt32);
Expr float_imm(double value, DataType type = kFloat32);
Expr bool_imm(bool value);
Expr zero_of(DataType type);
Var make_var(std::string name, DataType type = kInt32);
Expr var_ref(const Var& var);
Expr unary(UnaryOp op, Expr a);
Expr binary(BinaryOp op, Expr a, Expr b);
Expr mul_add(Expr a, Expr b, Expr c);
Expr select(Expr condition, Expr then_value, Expr else_value);
Expr cast(DataType type, Expr value);
Expr reinterpret(DataType type, Expr value);  // of the same size
Expr load(Buffer buffer, std::vector<Expr> indices, Expr predicate = nullptr, int lanes = 1);
Expr ramp(Expr base, std::int64_t stride, int lanes);
Expr broadcast(Expr value, int lanes);

// A scalar index changed by `f`; a Ramp by what f makes of its first index.
template <typename F>
Expr with_base(const Expr& index, F f) {
  const auto* vector = std::get_if<Ramp>(&index->node);
  return vector ? ramp(f(vector->base), vector->stride, index->type.lanes) : f(index);
}

inline Expr operator+(Expr a, Expr b) { return binary(BinaryOp::Add, std::move(a), std::move(b)); }
inline Expr operator-(Expr a, Expr b) { return binary(BinaryOp::Sub, std::move(a), std::move(b)); }
inline Expr operator*(Expr a, Expr b) { return binary(BinaryOp::Mul, std::move(a), std::move(b)); }

// The constant, or null.
inline const std::int64_t* as_int(const Expr& expr) {
  const auto* imm = std::get_if<IntImm>(&expr->node);
  return imm ? &imm->value : nullptr;
}

// A variable or a constant: cheaper to visit than to look up.
inline bool is_leaf(const Expr& expr) {
  return std::holds_alternative<VarRef>(expr->node) || std::holds_alternative<IntImm>(expr->node) ||
         std::holds_alternative<FloatImm>(expr->node);
}

}  // namespace fettle::ir
