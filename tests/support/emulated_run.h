// Runs a CPU program of a foreign architecture under qemu-user.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/support/native_run.h"

namespace fettle::testing {

// Empty: it can be run here. Otherwise what is missing, for GTEST_SKIP.
std::string emulation_missing(const std::string& arch);

struct Emulator {
  std::string program;
  std::vector<std::string> options;
};

// As run_natively. Starts one emulator per call; `emulator` replaces the usual one.
Result<BufferBytes> run_emulated(const wire::ProgramT& program, int threads = 1,
                                 const std::optional<Emulator>& emulator = std::nullopt);

// Runs a foreign program with its arguments on `input`; its standard output. Crash:
// an exit status other than 0.
Result<std::vector<std::uint8_t>> converse(const Emulator& emulator,
                                           const std::vector<std::string>& command,
                                           const std::vector<std::uint8_t>& input);

}  // namespace fettle::testing
