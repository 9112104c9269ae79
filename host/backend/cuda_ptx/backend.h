// NVIDIA's GPUs: the row of host/backend/registry.cpp.
#pragma once

#include "host/backend/backend.h"

namespace fettle::backend::cuda_ptx {

inline constexpr const char* kName = "cuda_ptx";

const Backend& cuda_backend();

}  // namespace fettle::backend::cuda_ptx
