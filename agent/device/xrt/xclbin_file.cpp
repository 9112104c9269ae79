// Reading .xclbin files (xclbin_file.h).
#include "agent/device/xrt/xclbin_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>

namespace fettle::agent {
namespace {

// Several times what those of Alveo's cards take.
constexpr std::uint64_t kMostXclbinBytes = std::uint64_t{256} << 20;

}  // namespace

Result<Bytes> read_xclbin_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : -1;
  if (size < 0) return Error{ErrorCode::Io, std::string("cannot be read: ") + std::strerror(errno)};
  if (static_cast<std::uint64_t>(size) > kMostXclbinBytes) {
    return Error{ErrorCode::TooLarge, "larger than any .xclbin"};
  }
  Bytes bytes(static_cast<std::size_t>(size));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(bytes.data()), size);
  if (!file) return Error{ErrorCode::Io, std::string("cannot be read: ") + std::strerror(errno)};
  return bytes;
}

}  // namespace fettle::agent
