// Without address randomization (address_layout.h).
#include "agent/platform/address_layout.h"

#include <sys/personality.h>
#include <unistd.h>
#include <climits>
#include <cstdlib>

namespace fettle::agent {
namespace {

constexpr unsigned long kOnlyAsk = 0xffffffff;
constexpr const char* kTried = "FETTLE_LAYOUT_TRIED";  // in the environment: no second time

}  // namespace

void fix_address_layout(char** argv) {
  const int now = personality(kOnlyAsk);
  if (now == -1 || (now & ADDR_NO_RANDOMIZE) != 0 || getenv(kTried) != nullptr) return;
  // By its path: under qemu-user /proc/self/exe would start the emulator itself.
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length <= 0) return;
  path[length] = '\0';
  if (personality(static_cast<unsigned long>(now) | ADDR_NO_RANDOMIZE) == -1) return;
  setenv(kTried, "1", 1);
  execv(path, argv);
  personality(static_cast<unsigned long>(now));  // replaced meanwhile, or not executable
}

}  // namespace fettle::agent
