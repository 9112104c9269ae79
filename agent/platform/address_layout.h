// The address space laid out alike in every process.
//
// Linux places stack, heap and mappings at random, and how a kernel's memory lies matters to
// its time: on an AMD EPYC with AVX-512 one ran at 2.4 ms in some sessions and at 3.6 to 4.2
// in others; without randomization nearly all lay within 10 %. Which of them is to blame,
// and by which cache, is not known.
#pragma once

#include <string>

namespace fettle::agent {

// Starts this program once more in place (same process), without randomization and with `name` =
// `value` in its environment. Returns where the system does not allow it: a seccomp filter,
// systemd's LockPersonality, an emulator that cannot execute.
void execute_with_fixed_layout(char** argv, const char* name, const std::string& value);

}  // namespace fettle::agent
