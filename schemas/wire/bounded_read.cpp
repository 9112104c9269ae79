// Reading by pieces, with a limit (bounded_read.h).
#include "schemas/wire/bounded_read.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>

namespace fettle {
namespace {

std::string size_text(std::uint64_t bytes) {
  return bytes % (1 << 20) == 0 ? std::to_string(bytes >> 20) + " MiB"
                                : std::to_string(bytes) + " bytes";
}

Error too_large(const std::string& what, std::uint64_t most) {
  return {ErrorCode::TooLarge, what + " is larger than " + size_text(most) + ", and not read", {}};
}

}  // namespace

Result<std::string> read_whole(const std::string& path, std::uint64_t most) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  int why = errno;
  std::string all;
  struct stat facts{};
  if (fd >= 0 && ::fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode)) {
    const auto bytes = static_cast<std::uint64_t>(facts.st_size);
    if (bytes > most) {
      ::close(fd);
      return Error{ErrorCode::TooLarge,
                   path + " has " + size_text(bytes) + ", more than the " + size_text(most) +
                       " that are read of such a file",
                   {}};
    }
    all.reserve(bytes + 1);
  } else {
    most = std::min(most, kMostPipeBytes);
  }
  constexpr std::uint64_t kPiece = 1 << 16;
  for (ssize_t n = 1; fd >= 0 && n > 0 && all.size() <= most;) {
    const std::size_t before = all.size();
    all.resize(before + std::min(kPiece, most + 1 - before));
    do {
      n = ::read(fd, all.data() + before, all.size() - before);
    } while (n < 0 && errno == EINTR);
    why = n < 0 ? errno : 0;
    all.resize(before + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  }
  if (fd >= 0) ::close(fd);
  if (why != 0) {
    return Error{why == ENOENT ? ErrorCode::NotFound : ErrorCode::Io,
                 "cannot read " + path + ": " + std::strerror(why),
                 {}};
  }
  if (all.size() > most) return too_large(path, most);
  return all;
}

Result<bool> BoundedLines::next(std::string& line) {
  line.clear();
  ++number_;
  std::streambuf* from = in_.rdbuf();
  while (in_.good()) {
    int byte = std::char_traits<char>::eof();
    try {
      byte = from->sbumpc();
    } catch (const std::exception&) {  // a file's buffer throws what std::getline would catch
      in_.setstate(std::ios::badbit);
    }
    if (byte == std::char_traits<char>::eof()) {
      if (!in_.bad()) in_.setstate(std::ios::eofbit);
      break;
    }
    if (++read_ > most_) return too_large(name_, most_);
    if (byte == '\n') return true;
    if (line.size() == kMostLineBytes) {
      return too_large("line " + std::to_string(number_) + " of " + name_, kMostLineBytes);
    }
    line.push_back(static_cast<char>(byte));
  }
  if (in_.bad()) return Error{ErrorCode::Io, "'" + name_ + "' could not be read", {}};
  return !line.empty();
}

}  // namespace fettle
