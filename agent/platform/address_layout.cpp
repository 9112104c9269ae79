// Without address randomization (address_layout.h).
#include "agent/platform/address_layout.h"

#include <sys/personality.h>
#include <unistd.h>
#include <climits>
#include <cstdlib>

namespace fettle::agent {
namespace {

constexpr unsigned long kOnlyAsk = 0xffffffff;

}  // namespace

void execute_with_fixed_layout(char** argv, const char* name, const std::string& value) {
  const int now = personality(kOnlyAsk);
  if (now == -1) return;
  // By its path: under qemu-user /proc/self/exe would start the emulator itself.
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length <= 0) return;
  path[length] = '\0';
  if (personality(static_cast<unsigned long>(now) | ADDR_NO_RANDOMIZE) == -1) return;
  setenv(name, value.c_str(), 1);
  execv(path, argv);
  unsetenv(name);
  personality(static_cast<unsigned long>(now));  // replaced meanwhile, or not executable
}

}  // namespace fettle::agent
