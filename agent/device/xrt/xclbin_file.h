// An .xclbin's bytes, for the supervisor, which describes the device by them, and for its worker,
// which loads them.
#pragma once

#include <string>

#include "schemas/wire/codec.h"

namespace fettle::agent {

// Io, TooLarge.
Result<Bytes> read_xclbin_file(const std::string& path);

}  // namespace fettle::agent
