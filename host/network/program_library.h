// A program of a CPU as the parts of a C library (backend/static_library.h).
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "host/backend/static_library.h"
#include "schemas/fill/fill.h"
#include "schemas/program_generated.h"

namespace fettle::network {

// Buffers that the caller hands over, by their place in the program.
struct LibraryParameters {
  std::vector<std::uint32_t> init, run;  // of NAME_init and NAME_run, behind the workspace
  std::uint32_t alignment = 1;           // of all of them
};

struct ProgramLibrary {
  backend::StaticLibrary library;  // its views are of the program, the blobs and `scalars`
  std::deque<std::array<std::uint8_t, 8>> scalars;
  std::uint64_t constant_bytes = 0;  // weights in the library
};

// The rest of its buffers become constants of the library, or parts of its workspace. Unsupported:
// code that is no CPU's, contents that a library cannot hold, a launch that reads a parameter which
// its function does not have.
Result<ProgramLibrary> program_library(const wire::ProgramT& program, const BlobLookup& blobs,
                                       const std::string& name,
                                       const LibraryParameters& parameters);

}  // namespace fettle::network
