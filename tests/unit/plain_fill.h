// The values that inputs and constants hold (schemas/fill/fill.h).
#pragma once

#include <cstdint>
#include <vector>

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

}  // namespace fettle::testing
