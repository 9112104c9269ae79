// What --hardware corrects of a CPU.
#pragma once

#include <span>

#include "host/backend/hardware.h"
#include "host/space/cpu_target.h"
#include "schemas/device_generated.h"

namespace fettle::backend::cpu_llvm {

std::span<const HardwareKey> cpu_hardware_keys();

// As Backend::target_for. threads: all cores of the device unless corrected; InvalidArgument: more
// than it has.
Result<space::CpuTarget> cpu_target_for(const wire::DeviceInfoT& device,
                                        std::span<const HardwareValue> hardware);

}  // namespace fettle::backend::cpu_llvm
