// Shapes of tensors whose axes have no names of their own, as operators on any tensor
// take them: "shape": [8, 128, 64].
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "schemas/wire/result.h"

namespace fettle::space {

using Shape = std::vector<std::int64_t>;

double elements_of(const Shape& shape);
std::string to_text(const Shape& shape);  // "8x128x64"
// Axes d0, d1, … as make_placeholder() takes them.
std::vector<std::pair<std::string, std::int64_t>> named_axes(const Shape& shape);

// InvalidArgument where `fits` is false: "op: what".
Result<void> require(bool fits, const char* op, const std::string& what);
// InvalidArgument: more than 2^30 elements. Element numbers are 32-bit in generated code.
Result<void> require_size(const char* op, double elements);

// InvalidArgument: a mean of more than 2^15 - 1 int8, which float32 does not divide exactly.
Result<void> require_mean(const char* op, const nlohmann::json& fields, double length);

// InvalidArgument: sums of `length` products of int8 that int32 does not hold.
Result<void> require_sum(const char* op, const nlohmann::json& fields, double length);

}  // namespace fettle::space
