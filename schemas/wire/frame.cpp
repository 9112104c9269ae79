// Length-prefixed frames over a stream file descriptor.
#include <unistd.h>
#include <cerrno>
#include <cstring>
#include <string>

#include "schemas/wire/codec.h"

namespace fettle {
namespace {

Result<void> write_all(int fd, const std::uint8_t* data, std::size_t size) {
  while (size > 0) {
    const ssize_t n = ::write(fd, data, size);
    if (n < 0) {
      if (errno == EINTR) continue;
      const bool gone = errno == EPIPE || errno == ECONNRESET;
      return Error{gone ? ErrorCode::Unreachable : ErrorCode::Io,
                   std::string("writing a frame: ") + std::strerror(errno)};
    }
    data += n;
    size -= static_cast<std::size_t>(n);
  }
  return {};
}

Result<void> read_all(int fd, std::uint8_t* data, std::size_t size) {
  while (size > 0) {
    const ssize_t n = ::read(fd, data, size);
    if (n == 0) return Error{ErrorCode::Unreachable, "the peer closed its end"};
    if (n < 0) {
      if (errno == EINTR) continue;
      const bool gone = errno == ECONNRESET;
      return Error{gone ? ErrorCode::Unreachable : ErrorCode::Io,
                   std::string("reading a frame: ") + std::strerror(errno)};
    }
    data += n;
    size -= static_cast<std::size_t>(n);
  }
  return {};
}

}  // namespace

Result<void> write_frame(int fd, ByteView bytes) {
  if (bytes.size() > 0xffffffffu) return Error{ErrorCode::TooLarge, "frame over 4 GiB"};
  const auto size = static_cast<std::uint32_t>(bytes.size());
  const std::uint8_t head[4] = {std::uint8_t(size), std::uint8_t(size >> 8),
                                std::uint8_t(size >> 16), std::uint8_t(size >> 24)};
  if (auto wrote = write_all(fd, head, sizeof head); !wrote) return wrote;
  return write_all(fd, bytes.data(), bytes.size());
}

Result<Bytes> read_frame(int fd, std::size_t max_bytes) {
  std::uint8_t head[4];
  if (auto got = read_all(fd, head, sizeof head); !got) return std::move(got).error();
  const std::size_t size = std::size_t{head[0]} | std::size_t{head[1]} << 8 |
                           std::size_t{head[2]} << 16 | std::size_t{head[3]} << 24;
  if (size > max_bytes) {
    return Error{ErrorCode::TooLarge, "frame of " + std::to_string(size) + " bytes is over " +
                                          std::to_string(max_bytes)};
  }
  Bytes bytes(size);
  if (auto got = read_all(fd, bytes.data(), size); !got) return std::move(got).error();
  return bytes;
}

}  // namespace fettle
