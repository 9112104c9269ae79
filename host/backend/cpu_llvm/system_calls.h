// Machine code that would call the operating system: no kernel of ours does.
#pragma once

#include "host/space/cpu_target.h"
#include "schemas/program_generated.h"
#include "schemas/wire/result.h"

namespace fettle::backend::cpu_llvm {

// BuildError names the first instruction by which the image's code would enter the system: syscall,
// sysenter, int, svc, hvc, smc. A board's sandbox holds such code; this refuses it before it gets
// there. What disassembles to something else is not looked at.
Result<void> check_no_system_calls(const wire::ImageT& image, const space::CpuTarget& target);

}  // namespace fettle::backend::cpu_llvm
