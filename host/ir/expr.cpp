// Makers of expressions (expr.h): types checked, constants and neutral elements folded.
#include "host/ir/expr.h"

#include <cassert>

#include "host/ir/fold.h"

namespace fettle::ir {

namespace {

template <typename Node>
Expr node(DataType type, Node n) {
  return std::make_shared<const ExprNode>(ExprNode{type, std::move(n)});
}

bool is_comparison(BinaryOp op) { return op >= BinaryOp::Eq; }

bool is_float(const Expr& e, double value) {
  if (const auto* imm = std::get_if<FloatImm>(&e->node)) return imm->value == value;
  if (const auto* wide = std::get_if<Broadcast>(&e->node)) return is_float(wide->value, value);
  return false;
}

// The integer constant that every lane holds, or null.
const std::int64_t* every_lane(const Expr& e) {
  if (const auto* wide = std::get_if<Broadcast>(&e->node)) return as_int(wide->value);
  return as_int(e);
}

// a op b where one of them is neutral or absorbing; null: neither.
Expr neutral(BinaryOp op, const Expr& a, const Expr& b) {
  const std::int64_t* ca = every_lane(a);
  const std::int64_t* cb = every_lane(b);
  const bool floats = a->type.is_float();
  switch (op) {
    case BinaryOp::Add:
      if (ca && *ca == 0) return b;
      if (cb && *cb == 0) return a;
      return nullptr;
    case BinaryOp::Sub:
      return cb && *cb == 0 ? a : nullptr;
    case BinaryOp::Mul:
      if (floats) return is_float(a, 1) ? b : is_float(b, 1) ? a : nullptr;
      if (ca && *ca == 1) return b;
      if (cb && *cb == 1) return a;
      if ((ca && *ca == 0) || (cb && *cb == 0)) return zero_of(a->type);
      return nullptr;
    case BinaryOp::Div:
      if (floats) return is_float(b, 1) ? a : nullptr;
      return cb && *cb == 1 ? a : nullptr;
    case BinaryOp::Mod:
      return cb && *cb == 1 ? zero_of(a->type) : nullptr;
    case BinaryOp::And:
      if (ca) return *ca ? b : a;
      if (cb) return *cb ? a : b;
      return nullptr;
    case BinaryOp::Or:
      if (ca) return *ca ? a : b;
      if (cb) return *cb ? b : a;
      return nullptr;
    case BinaryOp::ShiftLeft:
    case BinaryOp::ShiftRight:
      return cb && *cb == 0 ? a : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace

std::int64_t BufferDecl::elements() const {
  std::int64_t count = 1;
  for (std::int64_t extent : shape) count *= extent;
  return count;
}

namespace {

// Most nodes of a lowered program are small constants: these are made once.
constexpr std::int64_t kLeastKept = -16, kMostKept = 255;

const Expr& kept_int(std::int64_t value) {
  static const std::vector<Expr> kept = [] {
    std::vector<Expr> all;
    for (std::int64_t i = kLeastKept; i <= kMostKept; ++i) all.push_back(node(kInt32, IntImm{i}));
    return all;
  }();
  return kept[static_cast<std::size_t>(value - kLeastKept)];
}

}  // namespace

Expr int_imm(std::int64_t value, DataType type) {
  assert(!type.is_float());
  if (type == kInt32 && value >= kLeastKept && value <= kMostKept) return kept_int(value);
  const Expr scalar = node(type.element(), IntImm{wrap(value, type.scalar)});
  return type.lanes == 1 ? scalar : broadcast(scalar, type.lanes);
}

Expr float_imm(double value, DataType type) {
  assert(type.is_float());
  if (type.scalar == Scalar::Float32) value = static_cast<float>(value);
  const Expr scalar = node(type.element(), FloatImm{value});
  return type.lanes == 1 ? scalar : broadcast(scalar, type.lanes);
}

Expr bool_imm(bool value) { return int_imm(value, kBool); }

Expr zero_of(DataType type) { return type.is_float() ? float_imm(0, type) : int_imm(0, type); }

Var make_var(std::string name, DataType type) {
  return std::make_shared<const VarDecl>(VarDecl{std::move(name), type});
}

Expr var_ref(const Var& var) { return node(var->type, VarRef{var}); }

Expr unary(UnaryOp op, Expr a) {
  const DataType type = a->type;
  assert((op == UnaryOp::Not) == type.is_bool());
  assert((op != UnaryOp::Sqrt && op != UnaryOp::Floor) || type.is_float());
  assert((op != UnaryOp::Tf32 && op != UnaryOp::RoundEven) || type.scalar == Scalar::Float32);
  if (const std::int64_t* c = as_int(a)) {
    if (op == UnaryOp::Not) return bool_imm(!*c);
    if (op == UnaryOp::Neg) return int_imm(-*c, type);
    if (op == UnaryOp::Abs) return int_imm(*c < 0 ? -*c : *c, type);
  }
  return node(type, Unary{op, std::move(a)});
}

Expr binary(BinaryOp op, Expr a, Expr b) {
  assert(a->type == b->type);
  const DataType type = a->type;
  assert((op == BinaryOp::And || op == BinaryOp::Or) ? type.is_bool() : true);
  assert((op == BinaryOp::Mod || op == BinaryOp::ShiftLeft || op == BinaryOp::ShiftRight)
             ? type.is_int()
             : true);
  const DataType result = is_comparison(op) ? kBool.with_lanes(type.lanes) : type;
  const std::int64_t* ca = every_lane(a);
  const std::int64_t* cb = every_lane(b);
  if (ca && cb) {
    if (auto value = fold_int(op, *ca, *cb, type.scalar)) return int_imm(*value, result);
  }
  if (Expr shorter = neutral(op, a, b)) return shorter;
  return node(result, Binary{op, std::move(a), std::move(b)});
}

Expr mul_add(Expr a, Expr b, Expr c) {
  assert(a->type == b->type && b->type == c->type && a->type.is_float());
  const DataType type = a->type;
  return node(type, MulAdd{std::move(a), std::move(b), std::move(c)});
}

Expr select(Expr condition, Expr then_value, Expr else_value) {
  assert(condition->type.is_bool() && then_value->type == else_value->type);
  assert(condition->type.lanes == then_value->type.lanes);
  if (const std::int64_t* c = every_lane(condition)) return *c ? then_value : else_value;
  const DataType type = then_value->type;
  return node(type, Select{std::move(condition), std::move(then_value), std::move(else_value)});
}

Expr cast(DataType type, Expr value) {
  assert(type.lanes == value->type.lanes);
  if (type == value->type) return value;
  if (const std::int64_t* c = as_int(value)) {
    return type.is_float() ? float_imm(static_cast<double>(*c), type) : int_imm(*c, type);
  }
  return node(type, Cast{std::move(value)});
}

Expr reinterpret(DataType type, Expr value) {
  assert(type.bytes() * type.lanes == value->type.bytes() * value->type.lanes);
  if (type == value->type) return value;
  return node(type, Reinterpret{std::move(value)});
}

Expr load(Buffer buffer, std::vector<Expr> indices, Expr predicate, int lanes) {
  assert(!indices.empty() || buffer->shape.empty());
  assert(!predicate || (predicate->type.is_bool() && predicate->type.lanes == lanes));
  const DataType type = buffer->type.with_lanes(lanes);
  if (predicate) {
    if (const std::int64_t* c = every_lane(predicate)) {
      if (*c == 0) return zero_of(type);
      predicate = nullptr;
    }
  }
  return node(type, Load{std::move(buffer), std::move(indices), std::move(predicate)});
}

Expr ramp(Expr base, std::int64_t stride, int lanes) {
  assert(base->type.is_int() && base->type.lanes == 1 && lanes > 1);
  const DataType type = base->type.with_lanes(lanes);
  return node(type, Ramp{std::move(base), stride});
}

Expr broadcast(Expr value, int lanes) {
  assert(value->type.lanes == 1);
  if (lanes == 1) return value;
  const DataType type = value->type.with_lanes(lanes);
  return node(type, Broadcast{std::move(value)});
}

}  // namespace fettle::ir
