// Printing expressions (expression_printer.h).
#include "host/space/dag_text/expression_printer.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "host/ir/visit.h"

namespace fettle::space {
namespace {

// How tightly an operator binds; an operand that binds less is put in parentheses.
enum Level { kOr, kAnd, kCompare, kShift, kSum, kProduct, kUnary, kPrimary };

struct Infix {
  const char* sign;
  Level level;
};

// Empty: written as a function.
std::optional<Infix> infix_of(ir::BinaryOp op) {
  switch (op) {
    case ir::BinaryOp::Add:
      return Infix{" + ", kSum};
    case ir::BinaryOp::Sub:
      return Infix{" - ", kSum};
    case ir::BinaryOp::Mul:
      return Infix{" * ", kProduct};
    case ir::BinaryOp::Div:
      return Infix{" / ", kProduct};
    case ir::BinaryOp::Mod:
      return Infix{" % ", kProduct};
    case ir::BinaryOp::Min:
    case ir::BinaryOp::Max:
      return std::nullopt;
    case ir::BinaryOp::And:
      return Infix{" && ", kAnd};
    case ir::BinaryOp::Or:
      return Infix{" || ", kOr};
    case ir::BinaryOp::ShiftLeft:
      return Infix{" << ", kShift};
    case ir::BinaryOp::ShiftRight:
      return Infix{" >> ", kShift};
    case ir::BinaryOp::Eq:
      return Infix{" == ", kCompare};
    case ir::BinaryOp::Ne:
      return Infix{" != ", kCompare};
    case ir::BinaryOp::Lt:
      return Infix{" < ", kCompare};
    case ir::BinaryOp::Le:
      return Infix{" <= ", kCompare};
  }
  return std::nullopt;
}

// Read back, it is the same number.
std::string real(double value, ir::Scalar scalar) {
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char text[40];
  const auto end = scalar == ir::Scalar::Float32
                       ? std::to_chars(text, text + sizeof text, static_cast<float>(value))
                       : std::to_chars(text, text + sizeof text, value);
  std::string s(text, end.ptr);
  if (s.find_first_of(".e") == std::string::npos) s += ".0";
  return s;
}

bool is_literal(const ir::Expr& e) {
  return std::holds_alternative<ir::IntImm>(e->node) ||
         std::holds_alternative<ir::FloatImm>(e->node);
}

class Printer {
 public:
  explicit Printer(const ExpressionNames& names) : names_(names) {}

  // What is used more than once gets a name, operands before users.
  ExpressionText all(const ir::Expr& root) {
    count(root);
    ExpressionText text;
    for (const ir::ExprNode* node : order_) {
      if (uses_[node] < 2) continue;
      std::string value = define(*node).text;
      const std::string name = "t" + std::to_string(text.lets.size());
      given_[node] = name;
      text.lets.emplace_back(name, std::move(value));
    }
    text.value = expr(root).text;
    return text;
  }

  std::string index(const ir::Expr& e) { return expr(e).text; }
  const std::optional<Error>& error() const { return error_; }

 private:
  struct Piece {
    std::string text;
    Level level = kPrimary;
  };

  void count(const ir::Expr& e) {
    if (is_literal(e) || std::holds_alternative<ir::VarRef>(e->node)) return;
    if (++uses_[e.get()] > 1) return;
    ir::for_each_child(e, [&](const ir::Expr& child) { count(child); });
    order_.push_back(e.get());
  }

  Piece expr(const ir::Expr& e) {
    const auto given = given_.find(e.get());
    return given != given_.end() ? Piece{given->second} : define(*e);
  }

  std::string at_least(const ir::Expr& e, Level level) {
    const Piece piece = expr(e);
    return piece.level >= level ? piece.text : "(" + piece.text + ")";
  }

  Piece define(const ir::ExprNode& e) {
    return std::visit([&](const auto& n) { return written(e.type, n); }, e.node);
  }

