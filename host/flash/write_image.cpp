// Copying and reading back (write_image.h).
#include "host/flash/write_image.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
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

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  explicit operator bool() const { return fd_ >= 0; }
  int get() const { return fd_; }

 private:
  int fd_;
};

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

// As much as there is, up to `size`; -1 with errno.
ssize_t read_fully(int fd, std::uint8_t* to, std::size_t size) {
  std::size_t got = 0;
  while (got < size) {
    const ssize_t n = ::read(fd, to + got, size - got);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    if (n == 0) break;
    got += static_cast<std::size_t>(n);
  }
  return static_cast<ssize_t>(got);
}

bool write_fully(int fd, const std::uint8_t* from, std::size_t size) {
  while (size > 0) {
    const ssize_t n = ::write(fd, from, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    from += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

Result<std::uint64_t> size_of(const Fd& file, const std::string& path) {
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return io("looking at " + path);
  if (!S_ISREG(status.st_mode) || status.st_size == 0) {
    return Error{ErrorCode::InvalidArgument, path + " is no image file", {}};
  }
  return static_cast<std::uint64_t>(status.st_size);
}

// Past the cache where the file system can; else what fsync left in it was dropped before.
int open_for_check(const std::string& path) {
  const int direct = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT);
  if (direct >= 0) return direct;
  const int plain = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (plain >= 0) ::posix_fadvise(plain, 0, 0, POSIX_FADV_DONTNEED);
  return plain;
}

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
Result<void> lock(const Fd& disk, const std::string& path) {
  for (int tries = 0; ::flock(disk.get(), LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (errno != EWOULDBLOCK && errno != EINTR) return io("locking " + path);
    if (tries == 100) {
      return Error{
          ErrorCode::Timeout, "another program works on " + path + " (its lock is held)", {}};
    }
    ::usleep(100'000);
  }
  return {};
}

}  // namespace

Result<void> check_image(const std::string& image, bool force) {
  const Fd file(::open(image.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return io("opening " + image);
  if (auto size = size_of(file, image); !size) return size.error();
  std::uint8_t sector[512] = {};
  if (read_fully(file.get(), sector, sizeof sector) < 0) return io("reading " + image);
  const std::string_view start(reinterpret_cast<const char*>(sector), sizeof sector);
  for (const Compression& one : kCompressions) {
    if (!start.starts_with(one.magic)) continue;
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("{} is {}: unpack it first ({} {})", image, one.name, one.command, image),
        {}};
  }
  if (force || (sector[510] == 0x55 && sector[511] == 0xaa)) return {};
  return Error{ErrorCode::InvalidArgument,
               image +
                   " is no disk's image: no boot signature in its first sector (--force "
                   "writes it all the same)",
               {}};
}

Result<void> write_image(const std::string& image, const std::string& disk, bool exclusive,
                         const Progress& progress) {
  const Fd from(::open(image.c_str(), O_RDONLY | O_CLOEXEC));
  if (!from) return io("opening " + image);
  const auto total = size_of(from, image);
  if (!total) return total.error();
  // Without O_CREAT, O_EXCL on a block device means: not while it is in use.
  const Fd to(::open(disk.c_str(), O_WRONLY | O_CLOEXEC | (exclusive ? O_EXCL : 0)));
  if (!to) return io("opening " + disk);
  if (auto locked = lock(to, disk); !locked) return locked;
  const Piece piece = make_piece();
  for (std::uint64_t done = 0; done < *total;) {
    const ssize_t n = read_fully(from.get(), piece.get(), kPiece);
    if (n < 0) return io("reading " + image);
    if (n == 0) return Error{ErrorCode::Io, image + " became shorter while it was read", {}};
    // Without the wait a laptop's memory takes the whole image at once.
    if (!write_fully(to.get(), piece.get(), static_cast<std::size_t>(n)) ||
        ::fdatasync(to.get()) != 0) {
      return io(fmt::format("writing {} at byte {}", disk, done));
    }
    done += static_cast<std::uint64_t>(n);
    if (!progress("writing", done, *total)) return canceled();
  }
  ::ioctl(to.get(), BLKFLSBUF, 0);  // a file has no such buffers
  return verify_image(image, disk, progress);
}

Result<void> verify_image(const std::string& image, const std::string& disk,
                          const Progress& progress) {
  const Fd from(::open(image.c_str(), O_RDONLY | O_CLOEXEC));
  if (!from) return io("opening " + image);
  const auto total = size_of(from, image);
  if (!total) return total.error();
  const Fd to(open_for_check(disk));
  if (!to) return io("opening " + disk);
  const Piece wanted = make_piece(), found = make_piece();
  for (std::uint64_t done = 0; done < *total;) {
    const ssize_t n = read_fully(from.get(), wanted.get(), kPiece);
    if (n <= 0) return io("reading " + image);
    // A direct read takes whole sectors: up to the next one behind the image's end.
    const auto size = static_cast<std::size_t>(n);
    const std::size_t whole = (size + kAlignment - 1) / kAlignment * kAlignment;
    const ssize_t m = read_fully(to.get(), found.get(), whole);
    if (m < n) return io(fmt::format("reading {} back at byte {}", disk, done));
    if (std::memcmp(wanted.get(), found.get(), size) != 0) {
      std::size_t at = 0;
      while (wanted.get()[at] == found.get()[at]) ++at;
      return Error{ErrorCode::Io,
                   fmt::format("{} reads back otherwise from byte {} on: a bad card, or one that "
                               "claims to be larger than it is",
                               disk, done + at),
                   {}};
    }
    done += size;
    if (!progress("checking", done, *total)) return canceled();
  }
  return {};
}

}  // namespace fettle::flash
