// OpenCL programs in this process (opencl_run.h).
#include "tests/support/opencl_run.h"

#include "agent/device/opencl/opencl_device.h"
#include "agent/device/opencl/opencl_row.h"

namespace fettle::testing {

Result<OpenClRun> OpenClRun::open(const std::string& library) {
  agent::DeviceConfig config;
  config.key = "opencl", config.kind = wire::DeviceKind::OpenCl;
  if (!library.empty()) config.settings[agent::kOpenClLibrary] = library;
  auto device = agent::open_opencl(agent::describe_opencl(config, agent::SystemRoot()));
  if (!device) return std::move(device).error();
  return OpenClRun(std::move(*device));
}

Result<std::vector<Bytes>> OpenClRun::run(const wire::ProgramT& program) {
  const BlobLookup no_blobs = [](const wire::Hash&) { return ByteView(); };
  agent::PrepareOptions options;
  options.threads = 1;
  if (auto ready = device_->prepare(program, options, no_blobs); !ready) {
    return std::move(ready).error();
  }
  if (auto sample = device_->run(1, false); !sample) return std::move(sample).error();
  std::vector<Bytes> all;
  for (std::uint32_t i = 0; i < program.buffers.size(); ++i) {
    const auto bytes = device_->read(i);
    if (!bytes) return bytes.error();
    all.emplace_back(bytes->begin(), bytes->end());
  }
  if (auto clean = device_->check_surroundings(); !clean) return std::move(clean).error();
  device_->reset();
  return all;
}

}  // namespace fettle::testing
