// Writing whole files (file_write.h).
#include "agent/fpga/file_write.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>

namespace fettle::agent {
namespace {

Error failed(const std::string& what, int why) {
  return {ErrorCode::Io, what + ": " + std::strerror(why)};
}

}  // namespace

Result<void> write_file(const std::string& path, ByteView bytes) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (fd < 0) return failed("opening " + path + " to write it", errno);
  ssize_t n = 1;
  // A file of a driver takes a value in one piece.
  for (; n > 0 && !bytes.empty(); bytes = bytes.subspan(static_cast<std::size_t>(n))) {
    do n = ::write(fd, bytes.data(), bytes.size());
    while (n < 0 && errno == EINTR);
    if (n < 0) break;
  }
  const int why = errno;
  const bool closed = ::close(fd) == 0;
  if (n < 0) return failed("writing " + path, why);
  if (!closed) return failed("writing " + path, errno);
  return {};
}

Result<void> write_file(const std::string& path, const std::string& text) {
  return write_file(path,
                    ByteView(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
}

Result<void> make_folder(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (::mkdir(part.c_str(), 0755) != 0 && errno != EEXIST) {
      return failed("making the folder " + part, errno);
    }
    if (end == std::string::npos) return {};
  }
}

}  // namespace fettle::agent
