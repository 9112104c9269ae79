// Kinds of devices: what is made for one may be tried on all others of its kind, and takes about as
// long there.
#pragma once

#include <string>

#include "schemas/device_generated.h"

namespace fettle::fleet {

// The same for two devices where both have one name and configuration (FPGAs), instruction set and
// number of cores (CPUs), compute capability and number of compute units (GPUs). Not what an
// agent's next version or a driver's may tell of the same device otherwise, such as features. 64
// digits; to be compared, not read.
std::string kind_of(const wire::DeviceInfoT& device);

// For people: "ARMv7 Processor rev 0 (v7l), cores: 2".
std::string kind_text(const wire::DeviceInfoT& device);

}  // namespace fettle::fleet
