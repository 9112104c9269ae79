// Writing an image onto a disk and proving that it is there.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "host/flash/checks.h"
#include "host/flash/open_file.h"
#include "schemas/wire/result.h"

namespace fettle::flash {

// Told after each piece that is on the medium, or was compared with it; `total` is the
// image's size. False stops the work.
using Progress = std::function<bool(const char* phase, std::uint64_t done, std::uint64_t total)>;

// The image file, for the functions below. NotFound, Io.
Result<OpenFile> open_image(const std::string& path);
// Its size. InvalidArgument when it is no file, or empty.
Result<std::uint64_t> image_bytes(const OpenFile& image);

// Whether `image` can be a disk's: InvalidArgument for what is compressed, whatever is
// dropped, and for what has no boot signature (55 aa at byte 510, as MBR and GPT
// have it) unless Check::BootSignature is. Io.
Result<void> check_image(const OpenFile& image, const DroppedChecks& dropped);

// Copies `image` to the start of `disk` (a block device, or a file; open for reading and
// writing), piece by piece onto the medium, and reads it back past the system's cache,
// comparing every byte. Errors: Io, with the offset; Io "reads back otherwise" names
// the first byte that differs; Canceled when `progress` said so; Timeout when another
// program holds the disk's lock. The disk stays locked (flock) while it is open: udev does
// not look at it (systemd.io/BLOCK_DEVICE_LOCKING), so no desktop mounts what it holds.
Result<void> write_image(const OpenFile& image, const OpenFile& disk, const Progress& progress);

// The second half alone.
Result<void> verify_image(const OpenFile& image, const OpenFile& disk, const Progress& progress);

}  // namespace fettle::flash
