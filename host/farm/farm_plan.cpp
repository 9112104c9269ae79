// FarmPlan (farm_plan.h).
#include "host/farm/farm_plan.h"

#include <algorithm>

namespace fettle::farm {
namespace {

using std::chrono::seconds;

constexpr seconds kSteady{60};  // so long without a loss or a pause, and all is forgotten

seconds pause_after(unsigned losses) {
  if (losses < 2) return seconds(0);
  const unsigned doublings = std::min(losses - 2, 10u);
  return std::min(FarmPlan::kFirstPause * (1 << doublings), FarmPlan::kLongestPause);
}

// Those that wait before those that run, the newest first.
std::vector<std::string> last_of(const std::vector<Worker>& workers, std::size_t count) {
  std::vector<std::string> ids;
  for (const bool runs : {false, true}) {
    for (auto at = workers.rbegin(); at != workers.rend() && ids.size() < count; ++at)
      if (at->runs == runs) ids.push_back(at->id);
  }
  return ids;
}

}  // namespace

unsigned FarmPlan::goal(std::uint32_t wanted) const {
  const std::uint32_t workers = wanted / limits_.builders + (wanted % limits_.builders != 0);
  return std::clamp(workers, limits_.least, limits_.most);
}

unsigned FarmPlan::lost_of(const std::vector<Worker>& workers, TimePoint now) {
  std::set<std::string> alive;
  for (const Worker& worker : workers) alive.insert(worker.id);
  const auto lost = static_cast<unsigned>(std::count_if(
      known_.begin(), known_.end(), [&](const std::string& id) { return !alive.contains(id); }));
  known_ = std::move(alive);
  if (lost > 0) {
    hold_until_ = now + pause_after(++losses_);
  } else if (now - hold_until_ >= kSteady) {
    losses_ = 0;
  }
  return lost;
}

// Over the last shrink_after; what is not known of that time is as if all had been wanted.
unsigned FarmPlan::most_wanted(unsigned goal, TimePoint now) {
  if (!std::exchange(looked_, true)) first_look_ = now;
  goals_.emplace_back(now, goal);
  while (now - goals_.front().first > limits_.shrink_after) goals_.pop_front();
  if (now - first_look_ < limits_.shrink_after) return limits_.most;
  return std::max_element(goals_.begin(), goals_.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->second;
}

Change FarmPlan::next(std::uint32_t wanted, const std::vector<Worker>& workers, TimePoint now) {
  Change change;
  change.lost = lost_of(workers, now);
  const unsigned more = goal(wanted), less = most_wanted(more, now);
  if (workers.size() < more) {
    if (now >= hold_until_) {
      change.start = more - static_cast<unsigned>(workers.size());
    } else {
      change.held_back = std::chrono::ceil<seconds>(hold_until_ - now);
    }
  } else if (workers.size() > less) {
    change.stop = last_of(workers, workers.size() - less);
  }
  return change;
}

void FarmPlan::stopped(const std::vector<std::string>& ids) {
  for (const std::string& id : ids) known_.erase(id);
}

}  // namespace fettle::farm
