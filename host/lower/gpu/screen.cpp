// Screen (screen.h).
#include "host/lower/gpu/screen.h"

#include <algorithm>
#include <cmath>

#include "host/lower/gpu/features.h"

namespace fettle::lower {

namespace {

constexpr double kMostCode = 1 << 13;  // unrolled statements
constexpr double kFewestBusy = 0.125;  // of the compute units, where there is much work
constexpr double kMuchWork = 1 << 14;  // operations of a thread

}  // namespace

const char* gpu_screen(std::span<const float> features, const space::GpuTarget& target) {
  static const std::size_t code = gpu_feature_index("log_code"),
                           threads = gpu_feature_index("log_threads"),
                           shared = gpu_feature_index("shared_share"),
                           registers = gpu_feature_index("register_share"),
                           busy = gpu_feature_index("busy_units"),
                           warps = gpu_feature_index("warps"),
                           work = gpu_feature_index("log_operations_per_thread"),
                           scratch = gpu_feature_index("log_scratch_bytes");
  if (features.size() <= std::max({code, threads, shared, registers, busy, warps, work, scratch})) {
    return nullptr;
  }
  if (features[threads] > std::log2(1 + double(target.threads_per_block)) + 1e-3) {
    return "its blocks have too many threads";
  }
  if (features[shared] > 1) return "its blocks share too much memory";
  if (features[registers] > 1) return "its threads need more registers than there are";
  if (features[code] > std::log2(kMostCode)) return "unrolling makes too much code";
  const bool much = features[work] > std::log2(kMuchWork);
  if (much && features[warps] >= 4) return "most threads of its warps do nothing";
  if (much && features[busy] < kFewestBusy) return "most of the device has nothing to do";
  if (target.memory_bytes > 0 && features[scratch] > std::log2(double(target.memory_bytes))) {
    return "its scratch does not fit the memory";
  }
  return nullptr;
}

}  // namespace fettle::lower
