// Shares of trials (trial_shares.h).
#include "host/tune/trial_shares.h"

#include <algorithm>
#include <numeric>

namespace fettle::tune {
namespace {

constexpr std::uint32_t kOwed = 16;  // trials of each task, as far as there are so many

}  // namespace

std::vector<TaskState> states_by_shares(const std::vector<TaskState>& states,
                                        const std::vector<bool>& waits, std::uint32_t trials,
                                        std::uint32_t proposed) {
  const auto tasks = static_cast<std::uint32_t>(states.size());
  std::vector<std::uint32_t> owed(tasks);
  for (std::size_t i = 0; i < tasks; ++i) {
    const std::uint32_t share =
        waits[i] ? (trials + tasks - 1) / tasks : std::clamp(trials / tasks, 1u, kOwed);
    owed[i] = states[i].exhausted ? 0 : share - std::min(share, states[i].proposed);
  }
  const bool ahead =
      trials - proposed > std::accumulate(owed.begin(), owed.end(), std::uint32_t{0});
  std::vector<TaskState> seen = states;
  bool any = false;
  for (std::size_t i = 0; i < tasks; ++i) {
    seen[i].exhausted |= ahead ? waits[i] : owed[i] == 0;
    any |= !seen[i].exhausted;
  }
  return any ? seen : states;
}

}  // namespace fettle::tune
