// The operating system's text files (/proc, /sys) under a root that tests replace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fettle::agent {

// A file kept open, read again and again from its start with pread: works after
// the sandbox has closed the file system.
class OpenText {
 public:
  OpenText() = default;
  explicit OpenText(int fd) : fd_(fd) {}
  OpenText(OpenText&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  OpenText& operator=(OpenText&& other) noexcept;
  ~OpenText();
  explicit operator bool() const { return fd_ >= 0; }
  // What fits into `buffer`, 0-terminated; bytes read, 0 when it cannot be read.
  std::size_t read(char* buffer, std::size_t size) const;
  std::optional<std::int64_t> number() const;

 private:
  int fd_ = -1;
};

class SystemRoot {
 public:
  // Prefix of every path: "" is the real system.
  explicit SystemRoot(std::string prefix = "") : prefix_(std::move(prefix)) {}
  std::string path(const std::string& path) const { return prefix_ + path; }
  // The whole file (at most 64 KiB) without trailing white space or NULs.
  std::optional<std::string> text(const std::string& path) const;
  // Decimal, or hexadecimal with 0x; text behind it ("32K") is ignored.
  std::optional<std::int64_t> number(const std::string& path) const;
  OpenText open(const std::string& path) const;
  // Into a file that is there; false, with errno, when the system does not take it.
  bool write(const std::string& path, const std::string& text) const;
  std::vector<std::string> list(const std::string& directory) const;  // names, sorted

 private:
  std::string prefix_;
};

// "0-3,5" as the kernel writes lists of processors; nothing when it is no such list.
std::optional<std::vector<std::uint32_t>> parse_core_list(const std::string& text);

}  // namespace fettle::agent
