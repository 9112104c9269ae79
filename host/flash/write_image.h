// Writing an image onto a disk and proving that it is there.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "schemas/wire/result.h"

namespace fettle::flash {

// Told after each piece that is on the medium, or was compared with it; `total` is the
// image's size. False stops the work.
using Progress = std::function<bool(const char* phase, std::uint64_t done, std::uint64_t total)>;

// Whether `image` can be a disk's: InvalidArgument for what is compressed, whatever
// `force` says, and for what has no boot signature (55 aa at byte 510, as MBR and GPT
// have it) unless it is set. Io.
Result<void> check_image(const std::string& image, bool force);

// Copies the file `image` to the start of `disk` (a block device, or a file that is
// there), piece by piece onto the medium, and reads it back past the system's cache,
// comparing every byte. Errors: Io, with the offset; Io "reads back otherwise" names
// the first byte that differs; Canceled when `progress` said so; Timeout when another
// program holds the disk's lock. `exclusive` asks the kernel to refuse a device that
// someone uses. Until the end the disk is open for writing and locked (flock): udev does
// not look at it (systemd.io/BLOCK_DEVICE_LOCKING), so no desktop mounts what it holds.
Result<void> write_image(const std::string& image, const std::string& disk, bool exclusive,
                         const Progress& progress);

// The second half alone.
Result<void> verify_image(const std::string& image, const std::string& disk,
                          const Progress& progress);

}  // namespace fettle::flash
