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
  Builds   // also those by which programs are started, and files made in the worker's own folder: a
           // driver that has a linker build what it runs
};

struct SandboxPolicy {
  std::uint64_t extra_memory_bytes = 0;  // address space beyond what is mapped now; 0: no limit
  SystemCalls calls = SystemCalls::Listed;
  // Candidates are code in the worker, so that what it maps while one runs is that one's own.
  bool runs_candidates_code = true;
};

// What the worker has when its sandbox closes.
struct SandboxSurroundings {
  Addresses code;  // where loaders put machine code; empty: it loads none
  // Why it reaches files with keys or changes others' files; "": confine_files holds it. Where
  // calls are Listed it does neither all the same.
  std::string files_in_reach = "nothing confines it to its own";
};

struct SandboxState {
  wire::Sandbox level = wire::Sandbox::Off;  // what really holds: tried, not assumed
  bool holds = false;                        // it is all that the policy wants
  std::uint64_t address_space_limit = 0;     // bytes; 0: not in force
  std::string note;                          // why the level is lower than wanted
};

// Call once, when all threads and files that the worker needs exist: afterwards no socket is made
// and no other process reached, and but for Builds none started; with Listed also no file opened
// nor thread started, and a forbidden call raises SIGSYS. That no file is changed is so by
// confine_files, which has been called before: Builds change files of their own folder, and what
// standard output and error were already. qemu-user ignores memory limits and knows no seccomp: the
// level is Off there. In a build with a sanitizer, which cannot be limited, `holds` is true all the
// same: it is for tests.
SandboxState enter_sandbox(const SandboxPolicy& policy, const SandboxSurroundings& surroundings);

// "openat" for the number of a system call of this architecture; "" when unknown.
const char* system_call_name(std::uint32_t number);
std::uint64_t address_space_bytes(int statm_fd);

}  // namespace fettle::agent
