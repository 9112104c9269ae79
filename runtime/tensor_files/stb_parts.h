// What is used of the stb libraries, behind functions of our own: images and DEFLATE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/tensor_files/image.h"
#include "schemas/wire/result.h"

namespace fettle {

// Exactly `bytes` of a raw DEFLATE stream; false: it does not unpack into as many. Bytes must
// follow the stream, whatever they are, and be counted with it: it is read ahead.
inline constexpr std::size_t kInflateAhead = 4;
bool inflate(const char* packed, std::size_t packed_bytes, char* to, std::size_t bytes);

// PNG or BMP by its contents. Malformed, with the library's reason. Not its JPEG (jpeg.h instead)
// nor its PPM (pnm.h instead): those read and write memory that is not their own.
Result<Image> decode_image(const std::string& contents);
// By linear interpolation, each pixel over all that it stands for.
Image resized(const Image& image, int height, int width);

}  // namespace fettle
