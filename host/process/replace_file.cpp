// A part beside it, and a rename (replace_file.h).
#include "host/process/replace_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace fettle::process {
namespace {

namespace fs = std::filesystem;

Error cannot_write(const std::string& path, const std::string& why) {
  return {ErrorCode::Io, "cannot write " + path + ": " + why, {}};
}

// A file of `folder` without a name yet, which the system takes away again if this process ends.
class Unnamed {
 public:
  explicit Unnamed(const fs::path& folder)
      : fd_(::open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666)) {}
  ~Unnamed() {
    if (fd_ >= 0) ::close(fd_);
  }
  Unnamed(const Unnamed&) = delete;
  Unnamed& operator=(const Unnamed&) = delete;
  // Not on each file system, and by its path in /proc alone.
  explicit operator bool() const { return fd_ >= 0 && ::access(path().c_str(), W_OK) == 0; }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }
  int get() const { return fd_; }
  // Where there is none of that name.
  bool give_name(const std::string& name) const {
    return ::linkat(AT_FDCWD, path().c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
  }

 private:
  int fd_;
};

// Writes all of `path`, from its beginning.
Result<void> write_all(const std::string& path, const std::string& shown,
                       const std::function<Result<void>(std::ostream&)>& write) {
  errno = 0;
  std::ofstream file(path, std::ios::trunc | std::ios::binary);
  if (!file) return cannot_write(shown, std::strerror(errno));
  auto written = write(file);
  file.close();
  if (!written) return written;
  if (!file) {
    // errno may be of what came after.
    return Error{ErrorCode::DiskFull,
                 "cannot write all of " + shown +
                     ": is the disk full, or the file larger than is allowed here (ulimit -f)?"};
  }
  return {};
}

// On the disk: else a power cut soon after leaves a name with nothing behind it. File systems that
// cannot do it do not fail by it.
bool reach_disk(int fd) {
  while (::fsync(fd) != 0) {
    if (errno == EINTR) continue;
    return errno == EINVAL || errno == ENOTSUP;
  }
  return true;
}

bool reach_disk(const std::string& path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);  // a file that may not be read
  if (fd < 0) return false;
  const bool there = reach_disk(fd);
  const int error = errno;
  ::close(fd);
  errno = error;
  return there;
}

}  // namespace

Result<void> replace_file(const std::string& path,
                          const std::function<Result<void>(std::ostream&)>& write) {
  std::error_code error;
  const fs::file_status there = fs::status(path, error);
  if (fs::exists(there) && !fs::is_regular_file(there)) return write_all(path, path, write);
  const fs::path place = fs::exists(there) ? fs::canonical(path, error) : fs::path(path);
  const std::string beside = place.string() + "." + std::to_string(::getpid()) + ".part";
  const Unnamed unnamed(place.parent_path());
  auto written = write_all(unnamed ? unnamed.path() : beside, path, write);
  if (written && !(unnamed ? reach_disk(unnamed.get()) : reach_disk(beside))) {
    const int why = errno;
    written = cannot_write(path, std::strerror(why));
    if (why == ENOSPC || why == EDQUOT) written.error().code = ErrorCode::DiskFull;
  }
  if (written && unnamed) {
    fs::remove(beside, error);  // of a process that had our number
    if (!unnamed.give_name(beside)) written = cannot_write(path, std::strerror(errno));
  }
  if (written && fs::exists(there)) fs::permissions(beside, there.permissions(), error);
  if (written) {
    fs::rename(beside, place, error);
    if (error) written = cannot_write(path, error.message());
  }
  if (!written) fs::remove(beside, error);
  // Its name as well; a folder that cannot be read keeps it a little later.
  const fs::path folder = place.parent_path();
  if (written) reach_disk(folder.empty() ? std::string(".") : folder.string());
  return written;
}

}  // namespace fettle::process
