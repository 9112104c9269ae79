// Whether a machine can run a network: the kind of its code, its architecture and instructions, its
// memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "agent/platform/system_root.h"
#include "schemas/device_generated.h"
#include "schemas/network_generated.h"
#include "schemas/wire/result.h"

namespace fettle::runtime {

// Unsupported: code of a kind that none of these devices runs; `but` says what they are.
Result<void> check_kinds(const wire::NetworkT& network, std::span<const wire::DeviceKind> devices,
                         const std::string& but);

// Unsupported: an image for another architecture than that of the CPU of which `facts` are, or
// instructions that it is known to lack, by name: of another architecture's than this machine's
// nothing is known.
Result<void> check_cpu(const wire::NetworkT& network, const wire::CpuFactsT& facts);

// What this process may still take, in bytes: of the system's memory, its own limits and those of
// its control group and of the groups around it.
std::uint64_t free_memory_bytes(const agent::SystemRoot& system = agent::SystemRoot());
// OutOfMemory with both numbers, in MiB.
Result<void> check_memory(std::uint64_t needed_bytes, std::uint64_t free_bytes);

}  // namespace fettle::runtime
