// The table of device kinds (registry.h).
#include "agent/device/registry.h"

#include "agent/device/cpu/cpu_device.h"
#include "agent/device/cuda/cuda_row.h"
#include "agent/device/null/null_device.h"
#include "agent/device/opencl/opencl_row.h"
#include "agent/device/vta/vta_device.h"
#include "agent/device/xrt/xrt_row.h"

namespace fettle::agent {

namespace {

std::vector<DeviceRow>& rows() {
  static std::vector<DeviceRow> rows = {
      {wire::DeviceKind::Cpu, "cpu", describe_cpu,
       WorkerRow{wire::DeviceKind::Cpu, open_cpu, cpu_sandbox}, cpu_self_test, cpu_options()},
      {wire::DeviceKind::Cuda, "cuda", describe_cuda, WorkerProgram::Gpu, cuda_self_test,
       cuda_options()},
      {wire::DeviceKind::OpenCl, "opencl", describe_opencl, WorkerProgram::Gpu, opencl_self_test,
       opencl_options()},
      {wire::DeviceKind::Vta, "vta", describe_vta,
       WorkerRow{wire::DeviceKind::Vta, open_vta, vta_sandbox}, vta_self_test, vta_options()},
      {wire::DeviceKind::Xrt, "xrt", describe_xrt, WorkerProgram::Gpu, xrt_self_test,
       xrt_options()},
      {wire::DeviceKind::Null,
       "null",
       describe_null,
       WorkerRow{wire::DeviceKind::Null, open_null, null_sandbox},
       null_self_test,
       {}},
  };
  return rows;
}

}  // namespace

std::span<const DeviceRow> device_rows() { return rows(); }

void add_device_row(const DeviceRow& row) {
  for (DeviceRow& own : rows()) {
    if (own.kind == row.kind) {
      own = row;
      return;
    }
  }
  rows().push_back(row);
}

bool take_facts(wire::DeviceInfoT& described, const wire::DeviceInfoT& seen) {
  if (seen.key != described.key || seen.index != described.index || seen.kind != described.kind) {
    return false;
  }
  wire::DeviceInfoT facts = seen;
  facts.queue_depth = described.queue_depth;
  facts.emulated = described.emulated;
  facts.profile = described.profile;
  facts.aliases = described.aliases;
  described = std::move(facts);
  return true;
}

const DeviceRow* find_device_row(wire::DeviceKind kind) {
  for (const DeviceRow& row : device_rows()) {
    if (row.kind == kind) return &row;
  }
  return nullptr;
}

}  // namespace fettle::agent
