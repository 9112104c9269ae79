// Kinds of devices (device_kind.h).
#include "host/fleet/device_kind.h"

#include "schemas/wire/content_hash.h"

namespace fettle::fleet {

std::string kind_of(const wire::DeviceInfoT& device) {
  std::string text = std::to_string(static_cast<int>(device.kind)) + '\n' + device.name;
  if (device.cpu) {
    text += '\n' + device.cpu->arch + '\n' + std::to_string(device.cpu->cores.size());
  }
  if (device.gpu) {
    text +=
        '\n' + device.gpu->compute_capability + '\n' + std::to_string(device.gpu->compute_units);
  }
  if (device.fpga) text += '\n' + device.fpga->part + '\n' + device.fpga->configuration;
  return to_hex(
      content_hash(ByteView(reinterpret_cast<const std::uint8_t*>(text.data()), text.size())));
}

std::string kind_text(const wire::DeviceInfoT& device) {
  return device.cpu ? device.name + ", cores: " + std::to_string(device.cpu->cores.size())
                    : device.name;
}

}  // namespace fettle::fleet
