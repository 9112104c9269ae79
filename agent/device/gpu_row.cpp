// Rows of GPUs (gpu_row.h).
#include "agent/device/gpu_row.h"

namespace fettle::agent {

wire::DeviceInfoT describe_gpu(const DeviceConfig& config, wire::DeviceKind kind,
                               const char* name) {
  wire::DeviceInfoT info;
  info.key = config.key;
  info.index = config.index;
  info.kind = kind;
  info.name = name;
  info.clock = wire::ClockDomain::Nanoseconds;
  info.clock_hz = 1e9;
  info.profile = config.profile;
  info.aliases = config.aliases;
  info.emulated = config.emulated;
  info.memory_limit_bytes = config.memory_limit_bytes;
  for (const auto& [setting, value] : config.settings) {
    info.extra.push_back(std::make_unique<wire::NamedValueT>());
    info.extra.back()->name = setting;
    info.extra.back()->value = value;
  }
  return info;
}

SelfTestProgram gpu_self_test(wire::ImageKind kind, const std::string& text) {
  SelfTestProgram out;
  out.answer = {1.0f};
  auto image = std::make_unique<wire::ImageT>();
  image->kind = kind;
  image->bytes.assign(text.begin(), text.end());
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

}  // namespace fettle::agent
