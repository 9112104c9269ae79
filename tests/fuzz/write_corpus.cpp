// Writes a target's seeds into a folder, one file each, for libFuzzer to start from.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tests/fuzz/fuzz_target.h"

int main(int count, char** words) {
  if (count != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", words[0]);
    return 2;
  }
  std::filesystem::create_directories(words[1]);
  int number = 0;
  for (const auto& seed : fuzz_seeds()) {
    std::ofstream file(std::filesystem::path(words[1]) / ("seed-" + std::to_string(number++)),
                       std::ios::binary);
    file.write(reinterpret_cast<const char*>(seed.data()),
               static_cast<std::streamsize>(seed.size()));
    if (!file) {
      std::fprintf(stderr, "cannot write in %s\n", words[1]);
      return 1;
    }
  }
  std::printf("%d seeds in %s\n", number, words[1]);
  return 0;
}
