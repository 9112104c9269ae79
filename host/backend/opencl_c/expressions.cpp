// Expressions of OpenCL C (expressions.h).
#include "host/backend/opencl_c/expressions.h"

#include "host/ir/intrinsics.h"
#include "host/ir/visit.h"

namespace fettle::backend::opencl_c {
namespace {

using ir::Expr;

constexpr std::size_t kLongest = 160;  // characters of an expression that has no name

// Too short for a name of its own.
bool is_short(const Expr& e) {
  if (const auto* copies = std::get_if<ir::Broadcast>(&e->node)) return is_short(copies->value);
  return ir::is_leaf(e) || std::holds_alternative<ir::Ramp>(e->node);
}

void count(const Expr& e, std::unordered_map<Expr, int>& uses) {
  if (uses[e]++ > 0) return;
  ir::for_each_child(e, [&](const Expr& child) { count(child, uses); });
}

bool is_signed(ir::DataType type) { return type.scalar != ir::Scalar::UInt8; }

// Lanes of conditions, which are 0 and -1.
bool truths(const ir::Binary& n) { return n.a->type.is_bool() && n.a->type.lanes > 1; }

}  // namespace

std::string component(int lane) { return std::string("s") + "0123456789abcdef"[lane]; }

Expr lane_of(const Expr& expr, int at) {
  if (expr->type.lanes == 1) return expr;
  const auto part = [&](const Expr& e) { return lane_of(e, at); };
  const ir::DataType type = expr->type.element();
  return ir::visit(
      expr, [&](const ir::Ramp& n) { return n.base + ir::int_imm(n.stride * at, type); },
      [&](const ir::Broadcast& n) { return n.value; },
      [&](const ir::Unary& n) { return ir::unary(n.op, part(n.a)); },
      [&](const ir::Binary& n) { return ir::binary(n.op, part(n.a), part(n.b)); },
      [&](const ir::MulAdd& n) { return ir::mul_add(part(n.a), part(n.b), part(n.c)); },
      [&](const ir::Select& n) {
        return ir::select(part(n.condition), part(n.then_value), part(n.else_value));
      },
      [&](const ir::Cast& n) { return ir::cast(type, part(n.value)); },
      [&](const ir::Load& n) {
        return ir::load(n.buffer, {part(n.indices[0])}, n.predicate ? part(n.predicate) : nullptr);
      },
      [&](const ir::OneOf<ir::IntImm, ir::FloatImm, ir::VarRef, ir::Intrinsic,
                          ir::Reinterpret> auto&) { return Expr(); });
}

void Expressions::begin(const ir::Stmt& stmt) {
  uses_.clear();
  named_.clear();
  lines.clear();
  if (!std::holds_alternative<ir::Store>(stmt->node)) return;
  ir::for_each_part(stmt, [](const ir::Stmt&) {}, [&](const Expr& e) { count(e, uses_); });
}

Code Expressions::value(const Expr& expr) {
  if (!problem.empty()) return {"0"};
  if (!names_values_) return computed(expr);
  if (const auto known = named_.find(expr); known != named_.end()) return {known->second};
  const auto uses = uses_.find(expr);
  const bool shared = uses != uses_.end() && uses->second > 1 && !is_short(expr);
  Code code = computed(expr);
  if (!shared && code.text.size() <= kLongest) return code;
  const std::string name = names_.fresh("t");
  lines.push_back("const " + types_.value(expr->type) + " " + name + " = " + code.text + ";");
  named_[expr] = name;
  return {name};
}

Expr Expressions::condition(const Expr& predicate) const {
  if (!predicate) return nullptr;
  const Expr one = std::holds_alternative<ir::Broadcast>(predicate->node)
                       ? std::get<ir::Broadcast>(predicate->node).value
                       : predicate;
  const std::int64_t* constant = ir::as_int(one);
  return constant && *constant != 0 ? nullptr : one;
}

Code Expressions::computed(const Expr& expr) {
  const ir::ExprNode& node = *expr;
  const ir::DataType type = node.type;
  return ir::visit(
      expr, [&](const ir::IntImm& n) { return integer_literal(n.value, type); },
      [&](const ir::FloatImm& n) { return types_.literal(n.value, type); },
      [&](const ir::VarRef& n) { return Code{names_.of(n.var.get(), n.var->name)}; },
      [&](const ir::OneOf<ir::Unary, ir::Binary> auto& n) { return value_of(node, n); },
      [&](const ir::MulAdd& n) {
        if (type.is_float() && !(type.scalar == ir::Scalar::Float16)) {
          return call("mad", {n.a, n.b, n.c});
        }
        return narrowed(
            type, {value(n.a).within(Level::Product) + " * " + value(n.b).within(Level::Unary) +
                       " + " + value(n.c).within(Level::Product),
                   Level::Sum});
      },
      [&](const ir::Intrinsic& n) { return instruction(n); },
      [&](const ir::Select& n) { return chosen(node, n); },
      [&](const ir::Cast& n) { return converted(type, n.value); },
      [&](const ir::Reinterpret& n) {
        if (types_.by_call(type) || types_.by_call(n.value->type)) fail("bits of a float16");
        return Code{"as_" + types_.value(type) + "(" + value(n.value).text + ")"};
      },
      [&](const ir::Load& n) { return loaded(node, n); },
      [&](const ir::Ramp& n) {
        std::string steps;
        for (int lane = 0; lane < type.lanes; ++lane) {
          steps += (lane ? ", " : "") + std::to_string(lane * n.stride);
        }
        const std::string vector = "(" + types_.value(type) + ")";
        return Code{vector + "(" + value(n.base).text + ") + " + vector + "(" + steps + ")",
                    Level::Sum};
      },
      [&](const ir::Broadcast& n) {
        const Code one = value(n.value);
        // A vector's conditions are 0 and -1.
        const std::string each = type.is_bool() ? "-(int)" + one.within(Level::Unary) : one.text;
        return Code{"(" + types_.value(type) + ")(" + each + ")", Level::Unary};
      });
}

// Scalars shorter than an int are computed as ints.
Code Expressions::narrowed(ir::DataType type, Code code) const {
  if (type.lanes > 1 || !type.is_int() || type.bytes() >= 4) return code;
  return {"(" + types_.value(type) + ")" + code.within(Level::Primary), Level::Unary};
}

Code Expressions::instruction(const ir::Intrinsic& n) {
  if (std::string_view(n.row->name) != "dot4_s8s8" || !dot_) {
    fail(std::string("OpenCL C has no instruction for ") + n.row->name);
    return {"0"};
  }
  const ir::DataType type = n.args.back()->type;
  std::vector<std::string> whole;
  for (const Expr& arg : n.args) {
    whole.push_back(value(arg).text);
    if (type.lanes == 1) continue;
    const std::string name = names_.fresh("t");  // its lanes are read one by one
    lines.push_back("const " + types_.value(type) + " " + name + " = " + whole.back() + ";");
    whole.back() = name;
  }
  if (type.lanes == 1) return {dot_(whole[0], whole[1], whole[2])};
  std::string text;
  for (int lane = 0; lane < type.lanes; ++lane) {
    const auto part = [&](int i) { return whole[std::size_t(i)] + "." + component(lane); };
    text += (lane ? ", " : "") + dot_(part(0), part(1), part(2));
  }
  return {"(" + types_.value(type) + ")(" + text + ")", Level::Unary};
}

Code Expressions::call(const std::string& function, const std::vector<Expr>& args) {
  std::string text = function + "(";
  for (std::size_t i = 0; i < args.size(); ++i) text += (i ? ", " : "") + value(args[i]).text;
  return {text + ")"};
}

Code Expressions::value_of(const ir::ExprNode& node, const ir::Unary& n) {
  const bool real = node.type.is_float();
  switch (n.op) {
    case ir::UnaryOp::Neg:
      return narrowed(node.type, {"-" + value(n.a).within(Level::Primary), Level::Unary});
    case ir::UnaryOp::Not:
      return {(node.type.lanes > 1 ? "~" : "!") + value(n.a).within(Level::Primary), Level::Unary};
    case ir::UnaryOp::Sqrt:
      return call("sqrt", {n.a});
    case ir::UnaryOp::Floor:
      return real ? call("floor", {n.a}) : value(n.a);
    case ir::UnaryOp::Abs:
      if (real) return call("fabs", {n.a});
      if (!is_signed(node.type)) return value(n.a);
      return {"as_" + types_.value(node.type) + "(" + call("abs", {n.a}).text + ")"};
    case ir::UnaryOp::RoundEven: {
      // Near a half, a quotient that is a little off comes to another integer.
      const auto* quotient = std::get_if<ir::Binary>(&n.a->node);
      if (node.type.element() != ir::kFloat32 || !quotient || quotient->op != ir::BinaryOp::Div) {
        return call("rint", {n.a});
      }
      const Code exact = call(helpers.quotient(node.type.lanes), {quotient->a, quotient->b});
      return {"rint(" + exact.text + ")"};
    }
    case ir::UnaryOp::Tf32: {
      const std::string bits = types_.value(ir::kInt32.with_lanes(node.type.lanes));
      return {"as_" + types_.value(node.type) + "((as_" + bits + "(" + value(n.a).text +
              ") + 0x1000) & ~0x1fff)"};
    }
  }
  return {"0"};
}

Code Expressions::value_of(const ir::ExprNode& node, const ir::Binary& n) {
  using ir::BinaryOp;
  const bool wide = node.type.lanes > 1;
  const auto joined = [&](const char* op, Level level, Level right) {
    return narrowed(node.type,
                    {value(n.a).within(level) + " " + op + " " + value(n.b).within(right), level});
  };
  switch (n.op) {
    case BinaryOp::Add:
      if (node.type == ir::kInt32) {
        const std::string sum = index(n.a + n.b);
        const bool one = sum.find(' ') == std::string::npos;
        return {sum, one ? (sum[0] == '-' ? Level::Unary : Level::Primary) : Level::Sum};
      }
      return joined("+", Level::Sum, Level::Product);
    case BinaryOp::Sub:
      return joined("-", Level::Sum, Level::Product);
    case BinaryOp::Mul:
      return joined("*", Level::Product, Level::Unary);
    case BinaryOp::Div:
    case BinaryOp::Mod:
      if (!node.type.is_float()) return divided(n);
      if (n.op == BinaryOp::Div) return joined("/", Level::Product, Level::Unary);
      fail("a remainder of floats");
      return {"0"};
    case BinaryOp::Min:
    case BinaryOp::Max:
      return extreme(node, n);
    case BinaryOp::And:
      if (!wide) return joined("&&", Level::AllOf, Level::Equality);
      return {value(n.a).within(Level::Unary) + " & " + value(n.b).within(Level::Unary),
              Level::And};
    case BinaryOp::Or:
      if (!wide) return joined("||", Level::AnyOf, Level::Equality);
      return {value(n.a).within(Level::Unary) + " | " + value(n.b).within(Level::Unary), Level::Or};
    case BinaryOp::ShiftLeft:
    case BinaryOp::ShiftRight:
      return narrowed(node.type, {value(n.a).within(Level::Unary) +
                                      (n.op == BinaryOp::ShiftLeft ? " << " : " >> ") +
                                      value(n.b).within(Level::Unary),
                                  Level::Shift});
    case BinaryOp::Eq:
      return compared(n, " == ", Level::Equality);
    case BinaryOp::Ne:
      return compared(n, " != ", Level::Equality);
    // True is -1 in a lane of a vector, and less than false there.
    case BinaryOp::Lt:
      return compared(n, truths(n) ? " > " : " < ", Level::Relation);
    case BinaryOp::Le:
      return compared(n, truths(n) ? " >= " : " <= ", Level::Relation);
  }
  return {"0"};
}

// max and min say nothing of what is no number, and fmax and fmin make one of it.
Code Expressions::extreme(const ir::ExprNode& node, const ir::Binary& n) {
  const bool less = (n.op == ir::BinaryOp::Min) != truths(n);
  if (!node.type.is_float()) return call(less ? "min" : "max", {n.a, n.b});
  return call(helpers.extreme(types_.value(node.type), node.type.lanes, less), {n.a, n.b});
}

// Of vectors as wide as their elements are, which is made ints.
Code Expressions::compared(const ir::Binary& n, const char* op, Level level) {
  const Code code{value(n.a).within(Level::Sum) + op + value(n.b).within(Level::Sum), level};
  const ir::DataType type = n.a->type;
  if (type.lanes == 1 || type.is_bool() || type.bytes() == 4 || types_.by_call(type)) return code;
  return {"convert_int" + lanes_text(type.lanes) + "(" + code.text + ")"};
}

// Toward minus infinity. What is not negative, C divides so.
Code Expressions::divided(const ir::Binary& n) {
  const bool quotient = n.op == ir::BinaryOp::Div;
  const ir::DataType type = n.a->type;
  const auto range = type.lanes == 1 ? ir::bounds_of(n.a, ranges) : std::nullopt;
  const std::string a = value(n.a).within(Level::Unary), b = value(n.b).within(Level::Unary);
  const Code plain = narrowed(type, {a + (quotient ? " / " : " % ") + b, Level::Product});
  if (!is_signed(type) || (range && range->low >= 0)) return plain;
  if (const std::int64_t* by = ir::as_int(n.b); by && *by > 0 && (*by & (*by - 1)) == 0) {
    const int bits = __builtin_ctzll(static_cast<std::uint64_t>(*by));
    if (quotient) return narrowed(type, {a + " >> " + std::to_string(bits), Level::Shift});
    return narrowed(type, {a + " & " + std::to_string(*by - 1), Level::And});
  }
  const bool wide = type.lanes > 1;
  // No int beside vectors of less.
  const std::string none = wide ? "(" + types_.value(type) + ")(0)" : "0";
  const std::string below = "(" + a + " % " + b + " < " + none + ")";
  if (quotient) {
    return narrowed(type, {a + " / " + b + (wide ? " + " : " - ") + below, Level::Sum});
  }
  return narrowed(type,
                  {a + " % " + b + " + (" + below + " ? " + b + " : " + none + ")", Level::Sum});
}

Code Expressions::chosen(const ir::ExprNode& node, const ir::Select& n) {
  const Expr one = condition(n.condition);
  if (!one) return value(n.then_value);
  Code on = value(one);
  const ir::DataType type = node.type;
  if (one->type.lanes > 1 && !type.is_bool() && !types_.by_call(type) && type.bytes() != 4) {
    const char* words = type.bytes() == 1 ? "char" : type.bytes() == 2 ? "short" : "long";
    on = {std::string("convert_") + words + lanes_text(type.lanes) + "(" + on.text + ")"};
  }
  const std::string yes = value(n.then_value).within(Level::AnyOf);
  return narrowed(type, {on.within(Level::AnyOf) + " ? " + yes + " : " +
                             value(n.else_value).within(Level::AnyOf),
                         Level::Choice});
}

Code Expressions::converted(ir::DataType to, const Expr& from) {
  const ir::DataType was = from->type;
  const std::string lanes = lanes_text(to.lanes);
  if (was.scalar == to.scalar) return value(from);
  if (to.is_bool()) {
    return compared(
        {ir::BinaryOp::Ne, from,
         was.lanes > 1 ? ir::broadcast(ir::cast(was.element(), ir::int_imm(0)), was.lanes)
                       : ir::cast(was, ir::int_imm(0))},
        " != ", Level::Equality);
  }
  Code code = value(from);
  if (was.is_bool() && was.lanes > 1) code = {"-" + code.within(Level::Primary), Level::Unary};
  if (types_.by_call(to)) {
    if (was.scalar != ir::Scalar::Float32) {
      code = to.lanes > 1 ? Code{"convert_float" + lanes + "(" + code.text + ")"}
                          : Code{"(float)" + code.within(Level::Unary), Level::Unary};
    }
    return {helpers.half_round(to.lanes) + "(" + code.text + ")"};
  }
  const std::string source = types_.value(was), target = types_.value(to);
  if (source == target) return code;
  if (to.lanes > 1) return {"convert_" + target + "(" + code.text + ")"};
  return {"(" + target + ")" + code.within(Level::Unary), Level::Unary};
}

}  // namespace fettle::backend::opencl_c
