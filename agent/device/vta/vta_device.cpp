// The VTA device (vta_device.h).
#include "agent/device/vta/vta_device.h"

#include "agent/device/offload_device.h"
#include "agent/device/vta/accelerator_device.h"
#include "agent/device/vta/vta_core.h"

namespace fettle::agent {
namespace {

// As much contiguous memory as a PYNQ's kernel keeps.
constexpr std::uint64_t kUsualMemoryBytes = std::uint64_t{128} << 20;

std::string setting(const DeviceConfig& config, const char* name, const std::string& otherwise) {
  const auto at = config.settings.find(name);
  return at == config.settings.end() ? otherwise : at->second;
}

}  // namespace

wire::DeviceInfoT describe_design(const DeviceConfig& config, const vta::Design& design,
                                  const std::string& words, std::uint32_t clock_khz) {
  wire::DeviceInfoT info;
  info.key = config.key;
  info.index = config.index;
  info.kind = wire::DeviceKind::Vta;
  info.name = "VTA design " + design.name + ", " + words;
  info.clock = wire::ClockDomain::AcceleratorCycles;
  info.clock_hz = clock_khz * 1e3;
  info.profile = config.profile;
  info.aliases = config.aliases;
  info.emulated = config.emulated;
  info.memory_limit_bytes =
      config.memory_limit_bytes ? config.memory_limit_bytes : kUsualMemoryBytes;
  info.fpga = std::make_unique<wire::FpgaFactsT>();
  info.fpga->part = design.die;
  info.fpga->configuration = vta::configuration_of(design);
  info.fpga->clock_khz = clock_khz;
  return info;
}

wire::DeviceInfoT describe_vta(const DeviceConfig& config, const SystemRoot&) {
  const vta::Design design =
      *vta::find_design(setting(config, kVtaDesign, vta::designs().front().name));
  const VtaCore& core = *find_vta_core(setting(config, kVtaCore, vta_cores().front().name));
  wire::DeviceInfoT info = describe_design(config, design, core.words, design.clock_khz);
  info.emulated = config.emulated || core.emulated;
  const std::pair<const char*, std::string> told[] = {{kVtaDesign, design.name},
                                                      {kVtaCore, core.name}};
  for (const auto& [name, value] : told) {
    info.extra.push_back(std::make_unique<wire::NamedValueT>());
    info.extra.back()->name = name;
    info.extra.back()->value = value;
  }
  return info;
}

Result<std::unique_ptr<Device>> open_vta(const wire::DeviceInfoT& info) {
  auto design = vta::find_design(extra_of(info, kVtaDesign, ""));
  if (!design) return std::move(design).error();
  const std::string name = extra_of(info, kVtaCore, "");
  const VtaCore* core = find_vta_core(name);
  if (!core) return Error{ErrorCode::NotFound, "no VTA core '" + name + "' in this agent"};
  auto opened = core->open(*design, info.memory_limit_bytes);
  if (!opened) return std::move(opened).error();
  return make_accelerator_device(info, std::move(*opened));
}

// The accelerator's memory is mapped already: what the longest stream takes, decoded by verifier
// and simulator. A stream is data: what is mapped while it runs is the simulator's.
SandboxPolicy vta_sandbox(const wire::DeviceInfoT&) {
  return {.extra_memory_bytes = std::uint64_t{512} << 20, .runs_candidates_code = false};
}

}  // namespace fettle::agent
