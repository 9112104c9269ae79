// Copying and reading back (write_image.h).
#include "host/flash/write_image.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include <fmt/format.h>

namespace fettle::flash {
namespace {

constexpr std::size_t kPiece = std::size_t{4} << 20;
constexpr std::size_t kAlignment = 4096;  // direct reads want it

struct Free {
  void operator()(std::uint8_t* memory) const { std::free(memory); }
};
using Piece = std::unique_ptr<std::uint8_t, Free>;
Piece make_piece() {
  return Piece(static_cast<std::uint8_t*>(std::aligned_alloc(kAlignment, kPiece)));
}

Error io(const std::string& doing) {
  return {ErrorCode::Io, doing + ": " + std::strerror(errno), {}};
}
Error canceled() {
  return {ErrorCode::Canceled, "stopped: the disk holds a part of the image", {}};
}

Error became_shorter(const OpenFile& image) {
  return {ErrorCode::Io, image.path() + " became shorter while it was read", {}};
}

// As much as there is from `at` on, up to `size`; -1 with errno.
ssize_t read_fully(const OpenFile& from, std::uint8_t* to, std::size_t size, std::uint64_t at) {
  std::size_t got = 0;
  while (got < size) {
    const ssize_t n = ::pread(from.fd(), to + got, size - got, static_cast<off_t>(at + got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    if (n == 0) break;
    got += static_cast<std::size_t>(n);
  }
  return static_cast<ssize_t>(got);
}

bool write_fully(const OpenFile& to, const std::uint8_t* from, std::size_t size, std::uint64_t at) {
  for (std::size_t put = 0; put < size;) {
    const ssize_t n = ::pwrite(to.fd(), from + put, size - put, static_cast<off_t>(at + put));
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = EIO;  // it took nothing, and does not say why
    if (n <= 0) return false;
    put += static_cast<std::size_t>(n);
  }
  return true;
}

// Reads go past the system's cache while it lives, where the file system can do that; else
// what fsync left in the cache is dropped before.
class PastTheCache {
 public:
  explicit PastTheCache(const OpenFile& file) : file_(file), flags_(::fcntl(file.fd(), F_GETFL)) {
    if (::fcntl(file.fd(), F_SETFL, flags_ | O_DIRECT) != 0) {
      ::posix_fadvise(file.fd(), 0, 0, POSIX_FADV_DONTNEED);
    }
  }
  PastTheCache(const PastTheCache&) = delete;
  PastTheCache& operator=(const PastTheCache&) = delete;
  ~PastTheCache() { ::fcntl(file_.fd(), F_SETFL, flags_); }

 private:
  const OpenFile& file_;
  int flags_;
};

// What a file of that kind begins with, and what unpacks it.
struct Compression {
  std::string_view magic;
  const char *name, *command;
};
constexpr Compression kCompressions[] = {
    {"PK\x03\x04", "a zip archive", "unzip"},
    {"\x1f\x8b", "compressed (gzip)", "gunzip --keep"},
    {"\xfd\x37zXZ", "compressed (xz)", "unxz --keep"},
    {"BZh", "compressed (bzip2)", "bunzip2 --keep"},
    {"\x28\xb5\x2f\xfd", "compressed (zstd)", "unzstd"},
};

// udev holds a disk's lock for the moment that it looks at it.
Result<void> lock(const OpenFile& disk) {
  for (int tries = 0; ::flock(disk.fd(), LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (errno != EWOULDBLOCK && errno != EINTR) return io("locking " + disk.path());
    if (tries == 100) {
      return Error{ErrorCode::Timeout,
                   "another program works on " + disk.path() + " (its lock is held)",
                   {}};
    }
    ::usleep(100'000);
  }
  return {};
}

}  // namespace

Result<OpenFile> open_image(const std::string& path) {
  // A pipe must not be waited for: it is no image.
  return OpenFile::open(path, O_RDONLY | O_NONBLOCK);
}

Result<std::uint64_t> image_bytes(const OpenFile& image) {
  struct stat status{};
  if (::fstat(image.fd(), &status) != 0) return io("looking at " + image.path());
  if (!S_ISREG(status.st_mode) || status.st_size == 0) {
    return Error{ErrorCode::InvalidArgument, image.path() + " is no image file", {}};
  }
  return static_cast<std::uint64_t>(status.st_size);
}

Result<void> check_image(const OpenFile& image, const DroppedChecks& dropped) {
  if (auto size = image_bytes(image); !size) return size.error();
  std::uint8_t sector[512] = {};
  if (read_fully(image, sector, sizeof sector, 0) < 0) return io("reading " + image.path());
  const std::string_view start(reinterpret_cast<const char*>(sector), sizeof sector);
  for (const Compression& one : kCompressions) {
    if (!start.starts_with(one.magic)) continue;
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("{0} is {1}: unpack it first ({2} {0})", image.path(), one.name, one.command),
        {}};
  }
  if (dropped.contains(Check::BootSignature)) return {};
  if (sector[510] == 0x55 && sector[511] == 0xaa) return {};
  return Error{ErrorCode::InvalidArgument,
               image.path() +
                   " is no disk's image: no boot signature in its first sector "
                   "(--force=boot-signature writes it all the same)",
               {}};
}

Result<void> write_image(const OpenFile& image, const OpenFile& disk, const Progress& progress) {
  const auto total = image_bytes(image);
  if (!total) return total.error();
  if (auto locked = lock(disk); !locked) return locked;
  const Piece piece = make_piece();
  for (std::uint64_t done = 0; done < *total;) {
    const std::size_t size = std::min<std::uint64_t>(kPiece, *total - done);
    const ssize_t n = read_fully(image, piece.get(), size, done);
    if (n < 0) return io("reading " + image.path());
    if (n == 0) return became_shorter(image);
    // Without the wait a laptop's memory takes the whole image at once.
    if (!write_fully(disk, piece.get(), static_cast<std::size_t>(n), done) ||
        ::fdatasync(disk.fd()) != 0) {
      return io(fmt::format("writing {} at byte {}", disk.path(), done));
    }
    done += static_cast<std::uint64_t>(n);
    if (!progress("writing", done, *total)) return canceled();
  }
  ::ioctl(disk.fd(), BLKFLSBUF, 0);  // a file has no such buffers
  return verify_image(image, disk, progress);
}

Result<void> verify_image(const OpenFile& image, const OpenFile& disk, const Progress& progress) {
  const auto total = image_bytes(image);
  if (!total) return total.error();
  const PastTheCache past_the_cache(disk);
  const Piece wanted = make_piece(), found = make_piece();
  for (std::uint64_t done = 0; done < *total;) {
    const ssize_t n = read_fully(image, wanted.get(), kPiece, done);
    if (n < 0) return io("reading " + image.path());
    if (n == 0) return became_shorter(image);
    // A direct read takes whole sectors: up to the next one behind the image's end.
    const auto size = std::min<std::size_t>(static_cast<std::size_t>(n), *total - done);
    const std::size_t whole = (size + kAlignment - 1) / kAlignment * kAlignment;
    const ssize_t m = read_fully(disk, found.get(), whole, done);
    if (m < 0) return io(fmt::format("reading {} back at byte {}", disk.path(), done));
    if (m < static_cast<ssize_t>(size)) {
      return Error{ErrorCode::Io,
                   fmt::format("reading {} back: it ends at byte {}", disk.path(),
                               done + static_cast<std::uint64_t>(m)),
                   {}};
    }
    if (std::memcmp(wanted.get(), found.get(), size) != 0) {
      std::size_t at = 0;
      while (wanted.get()[at] == found.get()[at]) ++at;
      return Error{ErrorCode::Io,
                   fmt::format("{} reads back otherwise from byte {} on: a bad card, or one that "
                               "claims to be larger than it is",
                               disk.path(), done + at),
                   {}};
    }
    done += size;
    if (!progress("checking", done, *total)) return canceled();
  }
  return {};
}

}  // namespace fettle::flash
