// Words of OpenCL C (types.h).
#include "host/backend/opencl_c/types.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

namespace fettle::backend::opencl_c {
namespace {

// What a variable must not be called: words of the language, and functions that are called.
const std::set<std::string> kReserved = {
    "auto",        "bool",        "break",     "case",
    "char",        "const",       "constant",  "continue",
    "default",     "do",          "double",    "else",
    "enum",        "event_t",     "extern",    "float",
    "for",         "global",      "goto",      "half",
    "if",          "image2d_t",   "inline",    "int",
    "kernel",      "local",       "long",      "main",
    "private",     "quad",        "register",  "restrict",
    "return",      "sampler_t",   "short",     "signed",
    "sizeof",      "size_t",      "static",    "struct",
    "switch",      "typedef",     "uchar",     "uint",
    "ulong",       "union",       "unsigned",  "ushort",
    "void",        "volatile",    "while",     "image1d_buffer_t",
    "read_imagef", "read_imageh", "abs",       "barrier",
    "fabs",        "floor",       "mad",       "max",
    "min",         "sqrt",        "read_only", "write_only",
    "true",        "false",       "generic",   "pipe"};

// Whether OpenCL C, or what compilers predefine, gives the word a meaning: types with lanes,
// functions and constants of its headers, and all that is written in capitals.
bool is_taken(const std::string& word) {
  if (kReserved.count(word) != 0) return true;
  for (const char* begin : {"__", "as_", "async_", "atom", "cl_", "convert_", "get_", "image",
                            "native_", "half_", "max_or_nan_", "min_or_nan_", "sub_group", "vec_",
                            "vload", "vstore", "work_group", "write_", "read_"}) {
    if (word.starts_with(begin)) return true;
  }
  const auto is_lower = [](char c) { return std::islower(static_cast<unsigned char>(c)) != 0; };
  if (word.size() > 1 && std::none_of(word.begin(), word.end(), is_lower)) return true;
  const std::size_t end = word.find_last_not_of("0123456789") + 1;
  return end < word.size() && kReserved.count(word.substr(0, end)) != 0;
}

std::string as_word(const std::string& text) {
  std::string word;
  for (const char c : text) {
    word += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  }
  if (word.empty() || std::isdigit(static_cast<unsigned char>(word[0])) != 0) word = "v" + word;
  return word;
}

}  // namespace

std::string lanes_text(int lanes) { return lanes > 1 ? std::to_string(lanes) : ""; }

std::string Types::value(ir::DataType type) const {
  const std::string lanes = lanes_text(type.lanes);
  if (type.is_bool()) return type.lanes > 1 ? "int" + lanes : "bool";
  if (by_call(type)) return "float" + lanes;
  return memory(type.scalar) + lanes;
}

std::string Types::memory(ir::Scalar scalar) const {
  switch (scalar) {
    case ir::Scalar::Bool:
    case ir::Scalar::UInt8:
      return "uchar";
    case ir::Scalar::Int8:
      return "char";
    case ir::Scalar::Int16:
      return "short";
    case ir::Scalar::Int32:
      return "int";
    case ir::Scalar::Int64:
      return "long";
    case ir::Scalar::Float16:
      return "half";
    case ir::Scalar::Float32:
      return "float";
    case ir::Scalar::Float64:
      return "double";
  }
  return "";
}

Code Types::literal(double value, ir::DataType type) const {
  std::string text;
  if (std::isnan(value)) {
    text = "NAN";
  } else if (std::isinf(value)) {
    text = value > 0 ? "INFINITY" : "-INFINITY";
  } else {
    char digits[40];  // with a point, whatever the locale
    const bool wide = type.scalar == ir::Scalar::Float64;
    const auto end = std::to_chars(digits, digits + sizeof digits, value,
                                   std::chars_format::general, wide ? 17 : 9)
                         .ptr;
    text.assign(digits, end);
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    if (!wide) text += "f";
  }
  const Level level = text[0] == '-' ? Level::Unary : Level::Primary;
  if (type.scalar != ir::Scalar::Float16 || !half) return {text, level};
  return {"(half)" + Code{text, level}.within(Level::Unary), Level::Unary};
}

Code integer_literal(std::int64_t value, ir::DataType type) {
  if (type.is_bool()) return {value != 0 ? "true" : "false"};
  const bool wide = type.scalar == ir::Scalar::Int64;
  std::string text = std::to_string(value) + (wide ? "L" : "");
  if (value == std::numeric_limits<std::int32_t>::min()) text = "(-2147483647 - 1)";
  if (value == std::numeric_limits<std::int64_t>::min()) text = "(-9223372036854775807L - 1)";
  const Level level = text[0] == '-' ? Level::Unary : Level::Primary;
  if (wide || type.scalar == ir::Scalar::Int32) return {text, level};
  return {"(" + Types().memory(type.scalar) + ")" + text, Level::Unary};
}

std::string Names::of(const void* identity, const std::string& wanted) {
  const auto known = known_.find(identity);
  if (known != known_.end()) return known->second;
  return known_[identity] = fresh(wanted);
}

std::string Names::fresh(const std::string& wanted) {
  const std::string word = as_word(wanted);
  std::string name = word;
  if (is_taken(word)) name = "v_" + word;
  for (int i = 1; !taken_.insert(name).second; ++i) name = word + "_" + std::to_string(i);
  return name;
}

}  // namespace fettle::backend::opencl_c
