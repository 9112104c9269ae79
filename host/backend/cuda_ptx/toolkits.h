// CUDA toolkits on this machine: where their programs and libraries lie.
#pragma once

#include <filesystem>
#include <vector>

namespace fettle::backend::cuda_ptx {

// Folders with bin/ or lib/ in them, that exist, those to be asked first at the front: CUDA_HOME,
// the usual place of an installed one, and what `./dev setup cuda` has put into FETTLE_CACHE or
// ~/.cache/fettle, the newest first.
std::vector<std::filesystem::path> toolkits();

}  // namespace fettle::backend::cuda_ptx
