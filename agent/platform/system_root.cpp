// Reading /proc and /sys (system_root.h).
#include "agent/platform/system_root.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace fettle::agent {

OpenText& OpenText::operator=(OpenText&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

OpenText::~OpenText() {
  if (fd_ >= 0) ::close(fd_);
}

std::size_t OpenText::read(char* buffer, std::size_t size) const {
  if (fd_ < 0 || size == 0) return 0;
  const ssize_t n = ::pread(fd_, buffer, size - 1, 0);
  const std::size_t got = n > 0 ? static_cast<std::size_t>(n) : 0;
  buffer[got] = 0;
  return got;
}

std::optional<std::int64_t> OpenText::number() const {
  char text[64];
  if (read(text, sizeof text) == 0) return std::nullopt;
  char* end = nullptr;
  const long long value = std::strtoll(text, &end, 0);
  if (end == text) return std::nullopt;
  return value;
}

std::optional<std::string> SystemRoot::text(const std::string& path) const {
  const int fd = ::open((prefix_ + path).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::string all;
  char piece[4096];
  ssize_t n;
  while (all.size() < 65536 &&
         ((n = ::read(fd, piece, sizeof piece)) > 0 || (n < 0 && errno == EINTR))) {
    if (n > 0) all.append(piece, static_cast<std::size_t>(n));
  }
  ::close(fd);
  while (!all.empty() && (all.back() == 0 || all.back() == '\n' || all.back() == ' ')) {
    all.pop_back();
  }
  return all;
}

std::optional<std::int64_t> SystemRoot::number(const std::string& path) const {
  return open(path).number();
}

OpenText SystemRoot::open(const std::string& path) const {
  return OpenText(::open((prefix_ + path).c_str(), O_RDONLY | O_CLOEXEC));
}

bool SystemRoot::write(const std::string& path, const std::string& text) const {
  const int fd = ::open((prefix_ + path).c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t n = ::write(fd, text.data(), text.size());
  const int why = errno;
  ::close(fd);
  errno = why;
  return n == static_cast<ssize_t>(text.size());
}

std::vector<std::string> SystemRoot::list(const std::string& directory) const {
  std::vector<std::string> names;
  DIR* dir = ::opendir((prefix_ + directory).c_str());
  if (!dir) return names;
  while (const dirent* entry = ::readdir(dir)) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  ::closedir(dir);
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<std::vector<std::uint32_t>> parse_core_list(const std::string& text) {
  std::vector<std::uint32_t> cores;
  const char* at = text.c_str();
  while (true) {
    char* end = nullptr;
    if (*at < '0' || *at > '9') return std::nullopt;
    const unsigned long first = std::strtoul(at, &end, 10);
    unsigned long last = first;
    at = end;
    if (*at == '-') {
      if (at[1] < '0' || at[1] > '9') return std::nullopt;
      last = std::strtoul(at + 1, &end, 10);
      at = end;
    }
    if (last < first || last > 4095) return std::nullopt;
    for (unsigned long core = first; core <= last; ++core) {
      if (std::find(cores.begin(), cores.end(), core) == cores.end()) {
        cores.push_back(static_cast<std::uint32_t>(core));
      }
    }
    if (*at == 0) return cores;
    if (*at++ != ',') return std::nullopt;
  }
}

}  // namespace fettle::agent
