// An accelerator that is open as a device, whoever plays its core.
#pragma once

#include "agent/device/device.h"
#include "runtime/vta/accelerator.h"

namespace fettle::agent {

std::unique_ptr<Device> make_accelerator_device(wire::DeviceInfoT info,
                                                std::unique_ptr<runtime::Accelerator> accelerator);

}  // namespace fettle::agent
