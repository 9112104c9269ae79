// Runs a CPU program of a foreign architecture under qemu-user.
#pragma once

#include <string>

#include "tests/support/native_run.h"

namespace fettle::testing {

// Empty: it can be run here. Otherwise what is missing, for GTEST_SKIP.
std::string emulation_missing(const std::string& arch);

// As run_natively. Starts one emulator per call.
Result<BufferBytes> run_emulated(const wire::ProgramT& program, int threads = 1);

}  // namespace fettle::testing
