// A descriptor and its name (open_file.h).
#include "host/flash/open_file.h"

#include <fcntl.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>

namespace fettle::flash {

Result<OpenFile> OpenFile::open(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC);
  if (fd >= 0) return OpenFile(path, fd);
  const int why = errno;
  Error error{why == ENOENT ? ErrorCode::NotFound : ErrorCode::Io,
              "opening " + path + ": " + std::strerror(why),
              {}};
  errno = why;
  return error;
}

OpenFile::~OpenFile() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace fettle::flash
