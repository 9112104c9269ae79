// The address space laid out alike in every process.
//
// Linux places stack, heap and mappings at random. Where a kernel's buffers and its stack
// lie to one another decides which of their lines evict one another from a first-level
// cache, so that some kernels ran at 2.4 ms in one session and at 3.6 in the next (measured
// on AMD's Zen 4; without randomization they stayed within 10 %).
#pragma once

namespace fettle::agent {

// Starts this program once more in place (same process), without randomization. Returns
// where that is done already, or the system allows it not: a seccomp filter, systemd's
// LockPersonality, an emulator that cannot execute. Call it before anything is opened.
void fix_address_layout(char** argv);

}  // namespace fettle::agent
