// Comparing float32 tensors as the output check does.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "schemas/half/half.h"
#include "schemas/protocol_generated.h"

namespace fettle::testing {

inline std::vector<float> as_floats(std::span<const std::uint8_t> bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

// The numbers of an int8, int32, float16 or float32 tensor.
inline std::vector<double> as_numbers(std::span<const std::uint8_t> bytes, wire::ScalarType type) {
  std::vector<double> values;
  const auto read = [&](auto value) {
    for (std::size_t at = 0; at < bytes.size(); at += sizeof value) {
      std::memcpy(&value, bytes.data() + at, sizeof value);
      values.push_back(double(value));
    }
  };
  if (type == wire::ScalarType::Int8) {
    read(std::int8_t{});
  } else if (type == wire::ScalarType::Int32) {
    read(std::int32_t{});
  } else if (type == wire::ScalarType::Float16) {
    read(std::uint16_t{});
    for (double& value : values) value = float_of_half(static_cast<std::uint16_t>(value));
  } else {
    read(float{});
  }
  return values;
}

// Empty: |a - e| <= absolute + relative * |e| for all. Otherwise how many differ and
// which is the first. NaN is never equal.
template <typename Number>
std::string difference(const std::vector<Number>& actual, const std::vector<Number>& expected,
                       double absolute, double relative) {
  if (actual.size() != expected.size()) return "sizes differ";
  std::size_t wrong = 0, first = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double off = std::fabs(double{actual[i]} - double{expected[i]});
    if (off <= absolute + relative * std::fabs(double{expected[i]})) continue;
    if (wrong++ == 0) first = i;
  }
  if (wrong == 0) return "";
  return std::to_string(wrong) + " of " + std::to_string(actual.size()) + " differ; element " +
         std::to_string(first) + " is " + std::to_string(actual[first]) + ", expected " +
         std::to_string(expected[first]);
}

}  // namespace fettle::testing
