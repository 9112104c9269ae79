// An input of a fuzz target that reads files by their path: in memory, where there is such a place.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "schemas/wire/codec.h"

namespace fettle {

class InputFile {
 public:
  explicit InputFile(const std::string& ending) {
    const char* memory = "/dev/shm";
    std::string pattern = (::access(memory, W_OK) == 0 ? memory : "/tmp");
    pattern += "/fettle-fuzz-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    folder_ = pattern;
    path_ = folder_ / ("input" + ending);
  }
  ~InputFile() {
    std::error_code failed;
    std::filesystem::remove_all(folder_, failed);
  }
  InputFile(const InputFile&) = delete;

  // The file's path, with these bytes in it.
  std::string of(ByteView bytes) const {
    std::ofstream file(path_, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    if (!file) std::abort();
    return path_;
  }
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_, path_;
};

// A seed: the first byte, which says what is read, and a text.
inline Bytes seed_of(std::uint8_t first, const std::string& text) {
  Bytes seed(1 + text.size(), first);
  std::copy(text.begin(), text.end(), seed.begin() + 1);
  return seed;
}

inline std::string contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) std::abort();
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace fettle
