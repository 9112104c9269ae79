// Limits and a system-call policy that a worker puts on itself, for good.
#pragma once

#include <cstdint>
#include <string>

#include "agent/sandbox/seccomp.h"
#include "schemas/device_generated.h"

namespace fettle::agent {

enum class SystemCalls : std::uint8_t {
  Listed,  // those that a worker of ours makes, and no other: a candidate's machine code runs in it
  Driver,  // all but those that no driver of a GPU needs once its device is open (seccomp.h)
  Builds   // also files and programs: a driver that has a linker build what it runs
};

struct SandboxPolicy {
  std::uint64_t extra_memory_bytes = 0;  // address space beyond what is mapped now; 0: no limit
  SystemCalls calls = SystemCalls::Listed;
  // Candidates are code in the worker, so that what it maps while one runs is that one's own.
  bool runs_candidates_code = true;
};

// What the worker has when its sandbox closes.
struct SandboxSurroundings {
  Addresses code;             // where loaders put machine code; empty: it loads none
  std::string keys_in_reach;  // why files with keys are in its reach; "": they are not
};

struct SandboxState {
  wire::Sandbox level = wire::Sandbox::Off;  // what really holds: tried, not assumed
  bool holds = false;                        // it is all that the policy wants
  std::uint64_t address_space_limit = 0;     // bytes; 0: not in force
  std::string note;                          // why the level is lower than wanted
};

// Call once, when all threads and files that the worker needs exist: afterwards
// no file can be written, no process started, no socket made; with Listed also no
// file opened nor thread started, and a forbidden call raises SIGSYS. qemu-user ignores memory
// limits and knows no seccomp: the level is Off there. In a build with a sanitizer, which cannot be
// limited, `holds` is true all the same: it is for tests.
SandboxState enter_sandbox(const SandboxPolicy& policy, const SandboxSurroundings& surroundings);

// "openat" for the number of a system call of this architecture; "" when unknown.
const char* system_call_name(std::uint32_t number);
std::uint64_t address_space_bytes(int statm_fd);

}  // namespace fettle::agent
