// The values that inputs and constants hold (schemas/fill/fill.h).
#pragma once

#include <cstdint>
#include <vector>

#include "host/space/compute_dag.h"
#include "host/space/operators/operator_call.h"
#include "schemas/fill/fill.h"
#include "schemas/half/half.h"

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

// The same, rounded to float16.
inline std::vector<float> uniform_halves(std::size_t count, std::uint64_t stream, double scale) {
  std::vector<std::uint16_t> halves(count);
  wire::FillT fill;
  fill.kind = wire::FillKind::UniformReal;
  fill.dtype = wire::ScalarType::Float16;
  fill.low = 0.25 * scale;
  fill.high = scale;
  fill.stream = stream;
  if (!fill_bytes(fill, {reinterpret_cast<std::uint8_t*>(halves.data()), count * 2})) return {};
  std::vector<float> values;
  for (const std::uint16_t half : halves) values.push_back(float_of_half(half));
  return values;
}

inline bool stores_halves(const space::OperatorCall& w) {
  return w.has("dtype") && w.word("dtype") == "float16";
}

// The largest integer that the layer's placeholder of this stream holds.
inline std::int64_t magnitude(const space::OperatorCall& w, std::uint64_t stream) {
  for (const space::Stage& stage : w.dag().stages) {
    if (stage.placeholder() && stage.fill.stream == stream) return std::int64_t(stage.fill.high);
  }
  return 0;
}

// What an input or weights hold: of scale `scale`, or of int8 as the layer says.
inline std::vector<double> operand(const space::OperatorCall& w, std::size_t count,
                                   std::uint64_t stream, double scale) {
  if (w.has("dtype") && w.word("dtype") == "int8") {
    const auto values = uniform_ints(count, stream, magnitude(w, stream), wire::ScalarType::Int8);
    return {values.begin(), values.end()};
  }
  const auto values =
      stores_halves(w) ? uniform_halves(count, stream, scale) : uniform(count, stream, scale);
  return {values.begin(), values.end()};
}

}  // namespace fettle::testing
