// --hardware key=value,…: corrections to what the board says of itself.
#pragma once

#include <string>
#include <vector>

#include "host/space/target.h"

namespace fettle::app {

struct HardwareOptions {
  int threads = 0;                                          // 0: as many as the device has cores
  std::vector<std::pair<std::string, std::int64_t>> facts;  // the other keys, as given
};

// InvalidArgument names the keys that there are.
Result<HardwareOptions> parse_hardware(const std::string& text);
// The target of that device with the corrections applied. InvalidArgument: more
// threads than the device has cores.
Result<space::Target> target_of(const wire::DeviceInfoT& device, const HardwareOptions& options);

extern const char* const kHardwareHelp;

}  // namespace fettle::app
