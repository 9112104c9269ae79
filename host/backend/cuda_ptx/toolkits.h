// CUDA toolkits on this machine: where their programs and libraries lie.
#pragma once

#include <filesystem>
#include <vector>

namespace fettle::backend::cuda_ptx {

// Folders with bin/ or lib/ in them, that exist, those to be asked first at the front: what
// CUDA_HOME names, or without it the usual place of an installed one; then what `./dev setup cuda`
// has put into FETTLE_CACHE or ~/.cache/fettle, the newest first. Builds look for CUDA's headers
// there, too (cmake/cuda_headers.cmake).
std::vector<std::filesystem::path> toolkits();

}  // namespace fettle::backend::cuda_ptx
