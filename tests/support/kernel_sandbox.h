// What this machine's kernel can hold a worker with, asked of the kernel itself: by children that
// try it, without a line of agent/sandbox. Tests skip by these answers and no other, so that an
// agent that wrongly says "not here" fails them.
#pragma once

#include <string>

namespace fettle::test {

// Each: "" or why it is not so here.
std::string why_no_call_filter();   // seccomp-bpf, for all threads at once
std::string why_no_memory_limit();  // RLIMIT_AS that is kept; none holds a sanitizer's memory
std::string why_no_landlock();
std::string why_no_mounts();  // in a namespace of its own, as root or as one's own user
// All that wire::Sandbox::Strict takes.
std::string why_not_strict();

}  // namespace fettle::test
