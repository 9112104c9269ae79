// Netpbm's binary pictures: grey (P5) and colour (P6), of 8 or 16 bits.
#pragma once

#include <string>

#include "runtime/tensor_files/image.h"
#include "schemas/wire/result.h"

namespace fettle {

bool is_pnm(const std::string& contents);

// The first picture of the file; samples of another depth are rounded to 8 bits. Malformed: the
// header is wrong, there is no pixel, or pixels are missing. TooLarge: over kMostImagePixels.
Result<Image> decode_pnm(const std::string& contents);

}  // namespace fettle
