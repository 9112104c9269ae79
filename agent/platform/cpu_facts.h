// What the CPU is: architecture, LLVM's name and features of the core, caches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/platform/system_root.h"
#include "schemas/device_generated.h"

namespace fettle::agent {

// What this agent was compiled for, as LLVM writes it.
const char* agent_triple();

// Facts of the given cores (not empty; the first speaks for all: a device never
// mixes big and LITTLE). `cpu` is LLVM's name of the core when the user knows
// better than the system does, else "". qemu-user's AT_HWCAP names features that
// a Cortex-A9 lacks, so on ARMv7 a feature counts only if the core is known to have it.
wire::CpuFactsT read_cpu_facts(const SystemRoot& root, const std::vector<std::uint32_t>& cores,
                               const std::string& cpu);

// LLVM's name from the implementer and part of a MIDR; "" when unknown.
std::string arm_core_name(std::uint64_t midr);
// Whether two MIDRs are of one core: implementer and part are the same.
bool same_core(std::uint64_t midr, std::uint64_t other);
// The core's MIDR as far as the system tells it, at least implementer and part; 0: unknown.
std::uint64_t core_midr(const SystemRoot& root, std::uint32_t core);
// LLVM's name of that core by its MIDR; "" when unknown (always on x86).
std::string core_name(const SystemRoot& root, std::uint32_t core);
// LLVM's features of an ARMv7-A core; VFPv4 (fused multiply-add) only where certain.
std::vector<std::string> armv7_features(const std::string& core);
// "Cortex-A72 x2" or the model name of /proc/cpuinfo: for people.
std::string device_name(const SystemRoot& root, const wire::CpuFactsT& facts);
// True when this is surely qemu-user: the kernel's view of the CPU is another architecture's.
bool looks_emulated(const SystemRoot& root);

std::vector<std::uint32_t> usable_cores();  // of this process' affinity mask
std::uint64_t physical_memory_bytes();

}  // namespace fettle::agent
