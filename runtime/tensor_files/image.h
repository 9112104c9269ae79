// A picture in memory.
#pragma once

#include <cstdint>
#include <vector>

namespace fettle {

// Rows of pixels of three bytes: red, green, blue.
struct Image {
  int height = 0, width = 0;
  std::vector<std::uint8_t> pixels;
};

}  // namespace fettle
