// The VTA device (vta_device.h).
#include "agent/device/vta/vta_device.h"

#include <unistd.h>

#include "agent/device/offload_device.h"
#include "agent/device/vta/accelerator_device.h"
#include "agent/device/vta/board_accelerator.h"
#include "agent/device/vta/vta_core.h"

namespace fettle::agent {
namespace {

// As much contiguous memory as a PYNQ's kernel keeps.
constexpr std::uint64_t kUsualMemoryBytes = std::uint64_t{128} << 20;

std::string setting(const DeviceConfig& config, const char* name, const std::string& otherwise) {
  const auto at = config.settings.find(name);
  return at == config.settings.end() ? otherwise : at->second;
}

const VtaCore& core_of(const DeviceConfig& config) {
  // What a board has beside its cores is no program.
  return *find_vta_core(
      setting(config, kVtaCore, config.beside ? kBoardCore : vta_cores().front().name));
}

vta::Design design_of(const DeviceConfig& config) {
  return *vta::find_design(setting(config, kVtaDesign, vta::designs().front().name));
}

std::uint64_t memory_bytes(const DeviceConfig& config) {
  return config.memory_limit_bytes ? config.memory_limit_bytes : kUsualMemoryBytes;
}

bool is_on_board(const DeviceConfig& config) {
  return config.kind == wire::DeviceKind::Vta && !core_of(config).open;
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
  info.memory_limit_bytes = memory_bytes(config);
  info.fpga = std::make_unique<wire::FpgaFactsT>();
  info.fpga->part = design.die;
  info.fpga->configuration = vta::configuration_of(design);
  info.fpga->clock_khz = clock_khz;
  return info;
}

wire::DeviceInfoT describe_vta(const DeviceConfig& config, const SystemRoot&) {
  const vta::Design design = design_of(config);
  const VtaCore& core = core_of(config);
  wire::DeviceInfoT info = describe_design(config, design, core.words, design.clock_khz);
  info.clock = clock_of(core, design);
  if (info.clock == wire::ClockDomain::Nanoseconds) info.clock_hz = 1e9;
  info.emulated = config.emulated || core.emulated;
  const std::pair<const char*, std::string> told[] = {
      {kVtaDesign, design.name},
      {kVtaCore, core.name},
      {kVtaHelper, setting(config, kVtaHelper, "")}};
  for (const auto& [name, value] : told) {
    if (value.empty()) continue;
    info.extra.push_back(std::make_unique<wire::NamedValueT>());
    info.extra.back()->name = name;
    info.extra.back()->value = value;
  }
  return info;
}

// What the helper drives, and which bitstream it has loaded.
static Result<std::unique_ptr<Device>> open_board(wire::DeviceInfoT info,
                                                  const vta::Design& design) {
  auto opened = FpgaAccelerator::open(design, extra_of(info, kVtaHelper, ""), info.key);
  if (!opened) return std::move(opened).error();
  info.fpga->bitstream = std::make_unique<wire::Hash>((*opened)->bitstream());
  info.memory_limit_bytes = (*opened)->memory().bytes.size();
  return make_accelerator_device(std::move(info), std::move(*opened));
}

Result<std::unique_ptr<Device>> open_vta(const wire::DeviceInfoT& info) {
  auto design = vta::find_design(extra_of(info, kVtaDesign, ""));
  if (!design) return std::move(design).error();
  const std::string name = extra_of(info, kVtaCore, "");
  const VtaCore* core = find_vta_core(name);
  if (!core) return Error{ErrorCode::NotFound, "no VTA core '" + name + "' in this agent"};
  if (!core->open) return open_board(info, *design);
  auto opened = core->open(*design, info.memory_limit_bytes);
  if (!opened) return std::move(opened).error();
  return make_accelerator_device(info, std::move(*opened));
}

std::vector<HelperDevice> helper_devices(const std::vector<DeviceConfig>& devices) {
  std::vector<HelperDevice> out;
  for (const DeviceConfig& device : devices) {
    if (!is_on_board(device)) continue;
    vta::Design design = design_of(device);
    std::string file =
        setting(device, kVtaBitstream, "/lib/firmware/fettle/" + design.name + ".bit");
    out.push_back(
        {device.key, {std::move(design), std::move(file)}, memory_bytes(device), device.emulated});
  }
  return out;
}

Result<void> find_fpga_helper(std::vector<DeviceConfig>& devices, const SystemRoot& root) {
  std::vector<HelperDevice> mine = helper_devices(devices);
  if (mine.empty()) return {};
  std::string address = root.path(kFpgaHelperSocket);
  if (::access(address.c_str(), F_OK) != 0) {
    auto forked = fork_fpga_helper(root, std::move(mine));
    if (!forked) return std::move(forked).error();
    address = *forked;
  }
  for (DeviceConfig& device : devices) {
    if (is_on_board(device)) device.settings[kVtaHelper] = address;
  }
  return {};
}

// The accelerator's memory is mapped already: what the longest stream takes, decoded by verifier
// and simulator. A stream is data: what is mapped while it runs is the simulator's. Of one on a
// board the worker has memory and a socket to the FPGA helper; no registers, and no file.
SandboxPolicy vta_sandbox(const wire::DeviceInfoT&) {
  return {.extra_memory_bytes = std::uint64_t{512} << 20, .runs_candidates_code = false};
}

}  // namespace fettle::agent
