// Compiled code as a static library that a C program links: flat images, constants, and functions
// that call the images' entry points one after the other. It needs nothing but memset of libc.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "host/space/target.h"
#include "schemas/program_generated.h"
#include "schemas/wire/codec.h"
#include "schemas/wire/result.h"

namespace fettle::backend {

// What an entry point's argument points at.
struct LibraryPlace {
  enum class In : std::uint8_t { Workspace, Parameter, Constant };
  In in = In::Workspace;
  std::uint32_t index = 0;   // which parameter (behind the workspace) or constant
  std::uint64_t offset = 0;  // in bytes
};

// entry(args, 0, extent, 0).
struct LibraryCall {
  std::uint32_t image = 0, entry = 0, extent = 1;
  std::vector<LibraryPlace> args;
};

// void NAME(void* workspace), or, with parameters, int NAME(void* workspace, const void*…), which
// returns -1 and does nothing when one is not at a multiple of its alignment, 0 else.
struct LibraryFunction {
  std::string name;
  std::vector<std::uint32_t> alignments;                       // of each parameter: powers of two
  std::vector<std::pair<std::uint64_t, std::uint64_t>> zeros;  // of the workspace: offset, bytes
  std::vector<LibraryCall> calls;                              // behind the zeros
};

// Views are of its maker.
struct StaticLibrary {
  struct Image {
    const wire::ImageT* image = nullptr;  // a CpuImage
    ByteView bytes;
  };
  struct Constant {
    ByteView bytes;
    std::uint32_t alignment = 64;
  };
  std::string name;  // a C identifier: begins every symbol
  std::vector<Image> images;
  std::vector<Constant> constants;
  // Any pointer may be handed over as the workspace: functions round it up to the alignment, for
  // which NAME_workspace_bytes(), which the library adds, has room.
  std::uint64_t workspace_bytes = 0;
  std::uint32_t workspace_alignment = 64;
  std::vector<LibraryFunction> functions;
};

// The archive's bytes, the same for the same library. Unsupported: no target of a CPU; an image
// with writable data, which no kernel of ours has. Malformed: an entry point behind its image's
// bytes.
Result<std::vector<std::uint8_t>> write_static_library(const StaticLibrary& library,
                                                       const space::Target& target);

}  // namespace fettle::backend
