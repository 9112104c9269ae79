// Writing files of the system that may not be there yet.
#pragma once

#include <string>

#include "schemas/wire/codec.h"
#include "schemas/wire/result.h"

namespace fettle::agent {

// Makes or replaces the file at `path`, whose folder is there; a link there is not followed. Io,
// with the system's reason, which a driver's file gives for what was written.
Result<void> write_file(const std::string& path, ByteView bytes);
Result<void> write_file(const std::string& path, const std::string& text);
// The folder and those above it.
Result<void> make_folder(const std::string& path);

}  // namespace fettle::agent
