// Round robin: every task gets its turn; exhausted ones and, while others are ready, those
// that are not are passed over; those that
// an earlier session left behind catch up first. Weights
// play no part: early in a session nothing is known that could justify less than
// one turn each.
#include <algorithm>

#include "host/tune/searcher.h"

namespace fettle::tune {
namespace {

class RoundRobin final : public TaskScheduler {
 public:
  std::optional<std::size_t> next(std::span<const TaskState> tasks) override {
    std::optional<std::size_t> least;
    const bool any_ready = std::any_of(tasks.begin(), tasks.end(),
                                       [](const auto& t) { return t.ready && !t.exhausted; });
    for (std::size_t step = 0; step < tasks.size(); ++step) {
      const std::size_t task = (turn_ + step) % tasks.size();
      if (tasks[task].exhausted || (any_ready && !tasks[task].ready)) continue;
      if (!least || tasks[task].proposed < tasks[*least].proposed) least = task;
    }
    if (least) turn_ = *least + 1;
    return least;
  }

 private:
  std::size_t turn_ = 0;
};

}  // namespace

std::unique_ptr<TaskScheduler> make_round_robin() { return std::make_unique<RoundRobin>(); }

}  // namespace fettle::tune
