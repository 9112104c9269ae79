// The supervisor's half of CUDA devices (cuda_row.h).
#include "agent/device/cuda/cuda_row.h"

namespace fettle::agent {
namespace {

Result<void> set_library(DeviceConfig& device, const std::string& value) {
  if (value.empty()) return wrong_option(kCudaLibrary, "takes names or paths, with commas between");
  device.settings[kCudaLibrary] = value;
  return {};
}

Result<void> set_ordinal(DeviceConfig& device, const std::string& value) {
  std::uint64_t ordinal;
  if (!parse_number(value, 255, ordinal)) {
    return wrong_option(kCudaDevice, "takes a number from 0, not '" + value + "'");
  }
  device.settings[kCudaDevice] = value;
  return {};
}

}  // namespace

wire::DeviceInfoT describe_cuda(const DeviceConfig& config, const SystemRoot&) {
  wire::DeviceInfoT info;
  info.key = config.key;
  info.index = config.index;
  info.kind = wire::DeviceKind::Cuda;
  info.name = "CUDA GPU";
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

// One thread stores 1.0f. PTX of the oldest version and GPU that any driver in question takes.
SelfTestProgram cuda_self_test() {
  static constexpr char text[] = R"(.version 6.0
.target sm_50
.address_size 64
.visible .entry store_one(.param .u64 out)
{
  .reg .b64 %a<3>;
  ld.param.u64 %a1, [out];
  cvta.to.global.u64 %a2, %a1;
  st.global.f32 [%a2], 0f3F800000;
  ret;
}
)";
  SelfTestProgram out;
  out.answer = {1.0f};
  auto image = std::make_unique<wire::ImageT>();
  image->kind = wire::ImageKind::Ptx;
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

std::span<const DeviceOption> cuda_options() {
  static constexpr DeviceOption options[] = {
      {kCudaDevice, "N", "which GPU, as the driver counts (default: 0)", set_ordinal},
      {kCudaLibrary, "NAMES", "the driver's library, the first that loads (default: libcuda.so.1)",
       set_library},
  };
  return options;
}

}  // namespace fettle::agent
