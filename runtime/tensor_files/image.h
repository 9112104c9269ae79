// A picture in memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schemas/wire/result.h"

namespace fettle {

// Rows of pixels of three bytes: red, green, blue.
struct Image {
  int height = 0, width = 0;
  std::vector<std::uint8_t> pixels;
};

Error no_image(const std::string& why);  // Malformed: it cannot be read

// Before such a picture is read: a few bytes may say that they are one of gigabytes. TooLarge: over
// kMostImagePixels. Malformed: without a pixel, or more than `most_of_a_byte` for each of its
// file's `bytes`.
Result<void> check_size(std::int64_t height, std::int64_t width, std::size_t bytes,
                        std::uint64_t most_of_a_byte);

}  // namespace fettle
