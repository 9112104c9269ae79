// u-dma-buf and UIO maps, and the order of all (contiguous_memory.h).
#include "agent/fpga/contiguous_memory.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "agent/fpga/registers.h"

namespace fettle::agent {
namespace {

constexpr std::uint64_t kPage = 4096;

bool fits(std::uint64_t address, std::uint64_t bytes) {
  return address != 0 && address % kPage == 0 && bytes >= kLeastContiguous;
}

// A piece of the memory that `device` of /dev has, when it can be opened.
Result<ContiguousPiece> open_piece(const SystemRoot& root, std::string provider,
                                   const std::string& device, ContiguousPiece piece) {
  const std::string path = root.path("/dev/" + device);
  piece.fd = OwnedFd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!piece.fd) return Error{ErrorCode::Io, path + ": " + std::strerror(errno)};
  piece.provider = std::move(provider) + " " + device;
  return piece;
}

int plain_ioctl(int fd, unsigned long request, void* argument) {
  return ::ioctl(fd, request, argument);
}

}  // namespace

Result<ContiguousPiece> find_contiguous_memory(const SystemRoot& root, std::uint64_t bytes,
                                               std::uint64_t registers) {
  std::string why;
  const auto note = [&](const Error& error) { why += "; " + error.message; };
  for (const char* name : {"u-dma-buf", "udmabuf"}) {  // the newer first
    const std::string folder = std::string("/sys/class/") + name;
    for (const std::string& device : root.list(folder)) {
      const auto address = root.number(folder + "/" + device + "/phys_addr");
      const auto size = root.number(folder + "/" + device + "/size");
      ContiguousPiece piece;
      piece.address = static_cast<std::uint64_t>(address.value_or(0));
      piece.bytes = std::min(bytes, static_cast<std::uint64_t>(size.value_or(0)));
      piece.cached = true;
      if (!fits(piece.address, piece.bytes)) continue;
      auto opened = open_piece(root, "u-dma-buf", device, std::move(piece));
      if (opened) return opened;
      note(opened.error());
    }
  }
  for (const std::string& device : root.list("/dev/dri")) {
    auto allocated = allocate_from_zocl(root.path("/dev/dri/" + device), bytes, plain_ioctl);
    if (allocated) return allocated;
    if (allocated.error().code != ErrorCode::Unsupported) note(allocated.error());
  }
  const auto maps = uio_maps(root);
  for (const UioMap& map : maps) {
    const bool beside = std::any_of(maps.begin(), maps.end(), [&](const UioMap& other) {
      return other.device == map.device && other.address == registers;
    });
    ContiguousPiece piece;
    piece.address = map.address;
    piece.bytes = std::min(bytes, map.bytes);
    piece.offset = map.offset;
    if (!beside || map.address == registers || !fits(piece.address, piece.bytes)) continue;
    auto opened = open_piece(root, "UIO", map.device, std::move(piece));
    if (opened) return opened;
    note(opened.error());
  }
  return Error{ErrorCode::NotFound,
               "no contiguous memory for the accelerator: neither u-dma-buf, zocl nor a UIO "
               "device's map has " +
                   std::to_string(kLeastContiguous >> 20) + " MiB" + why};
}

}  // namespace fettle::agent
