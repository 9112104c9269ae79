// VTA as a device: streams of instructions, verified against the buffers where they lie before the
// accelerator sees them. There is no IOMMU behind it on a board.
#pragma once

#include "agent/device/device.h"
#include "agent/device/device_config.h"
#include "agent/device/device_option.h"
#include "agent/device/self_test_program.h"
#include "agent/fpga/fpga_helper.h"
#include "agent/platform/system_root.h"
#include "agent/sandbox/sandbox.h"
#include "fpga/config/design.h"

namespace fettle::agent {

// Names in DeviceInfo.extra and in DeviceConfig.settings of what the options said.
inline constexpr const char* kVtaDesign = "vta-design";
inline constexpr const char* kVtaCore = "vta-core";
inline constexpr const char* kVtaBitstream = "vta-bitstream";
inline constexpr const char* kVtaHelper = "vta-helper";  // where the FPGA helper listens

// What every device of a design says of itself, whoever plays its core: "VTA design pynq, WORDS".
wire::DeviceInfoT describe_design(const DeviceConfig& config, const vta::Design& design,
                                  const std::string& words, std::uint32_t clock_khz);

wire::DeviceInfoT describe_vta(const DeviceConfig& config, const SystemRoot& root);
// Maps the accelerator's memory, which for one on a board the FPGA helper hands over: call before
// the sandbox closes.
Result<std::unique_ptr<Device>> open_vta(const wire::DeviceInfoT& info);
SandboxPolicy vta_sandbox(const wire::DeviceInfoT& info);
// Loads inputs, weights and a micro-op, multiplies, stores.
SelfTestProgram vta_self_test(const wire::DeviceInfoT& info);
std::span<const DeviceOption> vta_options();

// The accelerators in programmable logic among `devices`, as the FPGA helper wants them.
std::vector<HelperDevice> helper_devices(const std::vector<DeviceConfig>& devices);
// Tells those devices where their helper listens: a service's, else one that is forked now with
// this process' rights. Call before there are threads, and before a device is described.
Result<void> find_fpga_helper(std::vector<DeviceConfig>& devices, const SystemRoot& root);

}  // namespace fettle::agent
