// One tuned kernel as files that a product takes, which need nothing of ours: of a CPU a C library;
// else its code as the device's driver takes it, and how to launch it, as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/space/target.h"
#include "host/space/workload.h"
#include "schemas/program_generated.h"
#include "schemas/wire/result.h"

namespace fettle::network {

struct KernelFile {
  std::string name;  // "conv.h"
  std::string what;  // "the header of conv"
  std::vector<std::uint8_t> bytes;
};

// `program`: as the target's back end built it from the workload. `name`: a C identifier.
// Unsupported: code in forms that no file is made of.
Result<std::vector<KernelFile>> kernel_files(const wire::ProgramT& program,
                                             const space::Workload& workload,
                                             const space::Target& target, const std::string& name);

}  // namespace fettle::network
