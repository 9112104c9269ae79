// JPEG pictures, by libjpeg-turbo: baseline and progressive, grey and in colour.
#pragma once

#include <string>

#include "runtime/tensor_files/image.h"
#include "schemas/wire/result.h"

namespace fettle {

bool is_jpeg(const std::string& contents);

// Malformed: damaged, cut short (with the library's reason), without a pixel, or of more scans or
// pixels than is sensible. TooLarge: over kMostImagePixels. Unsupported: CMYK, arithmetic coding.
Result<Image> decode_jpeg(const std::string& contents);

}  // namespace fettle
