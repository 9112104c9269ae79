// Shapes without names (shapes.h).
#include "host/space/operators/shapes.h"

#include <nlohmann/json.hpp>

#include "host/space/operators/stages.h"

namespace fettle::space {

double elements_of(const Shape& shape) {
  double elements = 1;
  for (const std::int64_t extent : shape) elements *= double(extent);
  return elements;
}

std::string to_text(const Shape& shape) {
  std::string text;
  for (const std::int64_t extent : shape) {
    text += (text.empty() ? "" : "x") + std::to_string(extent);
  }
  return text;
}

std::vector<std::pair<std::string, std::int64_t>> named_axes(const Shape& shape) {
  std::vector<std::pair<std::string, std::int64_t>> axes;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    axes.emplace_back("d" + std::to_string(d), shape[d]);
  }
  return axes;
}

Result<void> require(bool fits, const char* op, const std::string& what) {
  if (fits) return {};
  return Error{ErrorCode::InvalidArgument, std::string(op) + ": " + what};
}

Result<void> require_size(const char* op, double elements) {
  return require(elements <= double(1 << 30), op, "a tensor has more than 2^30 elements");
}

Result<void> require_mean(const char* op, const nlohmann::json& fields, double length) {
  return require(fields["dtype"] != "int8" || length <= double(kLongestInt8Mean), op,
                 "a mean of more than 2^15 - 1 int8");
}

Result<void> require_sum(const char* op, const nlohmann::json& fields, double length) {
  return require(fields["dtype"] != "int8" || length <= double(1 << 17) - 1, op,
                 "sums of more than 2^17 - 1 products of int8");
}

}  // namespace fettle::space
