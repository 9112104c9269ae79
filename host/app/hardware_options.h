// --hardware key=value,…: corrections to what the board says of itself.
#pragma once

#include <string>

#include "host/backend/hardware.h"
#include "host/space/target.h"
#include "schemas/device_generated.h"
#include "schemas/wire/result.h"

namespace fettle::app {

// Keys of any back end: which of them the device's own knows shows when it is there.
// InvalidArgument names the keys that there are.
Result<backend::Hardware> parse_hardware(const std::string& text);
// The target of that device with the corrections applied. InvalidArgument: a key that its back end
// does not have, or a value that the device cannot have.
Result<space::Target> target_of(const wire::DeviceInfoT& device, const backend::Hardware& hardware);

std::string hardware_help();

}  // namespace fettle::app
