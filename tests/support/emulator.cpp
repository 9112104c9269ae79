#include "tests/support/emulator.h"

namespace fettle::testing {

std::string emulator_of(const std::string& arch) {
#ifdef FETTLE_EMULATOR_ARMV7
  if (arch == "armv7") return FETTLE_EMULATOR_ARMV7;
#endif
#ifdef FETTLE_EMULATOR_AARCH64
  if (arch == "aarch64") return FETTLE_EMULATOR_AARCH64;
#endif
  return {};
}

}  // namespace fettle::testing
