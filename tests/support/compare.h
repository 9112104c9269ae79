// Comparing float32 tensors as the output check does.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace fettle::testing {

inline std::vector<float> as_floats(std::span<const std::uint8_t> bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

// Empty: |a - e| <= absolute + relative * |e| for all. Otherwise how many differ and
// which is the first. NaN is never equal.
inline std::string difference(std::span<const float> actual, std::span<const float> expected,
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
