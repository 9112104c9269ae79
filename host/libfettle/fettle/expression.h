// Values of tensor expressions: what each element of a tensor is, in the tensor's axes. A value is
// the text that fettle reads in a compute DAG; nothing is computed here.
//
//   Axis n{"n", 16}, k{"k", 256}, m{"m", 128};
//   x(n, k) * w(k, m)
//   relu(x(n, y - 1, c).where(1 <= y))       0 where the condition does not hold
//
// Indices and numbers without a point are int32, others float32; both sides of an operator have
// one type, and a number takes that of the other side. Integers are divided toward minus infinity.
// What does not fit is told when the operator is opened, by the stage's name.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

namespace fettle {

struct Axis {
  std::string name;  // letters, digits and '_'; one stage's axes differ
  std::int64_t extent = 1;
};

class Value {
 public:
  Value(const Axis& axis) : text_(axis.name) {}
  // A number.
  template <typename Number, typename = std::enable_if_t<std::is_arithmetic_v<Number>>>
  Value(Number number) : text_(number_text(number)) {}
  static Value of_text(std::string text);  // an expression as fettle writes it

  const std::string& text() const { return text_; }

 private:
  Value() = default;
  static std::string number_text(double number);
  static std::string number_text(float number) { return number_text(double(number)); }
  static std::string number_text(bool truth) { return truth ? "true" : "false"; }
  template <typename Integer>
  static std::string number_text(Integer number) {
    return number < 0 ? "(" + std::to_string(number) + ")" : std::to_string(number);
  }

  std::string text_;
};

Value operator+(const Value& a, const Value& b);
Value operator-(const Value& a, const Value& b);
Value operator*(const Value& a, const Value& b);
Value operator/(const Value& a, const Value& b);
Value operator%(const Value& a, const Value& b);
Value operator-(const Value& a);
Value operator==(const Value& a, const Value& b);
Value operator!=(const Value& a, const Value& b);
Value operator<(const Value& a, const Value& b);
Value operator<=(const Value& a, const Value& b);
Value operator>(const Value& a, const Value& b);
Value operator>=(const Value& a, const Value& b);
Value operator&&(const Value& a, const Value& b);
Value operator||(const Value& a, const Value& b);
Value operator!(const Value& a);

// min, max, select, sqrt, floor, round, abs, relu, relu6, clip, sigmoid, tanh, gelu, hard_swish,
// swish, or a type to convert to: float32, float16, int8, int32.
Value call(const std::string& function, std::initializer_list<Value> arguments);
inline Value min(const Value& a, const Value& b) { return call("min", {a, b}); }
inline Value max(const Value& a, const Value& b) { return call("max", {a, b}); }
inline Value select(const Value& condition, const Value& then, const Value& otherwise) {
  return call("select", {condition, then, otherwise});
}
inline Value sqrt(const Value& x) { return call("sqrt", {x}); }
inline Value relu(const Value& x) { return call("relu", {x}); }
inline Value sigmoid(const Value& x) { return call("sigmoid", {x}); }
inline Value swish(const Value& x) { return call("swish", {x}); }
inline Value gelu(const Value& x) { return call("gelu", {x}); }
inline Value clip(const Value& x, const Value& low, const Value& high) {
  return call("clip", {x, low, high});
}

}  // namespace fettle
