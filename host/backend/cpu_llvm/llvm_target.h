// LLVM's target machine for a space::CpuTarget, and what each architecture adds to it.
#pragma once

#include <memory>
#include <string>

#include <llvm/Target/TargetMachine.h>

#include "host/space/cpu_target.h"
#include "schemas/wire/result.h"

namespace fettle::backend::cpu_llvm {

// "x86_64", "aarch64" or "armv7"; InvalidArgument names what is there otherwise.
Result<std::string> triple_of(const space::CpuTarget& target);

// LLVM's feature string. Where target.fma is false every fused multiply-add
// extension is switched off, so that no pattern can select one.
std::string features_of(const space::CpuTarget& target);

// InvalidArgument: LLVM does not know the architecture, the cpu or one of the features.
Result<std::unique_ptr<llvm::TargetMachine>> make_target_machine(const space::CpuTarget& target);

}  // namespace fettle::backend::cpu_llvm
