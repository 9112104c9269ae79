// GpuLanguage: what tells the back ends of GPUs apart. Tasks (gpu_task.h), ceilings
// (gpu_calibration.h) and the row itself (gpu_backend.h) are the same for all.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "host/backend/hardware.h"
#include "host/backend/kernel_task.h"
#include "host/backend/local_device.h"
#include "host/ir/module.h"
#include "host/space/gpu_target.h"
#include "schemas/device_generated.h"
#include "schemas/program_generated.h"
#include "schemas/wire/result.h"

namespace fettle::backend {

struct GpuLanguage {
  const char* name;  // the back end's
  wire::DeviceKind kind;
  // As Backend's, before the user's corrections.
  Result<space::GpuTarget> (*target_for)(const wire::DeviceInfoT& device,
                                         const std::string& backend);
  // Each is a number of GpuTarget, by its own name.
  std::span<const HardwareKey> hardware_keys;
  // BuildError: it is refused before it reaches a device.
  Result<wire::ProgramT> (*make_program)(const ir::Module& module, const space::GpuTarget& target);
  // What `fettle explain` shows of the code: "--- PTX\n…".
  Result<std::string> (*explain)(const ir::Module& module, const space::GpuTarget& target);
  // As Backend's; both are targets of this back end.
  bool (*teaches)(const space::GpuTarget& recorded, const space::GpuTarget& target);
  LocalDevice local;
  // Of kernels that users write. Null: not in that language.
  std::unique_ptr<const KernelCompiler> (*kernel_compiler)(space::KernelLanguage language,
                                                           const space::GpuTarget& target);
};

}  // namespace fettle::backend
