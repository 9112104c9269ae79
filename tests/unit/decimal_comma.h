// A locale that writes 1,5, as a program with libfettle may choose it. It brings its own: machines
// of tests have "C" only.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace fettle::testing {

// In force while it lives. Only one at a time, and no thread that asks for a locale beside it.
class DecimalComma {
 public:
  DecimalComma() {
    std::filesystem::create_directories(folder_ / kName);
    std::ofstream(folder_ / kName / "LC_NUMERIC", std::ios::binary)
        .write(reinterpret_cast<const char*>(kNumeric), sizeof kNumeric);
    ::setenv("LOCPATH", folder_.c_str(), 1);
    there_ = std::setlocale(LC_NUMERIC, kName) != nullptr;
  }
  ~DecimalComma() {
    std::setlocale(LC_NUMERIC, "C");
    ::unsetenv("LOCPATH");
    std::filesystem::remove_all(folder_);
  }
  DecimalComma(const DecimalComma&) = delete;
  DecimalComma& operator=(const DecimalComma&) = delete;
  bool there() const {
    char text[8];
    std::snprintf(text, sizeof text, "%.1f", 1.5);
    return there_ && std::string(text) == "1,5";
  }

 private:
  static constexpr const char* kName = "fettle_comma";
  // As glibc's localedef writes de_DE's: offsets, a comma, a point, groups of three, "UTF-8".
  static constexpr unsigned char kNumeric[] = {
      0x14, 0x11, 0x03, 0x20, 6,   0, 0,  0, 32,  0, 0,  0, 34,  0,   0,   0,   36,  0,
      0,    0,    40,   0,    0,   0, 44, 0, 0,   0, 48, 0, 0,   0,   ',', 0,   '.', 0,
      3,    3,    0,    0,    ',', 0, 0,  0, '.', 0, 0,  0, 'U', 'T', 'F', '-', '8', 0};
  std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) / ("fettle-comma-" + std::to_string(::getpid()));
  bool there_ = false;
};

}  // namespace fettle::testing
