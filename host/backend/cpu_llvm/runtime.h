// The few functions that LLVM's code generators call behind our back.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "host/space/cpu_target.h"
#include "schemas/wire/result.h"

namespace fettle::backend::cpu_llvm {

// An object with memset, memcpy, memmove and, for ARMv7, the EABI's helpers
// (__aeabi_memcpy…, integer division). Made once per target and process;
// --gc-sections drops what an image does not call. Thread-safe.
Result<std::shared_ptr<const std::vector<std::uint8_t>>> runtime_object(
    const space::CpuTarget& target);

}  // namespace fettle::backend::cpu_llvm
