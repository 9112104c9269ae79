// Medians and shares (check_verdict.h).
#include "host/app/check_verdict.h"

#include <algorithm>

#include <fmt/format.h>

#include "schemas/wire/median.h"

namespace fettle::app {
namespace {

std::string apart_text(double ratio, const char* from) {
  return fmt::format("{:.0f} % {} than {}", 100 * std::abs(ratio - 1),
                     ratio > 1 ? "slower" : "faster", from);
}

void judge_time(CheckedDevice& device, const std::vector<CheckedDevice>& all, double apart) {
  std::vector<double> others;
  for (const CheckedDevice& other : all) {
    const bool same = other.board_id == device.board_id && other.index == device.index;
    if (!same && other.time_of_a_board && other.ticks && other.key == device.key &&
        other.kernel_id == device.kernel_id) {
      others.push_back(*other.ticks);
    }
  }
  if (others.size() >= kSiblings) device.siblings = *device.ticks / median(others);
  std::vector<double> last = device.before;
  if (last.size() > kLastChecks) {
    last.erase(last.begin(), last.end() - static_cast<std::ptrdiff_t>(kLastChecks));
  }
  if (last.size() >= kSiblings) device.last = *device.ticks / median(last);
  if (device.siblings && std::abs(*device.siblings - 1) > apart) {
    device.verdict = apart_text(*device.siblings, "its siblings");
  } else if (device.last && *device.last - 1 > apart) {
    device.verdict = apart_text(*device.last, "in its last checks");
  }
  device.bad = !device.verdict.empty();
}

}  // namespace

void judge(std::vector<CheckedDevice>& devices, double apart) {
  for (CheckedDevice& device : devices) {
    device.verdict.clear();
    device.siblings.reset();
    device.last.reset();
    device.bad = !device.failure.empty();
    if (device.bad) {
      device.verdict = device.failure;
    } else if (!device.skipped.empty()) {
      device.verdict = device.skipped;
    } else if (device.time_of_a_board && device.ticks) {
      judge_time(device, devices, apart);
    }
    if (device.verdict.empty()) device.verdict = "ok";
  }
}

}  // namespace fettle::app
