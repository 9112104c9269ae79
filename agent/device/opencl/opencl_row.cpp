// The supervisor's half of OpenCL devices (opencl_row.h).
#include "agent/device/opencl/opencl_row.h"

namespace fettle::agent {
namespace {

Result<void> set_library(DeviceConfig& device, const std::string& value) {
  if (value.empty()) {
    return wrong_option(kOpenClLibrary, "takes names or paths, with commas between");
  }
  device.settings[kOpenClLibrary] = value;
  return {};
}

Result<void> set_device(DeviceConfig& device, const std::string& value) {
  std::uint64_t ordinal;
  if (!parse_number(value, 255, ordinal)) {
    return wrong_option(kOpenClDevice, "takes a number from 0, not '" + value + "'");
  }
  device.settings[kOpenClDevice] = value;
  return {};
}

}  // namespace

wire::DeviceInfoT describe_opencl(const DeviceConfig& config, const SystemRoot&) {
  wire::DeviceInfoT info;
  info.key = config.key;
  info.index = config.index;
  info.kind = wire::DeviceKind::OpenCl;
  info.name = "OpenCL device";
  info.clock = wire::ClockDomain::Nanoseconds;
  info.clock_hz = 1e9;
  info.profile = config.profile;
  info.aliases = config.aliases;
  info.emulated = config.emulated;
  info.memory_limit_bytes = config.memory_limit_bytes;
  for (const auto& [name, value] : config.settings) {
    info.extra.push_back(std::make_unique<wire::NamedValueT>());
    info.extra.back()->name = name;
    info.extra.back()->value = value;
  }
  return info;
}

// One thread stores 1.0f.
SelfTestProgram opencl_self_test() {
  static constexpr char text[] =
      "__kernel void store_one(__global float* out) { out[0] = 1.0f; }\n";
  SelfTestProgram out;
  out.answer = {1.0f};
  auto image = std::make_unique<wire::ImageT>();
  image->kind = wire::ImageKind::OpenClSource;
  image->bytes.assign(std::begin(text), std::end(text) - 1);
  image->entries.push_back(std::make_unique<wire::EntryPointT>());
  image->entries[0]->name = "store_one";
  out.program.images.push_back(std::move(image));
  auto buffer = std::make_unique<wire::BufferT>();
  buffer->name = "out";
  buffer->bytes = 4;
  buffer->role = wire::BufferRole::Output;
  out.program.buffers.push_back(std::move(buffer));
  auto launch = std::make_unique<wire::LaunchT>();
  launch->args.push_back(wire::Arg(wire::ArgKind::Buffer, 0, 0, 0, 0));
  launch->grid = std::make_unique<wire::Dim3>(1, 1, 1);
  launch->block = std::make_unique<wire::Dim3>(1, 1, 1);
  out.program.launches.push_back(std::move(launch));
  return out;
}

std::span<const DeviceOption> opencl_options() {
  static constexpr DeviceOption options[] = {
      {kOpenClDevice, "N", "which device, counted over all platforms (default: the first GPU)",
       set_device},
      {kOpenClLibrary, "NAMES",
       "the library, the first that loads (default: libOpenCL.so.1,libOpenCL.so,libmali.so)",
       set_library},
  };
  return options;
}

}  // namespace fettle::agent
