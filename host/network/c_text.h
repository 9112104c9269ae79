// Words of exported C headers.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "schemas/common_generated.h"

namespace fettle::network {

// `text` as a C identifier that may begin others: what it may not hold becomes "_".
std::string c_name(const std::string& text);
std::string upper_case(std::string text);
// Nothing in it ends a comment.
std::string in_comment(std::string text);

struct CType {
  const char* name;   // "float"
  const char* words;  // "float32"
};
CType c_type(wire::ScalarType type);

// "float32, shape [1, 56, 56, 64], row-major: 200704 elements, 802816 bytes"
std::string tensor_words(wire::ScalarType type, std::span<const std::int64_t> shape);

// The CPU that code is compiled for, in one or two lines of a comment. `target`: canonical JSON.
std::string cpu_words(const std::string& target, std::span<const std::string> features);

}  // namespace fettle::network
