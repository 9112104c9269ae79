// A recursive descent over the grammar (expression_parser.h).
#include "host/space/dag_text/expression_parser.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "host/space/operators/activations.h"

namespace fettle::space {
namespace {

constexpr int kDeepest = 200;  // nesting of parentheses and calls
constexpr std::size_t kLongest = 1 << 16;
constexpr int kMostValues = 512;  // so that no tree is deeper than a stack

struct Problem {
  std::string what;
};  // thrown inside this file only

class Parser {
 public:
  Parser(const std::string& text, const ExpressionScope& scope) : text_(text), scope_(scope) {}

  ParsedExpression all() {
    if (text_.size() > kLongest) throw Problem{"the expression is too long"};
    ir::Expr value = disjunction();
    if (skip(); at_ < text_.size()) fail("something follows the expression");
    return {std::move(value), approximates_};
  }
  std::size_t at() const { return at_; }

 private:
  using Maker = ir::Expr (*)(const ir::Expr&);

  [[noreturn]] void fail(const std::string& what) { throw Problem{what}; }

  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) {
      ++at_;
    }
  }
  bool next_is(std::string_view sign) {
    skip();
    return std::string_view(text_).substr(at_, sign.size()) == sign;
  }
  bool take(std::string_view sign) {
    if (!next_is(sign)) return false;
    at_ += sign.size();
    return true;
  }
  void expect(std::string_view sign) {
    if (!take(sign)) fail("expected \"" + std::string(sign) + "\"");
  }

  // An integer literal takes the type of what stands on the other side.
  static void adapt(ir::Expr& literal, const ir::Expr& other) {
    const std::int64_t* value = ir::as_int(literal);
    if (!value || literal->type != ir::kInt32 || other->type.is_bool()) return;
    literal = other->type.is_float() ? ir::float_imm(double(*value), other->type)
                                     : ir::int_imm(*value, other->type);
  }

  ir::Expr binary(ir::BinaryOp op, ir::Expr a, ir::Expr b) {
    adapt(a, b), adapt(b, a);
    if (a->type != b->type) {
      fail("types differ: " + ir::to_string(a->type) + " and " + ir::to_string(b->type));
    }
    const bool logical = op == ir::BinaryOp::And || op == ir::BinaryOp::Or;
    const bool compares = op >= ir::BinaryOp::Eq;
    const bool integral =
        op == ir::BinaryOp::Mod || op == ir::BinaryOp::ShiftLeft || op == ir::BinaryOp::ShiftRight;
    if (logical != a->type.is_bool() && !(compares && a->type.is_bool())) {
      fail(logical ? "&& and || want conditions" : "a condition is no number");
    }
    if (integral && !a->type.is_int()) fail("%, << and >> want integers");
    if (a->type.is_int() && (op == ir::BinaryOp::Div || op == ir::BinaryOp::Mod)) {
      const std::int64_t* divisor = ir::as_int(b);
      if (!divisor || *divisor < 1) fail("integers are divided by positive constants only");
    }
    if (op == ir::BinaryOp::ShiftLeft || op == ir::BinaryOp::ShiftRight) {
      const std::int64_t* bits = ir::as_int(b);
      if (bits && (*bits < 0 || *bits >= 8 * a->type.bytes())) fail("a shift outside its type");
    }
    return ir::binary(op, std::move(a), std::move(b));
  }

  ir::Expr disjunction() {
    if (++depth_ > kDeepest) fail("nested too deeply");
    ir::Expr value = conjunction();
    while (next_is("||") && take("||")) value = binary(ir::BinaryOp::Or, value, conjunction());
    --depth_;
    return value;
  }

  ir::Expr conjunction() {
    ir::Expr value = comparison();
    while (take("&&")) value = binary(ir::BinaryOp::And, value, comparison());
    return value;
  }

  ir::Expr comparison() {
    ir::Expr value = shift();
    if (take("==")) return binary(ir::BinaryOp::Eq, value, shift());
    if (take("!=")) return binary(ir::BinaryOp::Ne, value, shift());
    if (take("<=")) return binary(ir::BinaryOp::Le, value, shift());
    if (take(">=")) return binary(ir::BinaryOp::Le, shift(), value);
    if (!next_is("<<") && take("<")) return binary(ir::BinaryOp::Lt, value, shift());
    if (!next_is(">>") && take(">")) return binary(ir::BinaryOp::Lt, shift(), value);
    return value;
  }

  ir::Expr shift() {
    ir::Expr value = sum();
    while (true) {
      if (take("<<")) {
        value = binary(ir::BinaryOp::ShiftLeft, value, sum());
      } else if (take(">>")) {
        value = binary(ir::BinaryOp::ShiftRight, value, sum());
      } else {
        return value;
      }
    }
  }

  ir::Expr sum() {
    ir::Expr value = product();
    while (true) {
      if (take("+")) {
        value = binary(ir::BinaryOp::Add, value, product());
      } else if (take("-")) {
        value = binary(ir::BinaryOp::Sub, value, product());
      } else {
        return value;
      }
    }
  }

