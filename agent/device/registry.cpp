// The table of device kinds (registry.h).
#include "agent/device/registry.h"

#include "agent/device/cpu/cpu_device.h"
#include "agent/device/null/null_device.h"

namespace fettle::agent {

std::span<const DeviceRow> device_rows() {
  static constexpr DeviceRow rows[] = {
      {wire::DeviceKind::Cpu, "cpu", describe_cpu, open_cpu},
      {wire::DeviceKind::Null, "null", describe_null, open_null},
  };
  return rows;
}

const DeviceRow* find_device_row(wire::DeviceKind kind) {
  for (const DeviceRow& row : device_rows()) {
    if (row.kind == kind) return &row;
  }
  return nullptr;
}

}  // namespace fettle::agent
