// Mapped files (mapped_file.h).
#include "runtime/network/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>
#include <utility>

namespace fettle::runtime {

Result<MappedFile> MappedFile::open(const std::string& path) {
  const auto failed = [&](const char* doing) {
    const int why = errno;
    return Error{why == ENOENT   ? ErrorCode::NotFound
                 : why == ENOMEM ? ErrorCode::OutOfMemory
                                 : ErrorCode::Io,
                 path + ": " + std::strerror(why) + doing};
  };
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return failed("");
  struct stat facts{};
  if (fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    ::close(file);
    return Error{ErrorCode::Io, path + ": is no file"};
  }
  if (facts.st_size == 0) {
    ::close(file);
    return Error{ErrorCode::Malformed, path + ": is empty"};
  }
  MappedFile out;
  const auto bytes = static_cast<std::size_t>(facts.st_size);
  void* at = static_cast<std::uint64_t>(facts.st_size) > SIZE_MAX / 2
                 ? (errno = ENOMEM, MAP_FAILED)
                 : mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
  const int why = errno;
  ::close(file);
  errno = why;
  if (at == MAP_FAILED) return failed(" (while mapping it)");
  out.at_ = static_cast<std::uint8_t*>(at);
  out.bytes_ = bytes;
  madvise(at, bytes, MADV_WILLNEED);  // all of it, soon and in order
  return out;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : at_(std::exchange(other.at_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

MappedFile::~MappedFile() {
  if (bytes_ > 0) munmap(at_, bytes_);
}

void MappedFile::forget(ByteView part) const {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<std::uintptr_t>(part.data()) + page - 1) / page * page;
  const auto end = (reinterpret_cast<std::uintptr_t>(part.data()) + part.size()) / page * page;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace fettle::runtime
