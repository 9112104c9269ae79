// What `fettle devices check` remembers: the times of the last checks, in a file of JSON lines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "schemas/wire/result.h"

namespace fettle::app {

struct CheckTime {
  std::int64_t unix_s = 0;
  std::string board;  // its id
  std::uint32_t device = 0;
  std::string kernel;  // CheckKernel::id
  double ns = 0;
};

class CheckHistory {
 public:
  static constexpr std::size_t kKept = 30;      // of one device and kernel
  static constexpr std::size_t kMost = 50'000;  // lines that are written

  // No file is no history. Lines that are none are counted and left out. Io; TooLarge.
  static Result<CheckHistory> read(const std::filesystem::path& file);
  // Times of that device with that kernel, the oldest first.
  std::vector<double> times(const std::string& board, std::uint32_t device,
                            const std::string& kernel) const;
  void add(CheckTime time);
  // Replaces the file, whose folder is there. Io, DiskFull.
  Result<void> write(const std::filesystem::path& file) const;
  std::size_t bad_lines() const { return bad_lines_; }

 private:
  std::vector<CheckTime> all_;
  std::size_t bad_lines_ = 0;
};

}  // namespace fettle::app
