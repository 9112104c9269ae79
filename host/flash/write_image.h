// Writing an image onto a disk and proving that it is there.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "schemas/wire/result.h"

namespace fettle::flash {

// Told after each piece; `total` is the image's size. False stops the work.
using Progress = std::function<bool(const char* phase, std::uint64_t done, std::uint64_t total)>;

// Copies the file `image` to the start of `disk` (a block device, or a file that is
// there), waits until it is on the medium, and reads it back past the system's cache,
// comparing every byte. Errors: Io, with the offset; Io "reads back otherwise" names
// the first byte that differs; Canceled when `progress` said so. `exclusive` asks the
// kernel to refuse a device that someone uses.
Result<void> write_image(const std::string& image, const std::string& disk, bool exclusive,
                         const Progress& progress);

// The second half alone.
Result<void> verify_image(const std::string& image, const std::string& disk,
                          const Progress& progress);

}  // namespace fettle::flash
