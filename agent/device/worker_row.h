// What a worker process does for one kind of device.
#pragma once

#include <memory>

#include "agent/device/device.h"
#include "agent/sandbox/sandbox.h"

namespace fettle::agent {

struct WorkerRow {
  wire::DeviceKind kind;
  // Opens the device and completes what the supervisor said of it; called before the
  // sandbox closes.
  Result<std::unique_ptr<Device>> (*open)(const wire::DeviceInfoT&);
  // What a worker may, beyond what it has mapped when the device is open. Null where none can be.
  SandboxPolicy (*sandbox)(const wire::DeviceInfoT&);
};

}  // namespace fettle::agent