  Piece written(ir::DataType type, const ir::IntImm& n) {
    if (type.is_bool()) return {n.value ? "true" : "false"};
    const std::string digits = std::to_string(n.value);
    if (type != ir::kInt32) return {ir::to_string(type) + "(" + digits + ")"};
    return {digits, n.value < 0 ? kUnary : kPrimary};
  }
  Piece written(ir::DataType type, const ir::FloatImm& n) {
    const std::string digits = real(n.value, type.scalar);
    if (type != ir::kFloat32) return {ir::to_string(type) + "(" + digits + ")"};
    return {digits, digits[0] == '-' ? kUnary : kPrimary};
  }
  Piece written(ir::DataType, const ir::VarRef& n) {
    return {name(names_.axes, n.var, n.var->name)};
  }
  Piece written(ir::DataType, const ir::Unary& n) {
    switch (n.op) {
      case ir::UnaryOp::Neg:  // of a literal it would be read as a negative one
        return {"-(" + expr(n.a).text + ")", kUnary};
      case ir::UnaryOp::Not:
        return {"!" + at_least(n.a, kUnary), kUnary};
      case ir::UnaryOp::Sqrt:
        return {"sqrt(" + expr(n.a).text + ")"};
      case ir::UnaryOp::Floor:
        return {"floor(" + expr(n.a).text + ")"};
      case ir::UnaryOp::Abs:
        return {"abs(" + expr(n.a).text + ")"};
      case ir::UnaryOp::RoundEven:
        return {"round(" + expr(n.a).text + ")"};
      case ir::UnaryOp::Tf32:
        return {"tf32(" + expr(n.a).text + ")"};
    }
    return {};
  }
  Piece written(ir::DataType, const ir::Binary& n) {
    if (const auto infix = infix_of(n.op)) {
      // Operators of one level are read from left to right; comparisons do not follow one another.
      const Level left = infix->level == kCompare ? kShift : infix->level;
      return {at_least(n.a, left) + infix->sign + at_least(n.b, Level(infix->level + 1)),
              infix->level};
    }
    const char* function = n.op == ir::BinaryOp::Min ? "min(" : "max(";
    return {function + expr(n.a).text + ", " + expr(n.b).text + ")"};
  }
  Piece written(ir::DataType, const ir::Select& n) {
    return {"select(" + expr(n.condition).text + ", " + expr(n.then_value).text + ", " +
            expr(n.else_value).text + ")"};
  }
  Piece written(ir::DataType type, const ir::Cast& n) {
    // A bare literal in a type's parentheses is a literal of that type.
    const std::string value = expr(n.value).text;
    return {ir::to_string(type) + (is_literal(n.value) ? "((" + value + "))" : "(" + value + ")")};
  }
  Piece written(ir::DataType type, const ir::Reinterpret& n) {
    return {"bits_as_" + ir::to_string(type) + "(" + expr(n.value).text + ")"};
  }
  Piece written(ir::DataType, const ir::Load& n) {
    std::string text = name(names_.tensors, n.buffer, n.buffer->name) + "[";
    for (std::size_t i = 0; i < n.indices.size(); ++i) {
      text += (i > 0 ? ", " : "") + expr(n.indices[i]).text;
    }
    if (n.predicate) text += " | " + expr(n.predicate).text;
    return {text + "]"};
  }
  Piece written(ir::DataType,
                const ir::OneOf<ir::MulAdd, ir::Intrinsic, ir::Ramp, ir::Broadcast> auto&) {
    error_ = Error{ErrorCode::Unsupported, "vectors and instructions have no text in a DAG"};
    return {};
  }

  template <typename Key>
  std::string name(const std::map<Key, std::string>& names, const Key& key,
                   const std::string& what) {
    const auto known = names.find(key);
    if (known != names.end()) return known->second;
    error_ = Error{ErrorCode::Internal, "\"" + what + "\" is no tensor or axis of the DAG"};
    return {};
  }

  const ExpressionNames& names_;
  std::unordered_map<const ir::ExprNode*, int> uses_;
  std::vector<const ir::ExprNode*> order_;  // operands before users
  std::unordered_map<const ir::ExprNode*, std::string> given_;
  std::optional<Error> error_;
};

}  // namespace

Result<ExpressionText> print_expression(const ir::Expr& expr, const ExpressionNames& names) {
  Printer printer(names);
  ExpressionText text = printer.all(expr);
  if (printer.error()) return *printer.error();
  return text;
}

Result<std::string> print_index(const ir::Expr& expr, const ExpressionNames& names) {
  Printer printer(names);
  std::string text = printer.index(expr);
  if (printer.error()) return *printer.error();
  return text;
}

}  // namespace fettle::space
