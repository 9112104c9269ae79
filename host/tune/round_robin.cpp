// Round robin: every task gets its turn; exhausted ones are passed over, those that
// an earlier session left behind catch up first. Weights
// play no part: early in a session nothing is known that could justify less than
// one turn each.
#include "host/tune/searcher.h"

namespace fettle::tune {
namespace {

class RoundRobin final : public TaskScheduler {
 public:
  std::optional<std::size_t> next(std::span<const TaskState> tasks) override {
    std::optional<std::size_t> least;
    for (std::size_t step = 0; step < tasks.size(); ++step) {
      const std::size_t task = (turn_ + step) % tasks.size();
      if (tasks[task].exhausted) continue;
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
