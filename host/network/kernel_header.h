// The text of an exported kernel's C header.
#pragma once

#include <string>

#include "host/network/program_library.h"
#include "host/space/workload.h"

namespace fettle::network {

// Shape of a program's buffer as the workload has it, where it is one of its tensors; else its
// bytes alone.
std::vector<std::int64_t> shape_of(const space::Workload& workload, const wire::BufferT& buffer);

std::string kernel_header(const wire::ProgramT& program, const space::Workload& workload,
                          const std::string& target, const std::string& name,
                          const LibraryParameters& parameters);

}  // namespace fettle::network
