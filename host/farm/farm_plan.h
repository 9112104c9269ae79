// How many workers there should be: what is wanted and what there is go in, what to start and to
// stop comes out. No scheduler, no clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace fettle::farm {

using TimePoint = std::chrono::steady_clock::time_point;

struct FarmLimits {
  unsigned least = 0, most = 1;           // workers
  unsigned builders = 1;                  // compilers of one worker
  std::chrono::seconds shrink_after{60};  // so long nobody must have wanted a worker
};

struct Worker {
  std::string id;  // as the scheduler calls it
  bool runs = false;
};

struct Change {
  unsigned start = 0;
  std::vector<std::string> stop;
  unsigned lost = 0;                  // that nobody stopped, since the last look
  std::chrono::seconds held_back{0};  // until more are started, as too many were lost
};

class FarmPlan {
 public:
  // After a second look in a row at which workers were lost nothing is started for that long,
  // twice as long after each further one: a worker that cannot run is not tried again and again.
  static constexpr std::chrono::seconds kFirstPause{10}, kLongestPause{300};

  explicit FarmPlan(FarmLimits limits) : limits_(limits) {}

  // `wanted`: compilers that would keep no candidate waiting. `workers`: all there are, also those
  // of an earlier run, oldest first. Those that do not run yet are stopped first, then the newest.
  Change next(std::uint32_t wanted, const std::vector<Worker>& workers, TimePoint now);
  // What became of a Change. Without it the workers count as neither started nor stopped.
  void started(const std::vector<std::string>& ids) { known_.insert(ids.begin(), ids.end()); }
  void stopped(const std::vector<std::string>& ids);

 private:
  unsigned goal(std::uint32_t wanted) const;
  unsigned lost_of(const std::vector<Worker>& workers, TimePoint now);
  unsigned most_wanted(unsigned goal, TimePoint now);

  const FarmLimits limits_;
  std::set<std::string> known_;                       // alive at the last look, or started since
  std::deque<std::pair<TimePoint, unsigned>> goals_;  // of the last shrink_after
  unsigned losses_ = 0;                               // looks in a row at which some were lost
  TimePoint hold_until_;
  bool looked_ = false;
  TimePoint first_look_;
};

}  // namespace fettle::farm
