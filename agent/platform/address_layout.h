// The address space laid out alike in every process.
//
// Linux places stack, heap and mappings at random, and how a kernel's memory lies matters to
// its time: on an AMD EPYC with AVX-512 one ran at 2.4 ms in some sessions and at 3.6 to 4.2
// in others; without randomization nearly all lay within 10 %. Which of them is to blame,
// and by which cache, is not known.
#pragma once

namespace fettle::agent {

// Starts this program once more in place (same process), without randomization. Returns
// where that is done already, or the system allows it not: a seccomp filter, systemd's
// LockPersonality, an emulator that cannot execute. Call it before anything is opened.
void fix_address_layout(char** argv);

}  // namespace fettle::agent
