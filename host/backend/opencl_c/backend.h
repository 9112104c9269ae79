// OpenCL devices: the row of host/backend/registry.cpp.
#pragma once

#include "host/backend/backend.h"

namespace fettle::backend::opencl_c {

inline constexpr const char* kName = "opencl_c";

const Backend& opencl_backend();

}  // namespace fettle::backend::opencl_c