  ir::Expr product() {
    ir::Expr value = prefixed();
    while (true) {
      if (take("*")) {
        value = binary(ir::BinaryOp::Mul, value, prefixed());
      } else if (take("/")) {
        value = binary(ir::BinaryOp::Div, value, prefixed());
      } else if (take("%")) {
        value = binary(ir::BinaryOp::Mod, value, prefixed());
      } else {
        return value;
      }
    }
  }

  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool begins_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  }

  ir::Expr prefixed() {
    if (++values_ > kMostValues) fail("too many values");
    if (!next_is("!=") && take("!")) {
      const ir::Expr value = prefixed();
      if (!value->type.is_bool()) fail("! wants a condition");
      return ir::unary(ir::UnaryOp::Not, value);
    }
    if (take("-")) {
      skip();
      if (at_ < text_.size() && is_digit(text_[at_])) return number(true);
      if (next_is("inf")) return number(true);
      const ir::Expr value = prefixed();
      if (value->type.is_bool()) fail("- wants a number");
      return ir::unary(ir::UnaryOp::Neg, value);
    }
    return primary();
  }

  ir::Expr number(bool negative) {
    if (take("inf")) {
      const double infinity = std::numeric_limits<double>::infinity();
      return ir::float_imm(negative ? -infinity : infinity);
    }
    std::size_t end = at_;
    while (end < text_.size() && is_digit(text_[end])) ++end;
    const bool real =
        end < text_.size() && (text_[end] == '.' || text_[end] == 'e' || text_[end] == 'E');
    const char *from = text_.data() + at_, *last = text_.data() + text_.size();
    if (real) {
      double value = 0;
      const auto read = std::from_chars(from, last, value);
      if (read.ec != std::errc() || !std::isfinite(value)) fail("no such number");
      at_ = std::size_t(read.ptr - text_.data());
      real_ = negative ? -value : value;
      return ir::float_imm(real_);
    }
    // The least one has no positive of its own.
    constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
    std::uint64_t size = 0;
    const auto read = std::from_chars(from, text_.data() + end, size);
    if (read.ec != std::errc() || size > kMost + (negative ? 1 : 0)) fail("no such number");
    at_ = end;
    const auto value = static_cast<std::int64_t>(negative ? 0 - size : size);
    whole_ = value;
    if (value < std::numeric_limits<std::int32_t>::min() ||
        value > std::numeric_limits<std::int32_t>::max()) {
      if (!typed_) fail("no int32; write int64(…)");
      return ir::int_imm(value, ir::kInt64);
    }
    return ir::int_imm(value);
  }

  // What stands alone in a type's parentheses is a literal of that type, exactly.
  ir::Expr typed(ir::DataType type) {
    expect("(");
    const std::size_t begin = at_;
    const bool negative = take("-");
    skip();
    const bool infinite = next_is("inf") && type.is_float();
    if (at_ < text_.size() && (is_digit(text_[at_]) || infinite)) {
      typed_ = true;
      const ir::Expr literal = number(negative);
      typed_ = false;
      if (take(")")) {
        if (literal->type.is_float()) {
          if (!type.is_float()) fail("a literal that is not whole");
          const double exact = std::get<ir::FloatImm>(literal->node).value;
          return ir::float_imm(infinite ? exact : real_, type);
        }
        if (type.is_float()) return ir::float_imm(double(whole_), type);
        if (!type.is_int() || *ir::as_int(ir::int_imm(whole_, type)) != whole_) {
          fail("a literal outside " + ir::to_string(type));
        }
        return ir::int_imm(whole_, type);
      }
    }
    at_ = begin;
    const ir::Expr value = disjunction();
    expect(")");
    return ir::cast(type, value);
  }

  std::vector<ir::Expr> arguments(std::size_t count) {
    expect("(");
    std::vector<ir::Expr> list;
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) expect(",");
      list.push_back(disjunction());
    }
    expect(")");
    return list;
  }

  ir::Expr real_argument(const std::string& function) {
    const ir::Expr x = arguments(1)[0];
    if (x->type != ir::kFloat32) fail(function + " wants a float32");
    return x;
  }

  ir::Expr call(const std::string& name) {
    if (name == "min" || name == "max") {
      auto list = arguments(2);
      return binary(name == "min" ? ir::BinaryOp::Min : ir::BinaryOp::Max, list[0], list[1]);
    }
    if (name == "select") {
      auto list = arguments(3);
      adapt(list[1], list[2]), adapt(list[2], list[1]);
      if (!list[0]->type.is_bool()) fail("select wants a condition first");
      if (list[1]->type != list[2]->type) fail("select wants two values of one type");
      return ir::select(list[0], list[1], list[2]);
    }
    if (name == "clip" || name == "relu" || name == "relu6") {
      const bool bounds = name == "clip";
      auto list = arguments(bounds ? 3 : 1);
      if (list[0]->type.is_bool()) fail(name + " wants a number");
      const ir::Expr low = bounds ? list[1] : ir::int_imm(0);
      const ir::Expr above = binary(ir::BinaryOp::Max, list[0], low);
      if (name == "relu") return above;
      return binary(ir::BinaryOp::Min, above, bounds ? list[2] : ir::int_imm(6));
    }
    static const std::map<std::string, ir::UnaryOp> unary = {{"sqrt", ir::UnaryOp::Sqrt},
                                                             {"floor", ir::UnaryOp::Floor},
                                                             {"abs", ir::UnaryOp::Abs},
                                                             {"round", ir::UnaryOp::RoundEven},
                                                             {"tf32", ir::UnaryOp::Tf32}};
    if (const auto found = unary.find(name); found != unary.end()) {
      const ir::Expr x = arguments(1)[0];
      if (x->type.is_bool() || (name != "abs" && !x->type.is_float())) {
        fail(name + " wants a number" + (name == "abs" ? "" : " of a float type"));
      }
      if ((name == "tf32" || name == "round") && x->type.scalar != ir::Scalar::Float32) {
        fail(name + " wants a float32");
      }
      return ir::unary(found->second, x);
    }
    static const std::map<std::string, Maker> functions = {{"sigmoid", sigmoid},
                                                           {"tanh", hyperbolic_tangent},
                                                           {"gelu", gelu},
                                                           {"hard_swish", hard_swish},
                                                           {"swish", swish}};
    if (const auto found = functions.find(name); found != functions.end()) {
      approximates_ = true;
      return found->second(real_argument(name));
    }
    ir::Scalar scalar;
    if (ir::parse_scalar(name, scalar)) return typed({scalar, 1});
    if (name.starts_with("bits_as_") && ir::parse_scalar(name.substr(8), scalar)) {
      const ir::Expr x = arguments(1)[0];
      const ir::DataType type{scalar, 1};
      if (type.bytes() != x->type.bytes() || type.is_bool() || x->type.is_bool()) {
        fail(name + " wants a value of as many bits");
      }
      if (type.is_int() != x->type.is_int() && type.bytes() != 4) {
        fail(name + " of reals wants 32 of them");
      }
      return ir::reinterpret(type, x);
    }
    fail("no function \"" + name + "\"");
  }

  ir::Expr element(const ir::Buffer& tensor) {
    expect("[");
    std::vector<ir::Expr> indices;
    for (std::size_t d = 0; d < tensor->shape.size(); ++d) {
      if (d > 0 && !take(",")) {
        fail(tensor->name + " has " + std::to_string(tensor->shape.size()) + " dimensions");
      }
      indices.push_back(disjunction());
      if (indices.back()->type != ir::kInt32) fail("an index that is not int32");
    }
    ir::Expr condition;
    if (!next_is("||") && take("|")) {
      condition = disjunction();
      if (!condition->type.is_bool()) fail("what follows | must be a condition");
    }
    if (!take("]")) {
      fail(tensor->name + " has " + std::to_string(tensor->shape.size()) + " dimensions");
    }
    return ir::load(tensor, std::move(indices), std::move(condition));
  }

  ir::Expr primary() {
    skip();
    if (at_ >= text_.size()) fail("the expression ends early");
    if (take("(")) {
      const ir::Expr value = disjunction();
      expect(")");
      return value;
    }
    if (is_digit(text_[at_])) return number(false);
    if (!begins_name(text_[at_])) fail("expected a value");
    std::size_t end = at_;
    while (end < text_.size() &&
           (begins_name(text_[end]) || is_digit(text_[end]) || text_[end] == '.')) {
      ++end;
    }
    const std::string name = text_.substr(at_, end - at_);
    if (name == "inf") return number(false);
    at_ = end;
    if (name == "true" || name == "false") return ir::bool_imm(name == "true");
    if (next_is("(")) return call(name);
    if (next_is("[")) {
      const auto tensor = scope_.tensors.find(name);
      if (tensor == scope_.tensors.end()) fail("no tensor \"" + name + "\" before this stage");
      return element(tensor->second);
    }
    const auto value = scope_.values.find(name);
    if (value == scope_.values.end()) fail("nothing here is called \"" + name + "\"");
    return value->second;
  }

  const std::string& text_;
  const ExpressionScope& scope_;
  std::size_t at_ = 0;
  int depth_ = 0, values_ = 0;
  bool approximates_ = false, typed_ = false;
  double real_ = 0;         // the last literal with a point, unrounded
  std::int64_t whole_ = 0;  // the last one without
};

}  // namespace

Result<ParsedExpression> parse_expression(const std::string& text, const ExpressionScope& scope) {
  Parser parser(text, scope);
  try {
    return parser.all();
  } catch (const Problem& problem) {
    const std::size_t at = std::min(parser.at(), text.size());
    const std::size_t from = at > 30 ? at - 30 : 0;
    return Error{ErrorCode::InvalidArgument, problem.what + " at character " +
                                                 std::to_string(at + 1) + ": \"" +
                                                 text.substr(from, 60) + "\""};
  }
}

}  // namespace fettle::space
