// What an ELF file says of itself: static or not, for which machine, how large
// without what `strip` takes away.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schemas/wire/result.h"

namespace fettle::bench {

struct ElfFacts {
  std::string machine;              // "x86_64", "aarch64", "armv7", or "machine 243"
  bool interpreter = false;         // PT_INTERP: needs a dynamic linker
  std::vector<std::string> needed;  // DT_NEEDED: shared libraries
  bool stripped = true;             // no symbol table, no debug sections
  std::uint64_t file_bytes = 0;
  std::uint64_t stripped_bytes = 0;  // without those sections
  bool is_static() const { return !interpreter && needed.empty(); }
};

// Malformed when it is not a little-endian ELF program; Io when it cannot be read.
Result<ElfFacts> read_elf(const std::string& path);
// Of bytes in memory: tests/bench/bench_test.cpp cuts them short.
Result<ElfFacts> parse_elf(const std::vector<std::uint8_t>& bytes);

}  // namespace fettle::bench
