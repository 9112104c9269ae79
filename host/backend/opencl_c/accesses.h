// How a function reads and writes its arrays: by vectors of which length, and where they begin.
#pragma once

#include "host/ir/module.h"

namespace fettle::backend::opencl_c {

inline constexpr int kTexel = 4;  // elements of one, which an image is read by

// The lanes by which all of the function's accesses to the buffer go, each at a multiple of them;
// 1: there is no such number.
int lanes_of(const ir::Function& function, const ir::Buffer& buffer);

// Whether the function reads that param through an image of texels: it may, it only reads it, and
// every load is of whole texels.
bool reads_texels(const ir::Function& function, std::size_t param);

}  // namespace fettle::backend::opencl_c
