// The files that compile (build_version.h).
#include "host/app/build_version.h"

#include <link.h>
#include <algorithm>
#include <fstream>
#include <vector>

#include "host/app/version.h"
#include "host/backend/cuda_ptx/ptxas.h"
#include "host/process/child_process.h"
#include "schemas/wire/content_hash.h"

namespace fettle::app {
namespace {

constexpr std::size_t kDigits = 16;

// Shared libraries of this process that generate code.
std::vector<std::string> compiler_libraries() {
  std::vector<std::string> found;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* into) {
        const std::string path = info->dlpi_name;
        const std::string file = path.substr(path.rfind('/') + 1);
        if (file.starts_with("libLLVM") || file.starts_with("liblld") ||
            file.starts_with("libfettle"))
          static_cast<std::vector<std::string>*>(into)->push_back(path);
        return 0;
      },
      &found);
  std::sort(found.begin(), found.end());
  return found;
}

Result<void> add_file(ContentHasher& hasher, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> piece(std::size_t{1} << 20);
  while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())) || file.gcount() > 0) {
    hasher.add({reinterpret_cast<const std::uint8_t*>(piece.data()),
                static_cast<std::size_t>(file.gcount())});
  }
  if (!file.eof()) return Error{ErrorCode::Io, "cannot read " + path, {}};
  return {};
}

}  // namespace

Result<std::string> build_version() {
  std::vector<std::string> files = compiler_libraries();
  files.insert(files.begin(), process::kOwnProgram);
  ContentHasher hasher;
  for (const std::string& path : files) {
    if (auto added = add_file(hasher, path); !added)
      return std::move(added).error().in("looking at what builds here");
  }
  std::string tools;
  for (const auto& ptxas : backend::cuda_ptx::ptxas_here())
    tools += " ptxas " + std::to_string(ptxas.cuda);
  hasher.add({reinterpret_cast<const std::uint8_t*>(tools.data()), tools.size()});
  return std::string(kVersion) + "-" + to_hex(hasher.end()).substr(0, kDigits);
}

}  // namespace fettle::app
