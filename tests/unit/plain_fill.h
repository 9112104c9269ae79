// The values that inputs and constants hold (schemas/fill/fill.h).
#pragma once

#include <cstdint>
#include <vector>

#include "host/space/workload.h"
#include "schemas/fill/fill.h"

namespace fettle::testing {

inline std::vector<float> uniform(std::size_t count, std::uint64_t stream, double scale) {
  wire::FillT fill;
  fill.kind = wire::FillKind::UniformReal;
  fill.low = 0.25 * scale;
  fill.high = scale;
  fill.stream = stream;
  std::vector<float> values(count);
  if (!fill_bytes(fill, {reinterpret_cast<std::uint8_t*>(values.data()), count * 4}))
    values.clear();
  return values;
}

inline std::vector<std::int32_t> uniform_ints(std::size_t count, std::uint64_t stream,
                                              std::int64_t magnitude, wire::ScalarType type) {
  wire::FillT fill;
  fill.kind = wire::FillKind::UniformInt;
  fill.dtype = type;
  fill.low = double(-magnitude);
  fill.high = double(magnitude);
  fill.stream = stream;
  std::vector<std::int32_t> values(count);
  if (type == wire::ScalarType::Int32) {
    if (!fill_bytes(fill, {reinterpret_cast<std::uint8_t*>(values.data()), count * 4}))
      values.clear();
    return values;
  }
  std::vector<std::int8_t> narrow(count);
  if (!fill_bytes(fill, {reinterpret_cast<std::uint8_t*>(narrow.data()), count})) return {};
  return {narrow.begin(), narrow.end()};
}

// What an input or weights hold: of scale `scale`, or of int8 -127 to 127.
inline std::vector<double> operand(const space::Workload& w, std::size_t count,
                                   std::uint64_t stream, double scale) {
  if (w.has("dtype") && w.word("dtype") == "int8") {
    const auto values = uniform_ints(count, stream, 127, wire::ScalarType::Int8);
    return {values.begin(), values.end()};
  }
  const auto values = uniform(count, stream, scale);
  return {values.begin(), values.end()};
}

}  // namespace fettle::testing
