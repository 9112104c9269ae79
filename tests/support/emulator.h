// qemu-user, for tests that run a board's programs here.
#pragma once

#include <string>

namespace fettle::testing {

// What runs programs of `arch` (aarch64, armv7), as an absolute path. Empty where the machine that
// the tests were built on had none.
std::string emulator_of(const std::string& arch);

}  // namespace fettle::testing
