// What is used of the stb libraries, behind functions of our own: images and DEFLATE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "schemas/wire/result.h"

namespace fettle {

// Exactly `bytes` of a raw DEFLATE stream; false: it does not unpack into as many. Bytes must
// follow the stream, whatever they are, and be counted with it: it is read ahead.
inline constexpr std::size_t kInflateAhead = 4;
bool inflate(const char* packed, std::size_t packed_bytes, char* to, std::size_t bytes);

// Rows of pixels of three bytes: red, green, blue.
struct Image {
  int height = 0, width = 0;
  std::vector<std::uint8_t> pixels;
};

// PNG, JPEG, PPM or BMP by its contents. Malformed, with the library's reason.
Result<Image> decode_image(const std::string& contents);
// By linear interpolation, each pixel over all that it stands for.
Image resized(const Image& image, int height, int width);

}  // namespace fettle
