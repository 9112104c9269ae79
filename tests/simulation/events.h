// What will happen in a simulation, in order of time; what is due at one time happens in the
// order in which it was asked for.
#pragma once

#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "host/fleet/peer.h"

namespace fettle::fleet::simulation {

class Events {
 public:
  using Action = std::function<void()>;
  TimePoint now() const { return now_; }
  void at(TimePoint when, Action action) {
    queue_.push({std::max(when, now_), next_++, std::move(action)});
  }
  void after(milliseconds time, Action action) { at(now_ + time, std::move(action)); }
  // False: there is nothing left to happen.
  bool step() {
    if (queue_.empty()) return false;
    Event event = std::move(const_cast<Event&>(queue_.top()));
    queue_.pop();
    now_ = event.when;
    event.action();
    return true;
  }

 private:
  struct Event {
    TimePoint when;
    std::uint64_t number;
    Action action;
    bool operator<(const Event& other) const {  // the top of the heap is the greatest
      return std::pair(other.when, other.number) < std::pair(when, number);
    }
  };
  std::priority_queue<Event> queue_;
  std::uint64_t next_ = 0;
  TimePoint now_ = TimePoint() + std::chrono::hours(1);
};

}  // namespace fettle::fleet::simulation
