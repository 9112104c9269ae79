// Attributes of a device (cuda_facts.h).
#include "agent/device/cuda/cuda_facts.h"

#include <fstream>

namespace fettle::agent {
namespace {

// "580.65.06" where the driver is NVIDIA's module for desktops and servers; "" on a Jetson,
// whose driver is the kernel's.
std::string kernel_module_version() {
  std::ifstream file("/sys/module/nvidia/version");
  std::string line;
  std::getline(file, line);
  return line;
}

std::string interface_version(int number) {
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

}  // namespace

Result<void> read_cuda_facts(const runtime::CudaDriver& driver, CUdevice device,
                             wire::DeviceInfoT& info) {
  Result<void> failed;
  // 0 where this driver does not know the attribute: newer ones have more.
  const auto ask = [&](CUdevice_attribute attribute, bool needed = true) -> std::uint32_t {
    int value = 0;
    const CUresult result = driver.call().device_attribute(&value, attribute, device);
    if (result != CUDA_SUCCESS && needed && failed) {
      failed = driver.error(result, "cuDeviceGetAttribute");
    }
    return result == CUDA_SUCCESS && value > 0 ? static_cast<std::uint32_t>(value) : 0;
  };
  char name[256] = {};
  if (auto told =
          driver.check(driver.call().device_name(name, sizeof name - 1, device), "cuDeviceGetName");
      !told) {
    return told;
  }
  std::size_t memory = 0;
  if (auto told = driver.check(driver.call().device_memory(&memory, device), "cuDeviceTotalMem");
      !told) {
    return told;
  }
  info.name = name;
  if (info.memory_limit_bytes == 0) info.memory_limit_bytes = memory / 2;
  info.gpu = std::make_unique<wire::GpuFactsT>();
  wire::GpuFactsT& gpu = *info.gpu;
  gpu.vendor = "NVIDIA";
  gpu.api_version = "CUDA " + interface_version(driver.version());
  gpu.driver_version = kernel_module_version();
  gpu.driver_api = static_cast<std::uint32_t>(driver.version());
  gpu.compute_capability = std::to_string(ask(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)) + "." +
                           std::to_string(ask(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  gpu.compute_units = ask(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  gpu.max_threads_per_block = ask(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  gpu.max_block = {ask(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X),
                   ask(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y),
                   ask(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)};
  gpu.max_grid = {ask(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X), ask(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y),
                  ask(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)};
  gpu.shared_bytes_per_block = ask(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  gpu.shared_bytes_per_block_optin =
      std::max<std::uint64_t>(ask(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, false),
                              gpu.shared_bytes_per_block);
  gpu.shared_bytes_per_unit = ask(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, false);
  gpu.registers_per_block = ask(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
  gpu.registers_per_unit = ask(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, false);
  gpu.max_threads_per_unit = ask(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, false);
  gpu.warp_size = ask(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  gpu.global_memory_bytes = memory;
  gpu.l2_bytes = ask(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, false);
  gpu.clock_khz = ask(CU_DEVICE_ATTRIBUTE_CLOCK_RATE, false);
  gpu.memory_clock_khz = ask(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, false);
  gpu.memory_bus_bits = ask(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, false);
  gpu.integrated = ask(CU_DEVICE_ATTRIBUTE_INTEGRATED, false) != 0;
  return failed;
}

runtime::CudaLimits cuda_limits(const wire::GpuFactsT& facts) {
  runtime::CudaLimits out{};
  for (std::size_t i = 0; i < 3; ++i) {
    out.max_block[i] = facts.max_block[i];
    out.max_grid[i] = facts.max_grid[i];
  }
  out.threads_per_block = facts.max_threads_per_block;
  out.shared_bytes = static_cast<std::uint32_t>(facts.shared_bytes_per_block_optin);
  out.shared_bytes_unasked = static_cast<std::uint32_t>(facts.shared_bytes_per_block);
  return out;
}

}  // namespace fettle::agent
