// Screen (screen.h).
#include "host/lower/cpu/screen.h"

#include <algorithm>
#include <cmath>

#include "host/lower/cpu/features.h"

namespace fettle::lower {

namespace {

constexpr double kMostRegisters = 2;     // of the file: every second operand would be spilled
constexpr double kMostCode = 1 << 15;    // unrolled statements
constexpr double kMostTasks = 1 << 20;   // each costs a call
constexpr double kLeastOperations = 16;  // of a task, where there are many

}  // namespace

const char* screen(std::span<const float> features, const space::CpuTarget& target) {
  static const std::size_t file = feature_index("register_file_share"),
                           code = feature_index("log_code"), tasks = feature_index("log_tasks"),
                           scratch = feature_index("log_scratch_bytes"),
                           work = feature_index("log_operations_per_task");
  if (features.size() <= std::max({file, code, tasks, scratch, work})) return nullptr;
  if (features[file] > kMostRegisters) return "its tile needs far more registers than there are";
  if (features[code] > std::log2(kMostCode)) return "unrolling makes too much code";
  if (features[tasks] > std::log2(kMostTasks) ||
      (features[tasks] > 10 && features[work] < std::log2(kLeastOperations))) {
    return "its parallel tasks are too small";
  }
  if (target.memory_bytes > 0 && features[scratch] > std::log2(double(target.memory_bytes))) {
    return "its scratch does not fit the memory";
  }
  return nullptr;
}

}  // namespace fettle::lower
