// Smaller plans that fail (simulation.h): halves of the faults first, then single ones, then peers
// and trials, until nothing more can go.
#include <algorithm>

#include "tests/simulation/simulation.h"

namespace fettle::fleet::simulation {
namespace {

constexpr std::uint32_t kMostTries = 400;

class Shrinker {
 public:
  Shrinker(const Plan& plan, const Options& options) : options_(options) {
    shrunk_.plan = plan;
    shrunk_.report = simulate(plan, options);
  }

  Shrunk shrink() {
    for (bool smaller = true; smaller && !shrunk_.report.broken.empty();) {
      smaller = drop_faults();
      smaller |= lower(&Plan::hostile_agents, 0) | lower(&Plan::hostile_clients, 0) |
                 lower(&Plan::clients, 1) | lower(&Plan::agents, 1) | lower(&Plan::trials, 1);
    }
    return shrunk_;
  }

 private:
  bool still_breaks(const Plan& plan) {
    if (shrunk_.tried >= kMostTries) return false;
    ++shrunk_.tried;
    Report report = simulate(plan, options_);
    if (report.broken.empty()) return false;
    shrunk_.plan = plan;
    shrunk_.report = std::move(report);
    return true;
  }

  bool drop_faults() {
    bool any = false;
    for (std::size_t size = (shrunk_.plan.faults.size() + 1) / 2; size > 0; size /= 2) {
      for (std::size_t at = 0; at < shrunk_.plan.faults.size();) {
        Plan plan = shrunk_.plan;
        const auto first = plan.faults.begin() + static_cast<std::ptrdiff_t>(at);
        plan.faults.erase(
            first, first + static_cast<std::ptrdiff_t>(std::min(size, plan.faults.size() - at)));
        if (still_breaks(plan))
          any = true;
        else
          at += size;
      }
    }
    return any;
  }

  bool lower(std::uint32_t Plan::* count, std::uint32_t least) {
    bool any = false;
    while (shrunk_.plan.*count > least) {
      Plan plan = shrunk_.plan;
      plan.*count = least + (plan.*count - least) / 2;
      if (!still_breaks(plan)) {
        plan.*count = shrunk_.plan.*count - 1;
        if (!still_breaks(plan)) break;
      }
      any = true;
    }
    return any;
  }

  Options options_;
  Shrunk shrunk_;
};

}  // namespace

Shrunk shrink(const Plan& plan, const Options& options) { return Shrinker(plan, options).shrink(); }

}  // namespace fettle::fleet::simulation
