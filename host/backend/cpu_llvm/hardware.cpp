// What --hardware corrects of a CPU (hardware.h).
#include "host/backend/cpu_llvm/hardware.h"

#include <algorithm>

namespace fettle::backend::cpu_llvm {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;
constexpr HardwareKey kKeys[] = {
    {"threads", 1, 1024},
    {"vector_bits", 32, 2048},
    {"vector_registers", 4, 256},
    {"l1_bytes", 1024, kGiB},
    {"l2_bytes", 1024, kGiB},
    {"l3_bytes", 1024, kGiB},
    {"memory_bytes", 1 << 20, 1024 * kGiB},
};

void set_cache(space::CpuTarget& target, int level, std::int64_t bytes) {
  for (space::CacheLevel& cache : target.caches) {
    if (cache.level == level) {
      cache.bytes = bytes;
      return;
    }
  }
  target.caches.push_back({level, bytes, 64, 1});
  std::sort(target.caches.begin(), target.caches.end(),
            [](const auto& a, const auto& b) { return a.level < b.level; });
}

}  // namespace

std::span<const HardwareKey> cpu_hardware_keys() { return kKeys; }

Result<space::CpuTarget> cpu_target_for(const wire::DeviceInfoT& device,
                                        std::span<const HardwareValue> hardware) {
  // None: of a profile that is no board's, as of "any x86-64".
  const int cores = device.cpu ? static_cast<int>(device.cpu->cores.size()) : 0;
  const int threads = static_cast<int>(value_of(hardware, "threads").value_or(std::max(cores, 1)));
  if (cores > 0 && threads > cores) {
    return Error{ErrorCode::InvalidArgument, std::to_string(threads) + " threads: the device " +
                                                 device.key + " has " + std::to_string(cores) +
                                                 " core(s)"};
  }
  auto target = space::cpu_target_for(device, threads);
  if (!target) return target;
  if (const auto bits = value_of(hardware, "vector_bits")) {
    target->vector_bits = static_cast<int>(*bits);
  }
  if (const auto registers = value_of(hardware, "vector_registers")) {
    target->vector_registers = static_cast<int>(*registers);
  }
  for (const int level : {1, 2, 3}) {
    if (const auto bytes = value_of(hardware, "l" + std::to_string(level) + "_bytes")) {
      set_cache(*target, level, *bytes);
    }
  }
  if (const auto bytes = value_of(hardware, "memory_bytes")) target->memory_bytes = *bytes;
  return target;
}

}  // namespace fettle::backend::cpu_llvm
