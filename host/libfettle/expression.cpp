// Values as text (fettle/expression.h).
#include "fettle/expression.h"

#include <charconv>

namespace fettle {

namespace {

Value between(const Value& a, const char* sign, const Value& b) {
  return Value::of_text("(" + a.text() + " " + sign + " " + b.text() + ")");
}

}  // namespace

Value Value::of_text(std::string text) {
  Value value;
  value.text_ = std::move(text);
  return value;
}

std::string Value::number_text(double number) {
  char digits[64];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  std::string text(digits, end);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";  // a float32, not an int32
  return number < 0 ? "(" + text + ")" : text;
}

Value operator+(const Value& a, const Value& b) { return between(a, "+", b); }
Value operator-(const Value& a, const Value& b) { return between(a, "-", b); }
Value operator*(const Value& a, const Value& b) { return between(a, "*", b); }
Value operator/(const Value& a, const Value& b) { return between(a, "/", b); }
Value operator%(const Value& a, const Value& b) { return between(a, "%", b); }
Value operator-(const Value& a) { return Value::of_text("(-" + a.text() + ")"); }
Value operator==(const Value& a, const Value& b) { return between(a, "==", b); }
Value operator!=(const Value& a, const Value& b) { return between(a, "!=", b); }
Value operator<(const Value& a, const Value& b) { return between(a, "<", b); }
Value operator<=(const Value& a, const Value& b) { return between(a, "<=", b); }
Value operator>(const Value& a, const Value& b) { return between(a, ">", b); }
Value operator>=(const Value& a, const Value& b) { return between(a, ">=", b); }
Value operator&&(const Value& a, const Value& b) { return between(a, "&&", b); }
Value operator||(const Value& a, const Value& b) { return between(a, "||", b); }
Value operator!(const Value& a) { return Value::of_text("(!" + a.text() + ")"); }

Value call(const std::string& function, std::initializer_list<Value> arguments) {
  std::string text = function + "(";
  for (const Value& argument : arguments) {
    text += (text.back() == '(' ? "" : ", ") + argument.text();
  }
  return Value::of_text(text + ")");
}

}  // namespace fettle
