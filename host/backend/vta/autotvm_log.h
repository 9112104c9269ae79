// Logs that AutoTVM wrote of its trials on VTA: whose knobs are a Tiling's. Their times are of
// another core and compiler: what carries over is which configurations were good.
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "host/backend/vta/tiling.h"

namespace fettle::vta::host {

struct AutotvmTrial {
  std::int64_t batch = 1;
  SpatialAxis rows, columns;  // extent, step, window, before, source
  std::int64_t in_blocks = 1, out_blocks = 1;
  Tiling tiling;  // as AutoTVM orders the tiles
  double seconds = 0;
};

// A line of the JSON formats 0.1 and 0.2. InvalidArgument: it is none, or no trial of a
// convolution on VTA that gave a time; Unsupported: no such convolution here.
Result<AutotvmTrial> parse_autotvm_trial(const std::string& line);

// Whether the product is that convolution, whatever its tail.
bool is_convolution_of(const AutotvmTrial& trial, const Product& product);

struct AutotvmLog {
  std::vector<std::pair<std::size_t, AutotvmTrial>> trials;  // with their lines, from 1
  std::vector<std::pair<std::size_t, std::string>> skipped;  // lines, and why
};
Result<AutotvmLog> read_autotvm_log(std::istream& in);

}  // namespace fettle::vta::host
