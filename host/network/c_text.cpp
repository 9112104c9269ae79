// Names, types and comments (c_text.h).
#include "host/network/c_text.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "host/space/cpu_target.h"
#include "schemas/fill/fill.h"

namespace fettle::network {

std::string c_name(const std::string& text) {
  std::string name;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    name += byte < 128 && std::isalnum(byte) ? c : '_';
  }
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) name.insert(0, "n");
  return name;
}

std::string upper_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string in_comment(std::string text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (static_cast<unsigned char>(text[at]) < ' ') text[at] = ' ';
    // Neither the comment's end, nor the beginning of another one, which compilers warn of.
    const bool ends = text.compare(at, 2, "*/") == 0, begins = text.compare(at, 2, "/*") == 0;
    if (ends || begins) text[ends ? at : at + 1] = '_';
    // What turns the direction of the text around (U+202A to U+202E, U+2066 to U+2069), which
    // compilers warn of.
    const auto byte = [&](std::size_t i) {
      return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
    };
    const bool turns = byte(at) == 0xe2 &&
                       ((byte(at + 1) == 0x80 && byte(at + 2) >= 0xaa && byte(at + 2) <= 0xae) ||
                        (byte(at + 1) == 0x81 && byte(at + 2) >= 0xa6 && byte(at + 2) <= 0xa9));
    if (turns) text.replace(at, 3, "_");
  }
  return text;
}

CType c_type(wire::ScalarType type) {
  switch (type) {
    case wire::ScalarType::Bool:
      return {"uint8_t", "bool, 0 or 1"};
    case wire::ScalarType::Int8:
      return {"int8_t", "int8"};
    case wire::ScalarType::UInt8:
      return {"uint8_t", "uint8"};
    case wire::ScalarType::Int16:
      return {"int16_t", "int16"};
    case wire::ScalarType::Int32:
      return {"int32_t", "int32"};
    case wire::ScalarType::Int64:
      return {"int64_t", "int64"};
    case wire::ScalarType::Float16:
      return {"uint16_t", "float16, its bits (IEEE 754 binary16)"};
    case wire::ScalarType::Float32:
      return {"float", "float32"};
    case wire::ScalarType::Float64:
      return {"double", "float64"};
  }
  return {"void", "unknown"};
}

std::string tensor_words(wire::ScalarType type, std::span<const std::int64_t> shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return fmt::format("{}, shape [{}], row-major: {} elements, {} bytes", c_type(type).words,
                     fmt::join(shape, ", "), count,
                     static_cast<std::uint64_t>(count) * bytes_of(type));
}

std::string cpu_words(const std::string& target, std::span<const std::string> features) {
  const auto known = space::CpuTarget::parse(target);
  std::string text = known ? known->arch : "?";
  if (known && !known->cpu.empty()) text += " (" + known->cpu + ")";
  if (features.empty()) return text;
  return fmt::format("{}, with\n *   {}", text, fmt::join(features, " "));
}

}  // namespace fettle::network
