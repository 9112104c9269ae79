// Looking for CUDA toolkits (toolkits.h).
#include "host/backend/cuda_ptx/toolkits.h"

#include <algorithm>
#include <cstdlib>

namespace fettle::backend::cuda_ptx {
namespace {

namespace fs = std::filesystem;

fs::path cache() {
  if (const char* named = std::getenv("FETTLE_CACHE")) return named;
  const char* home = std::getenv("HOME");
  return fs::path(home != nullptr ? home : "/root") / ".cache" / "fettle";
}

}  // namespace

std::vector<fs::path> toolkits() {
  std::vector<fs::path> found;
  std::error_code ignored;
  const char* named = std::getenv("CUDA_HOME");
  found.emplace_back(named != nullptr ? named : "/usr/local/cuda");
  const std::size_t installed = found.size();
  for (const auto& entry : fs::directory_iterator(cache() / "cuda", ignored)) {
    if (fs::exists(entry.path() / "complete", ignored)) found.push_back(entry.path());
  }
  std::sort(found.begin() + std::ptrdiff_t(installed), found.end(), std::greater<>());
  std::erase_if(found, [&](const fs::path& path) { return !fs::is_directory(path, ignored); });
  return found;
}

}  // namespace fettle::backend::cuda_ptx
