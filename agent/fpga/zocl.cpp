// Buffer objects of zocl, XRT's driver on Zynq, by its ioctls (contiguous_memory.h): there is no
// XRT library for 32-bit Arm. Numbers and structures: XRT's zynq_ioctl.h, Linux' drm.h.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <cerrno>
#include <cstring>

#include "agent/fpga/contiguous_memory.h"

namespace fettle::agent {
namespace {

struct DrmVersion {
  int major, minor, patch;
  std::size_t name_bytes;
  char* name;
  std::size_t date_bytes;
  char* date;
  std::size_t text_bytes;
  char* text;
};
struct CreateBo {
  std::uint64_t bytes;
  std::uint32_t handle, flags;
};
struct MapBo {
  std::uint32_t handle, zero;
  std::uint64_t offset;
};
struct InfoBo {
  std::uint32_t handle;
  std::uint64_t bytes, address;
};
static_assert(sizeof(CreateBo) == 16 && sizeof(MapBo) == 16);
#if !defined(__i386__)
static_assert(sizeof(InfoBo) == 24);  // aligned to 8 bytes, also on 32-bit Arm
#endif

constexpr unsigned kDriver = 0x40;  // DRM_COMMAND_BASE: a driver's own requests
constexpr unsigned long kVersion = _IOWR('d', 0x00, DrmVersion),
                        kCreateBo = _IOWR('d', kDriver + 0, CreateBo),
                        kMapBo = _IOWR('d', kDriver + 3, MapBo),
                        kInfoBo = _IOWR('d', kDriver + 5, InfoBo);
constexpr std::uint32_t kCacheable = 1u << 24;  // XCL_BO_FLAGS_CACHEABLE; memory bank 0

}  // namespace

Result<ContiguousPiece> allocate_from_zocl(const std::string& path, std::uint64_t bytes, Ioctl io) {
  ContiguousPiece piece;
  const auto failed = [&](const char* what) {
    return Error{ErrorCode::Io, path + ": " + what + ": " + std::strerror(errno)};
  };
  piece.fd = OwnedFd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!piece.fd) return failed("opening");
  char name[16] = {};
  DrmVersion version{};
  version.name = name;
  version.name_bytes = sizeof name - 1;
  if (io(piece.fd.get(), kVersion, &version) != 0 || std::string_view(name) != "zocl") {
    return Error{ErrorCode::Unsupported, path + ": no zocl"};
  }
  // The board's CMA may have less: half as much is asked for then.
  CreateBo create{};
  for (std::uint64_t ask = bytes;; ask /= 2) {
    create = {ask, 0, kCacheable};
    if (io(piece.fd.get(), kCreateBo, &create) == 0) break;
    if (ask / 2 < kLeastContiguous || errno != ENOMEM) return failed("zocl's buffer");
  }
  InfoBo info{create.handle, 0, 0};
  if (io(piece.fd.get(), kInfoBo, &info) != 0) return failed("zocl's buffer's address");
  MapBo map{create.handle, 0, 0};
  if (io(piece.fd.get(), kMapBo, &map) != 0) return failed("mapping zocl's buffer");
  piece.provider = "zocl";
  piece.address = info.address;
  piece.bytes = create.bytes;
  piece.offset = map.offset;
  piece.cached = true;
  if (piece.address == 0 || piece.address % 4096 != 0) {
    return Error{ErrorCode::Io, path + ": zocl's buffer has no address that can be used"};
  }
  return piece;
}

}  // namespace fettle::agent
