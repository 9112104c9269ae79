// An image or a disk, opened once: what is checked, asked about, written and read back is what
// was opened, whatever the name leads to by then.
#pragma once

#include <string>
#include <utility>

#include "schemas/wire/result.h"

namespace fettle::flash {

class OpenFile {
 public:
  // `flags` of open(2), without O_CREAT. NotFound, Io; errno is left as it was set.
  static Result<OpenFile> open(const std::string& path, int flags);
  OpenFile(OpenFile&& other) noexcept
      : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}
  OpenFile& operator=(OpenFile&&) = delete;
  ~OpenFile();

  int fd() const { return fd_; }                     // owned
  const std::string& path() const { return path_; }  // as the user named it, for messages

 private:
  OpenFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  std::string path_;
  int fd_;
};

}  // namespace fettle::flash
