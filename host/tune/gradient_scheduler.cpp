// Ansor's task scheduler: trials go where the tasks' times are expected to fall fastest.
// Expected is a mix of how the task improved of late and of how much it could at best:
// down by one part in its trials, or up to what tasks of its kind reach, which is
// believed less the longer it has been tried for in vain; but never below the least time
// that the board's roofline leaves it. A task that is there gets no more. A fall counts by
// its part of the task's own time and by the root of what the task takes of the whole:
// people look at each layer as well as at the sum. Light tasks would have little of it: every
// task gets a part of the mean share first, until it stands still.
#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <random>

#include "host/tune/roofline.h"
#include "host/tune/searcher.h"

namespace fettle::tune {
namespace {

constexpr std::uint32_t kWarmUp = 16;  // trials before a task's past says anything
constexpr std::uint32_t kWindow = 32;  // trials back to which an improvement is of late
constexpr double kPast = 0.2;          // weight of the past; the rest is the outlook
constexpr double kOptimism = 1.25;     // a task may come within this factor of its like
constexpr double kFaith = 4;           // how much longer that is tried than a task without like
constexpr double kStill = 1.02;        // within this factor of the best a task stood still
constexpr double kLeastShare = 0.75;   // of the mean of tasks not done: each has so many trials
constexpr double kWaited = 0.8;        // of that: below it also while it is not ready
constexpr double kSettled = 96;        // … unless it stood still for so many
constexpr double kDone = 1.03;         // a task within this factor of its least time is done
constexpr double kEpsilon = 0.05;      // of the choices: any task

class Gradient final : public TaskScheduler {
 public:
  explicit Gradient(std::uint64_t seed) : rng_(seed) {}

  std::optional<std::size_t> next(std::span<const TaskState> tasks) override {
    past_.resize(tasks.size());
    std::vector<std::size_t> live;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      note(tasks[i], past_[i]);
      if (!tasks[i].exhausted) live.push_back(i);
    }
    if (live.empty()) return std::nullopt;
    // Done ones give way even to those that have to be waited for.
    prefer(live, [&](std::size_t i) { return !done(tasks[i]) || tasks[i].proposed < kWarmUp; });
    const double least = least_share(tasks, live);
    // One that fell far behind its share is worth waiting for.
    const auto waited = below_share(tasks, live, kWaited * least);
    if (waited && tasks[*waited].proposed >= kWarmUp) return waited;
    prefer(live, [&](std::size_t i) { return tasks[i].ready; });
    // Behind the others, from the start or since an earlier session: first of all.
    const auto behind = *std::min_element(live.begin(), live.end(), [&](auto a, auto b) {
      return tasks[a].proposed < tasks[b].proposed;
    });
    if (tasks[behind].proposed < kWarmUp) return behind;
    if (const auto neglected = below_share(tasks, live, least)) return neglected;
    if (std::uniform_real_distribution<double>(0, 1)(rng_) < kEpsilon) {
      return live[rng_() % live.size()];
    }
    std::size_t best = live.front();
    double most = -1;
    for (std::size_t i : live) {
      const double expected = gain(tasks, i);
      if (expected > most) most = expected, best = i;
    }
    return best;
  }

 private:
  struct Point {
    std::uint32_t finished;
    double best;
  };
  using Past = std::vector<Point>;  // each improvement

  // Leaves those of which `good` holds, if there are any.
  template <typename Predicate>
  static void prefer(std::vector<std::size_t>& tasks, Predicate good) {
    if (std::any_of(tasks.begin(), tasks.end(), good)) std::erase_if(tasks, std::not_fn(good));
  }

  static void note(const TaskState& task, Past& past) {
    if (task.best_nanoseconds <= 0) return;
    if (past.empty() || past.back().best > task.best_nanoseconds) {
      past.push_back({task.finished, task.best_nanoseconds});
    }
  }

  // Nanoseconds that no program of the task can beat; 0: none known, or proven wrong.
  static double least(const TaskState& task) {
    return task.least_nanoseconds <= kRooflineMargin * task.best_nanoseconds
               ? task.least_nanoseconds
               : 0;
  }
  static bool done(const TaskState& task) {
    return task.best_nanoseconds > 0 && task.best_nanoseconds <= kDone * least(task);
  }

  // Trials since the task came near to its best.
  static double in_vain(const TaskState& task, const Past& past) {
    auto since = past.end();
    while (since != past.begin() && std::prev(since)->best <= kStill * task.best_nanoseconds) {
      --since;
    }
    return since == past.end() ? 0 : double(task.finished) - since->finished;
  }

  // Trials that each of these should have: those that are done leave theirs to the others.
  static double least_share(std::span<const TaskState> tasks,
                            const std::vector<std::size_t>& live) {
    double sum = 0;
    for (std::size_t i : live) sum += tasks[i].proposed;
    return kLeastShare * sum / static_cast<double>(live.size());
  }

  // The one with the fewest trials of those that still move and have too few.
  std::optional<std::size_t> below_share(std::span<const TaskState> tasks,
                                         const std::vector<std::size_t>& live, double least) const {
    std::optional<std::size_t> fewest;
    for (std::size_t i : live) {
      if (tasks[i].proposed >= least || in_vain(tasks[i], past_[i]) >= kSettled) continue;
      if (!fewest || tasks[i].proposed < tasks[*fewest].proposed) fewest = i;
    }
    return fewest;
  }

  // What a trial of the task is expected to be worth.
  double gain(std::span<const TaskState> tasks, std::size_t i) const {
    const TaskState& task = tasks[i];
    if (task.best_nanoseconds <= 0) return 0;  // nothing but failures
    const std::uint32_t from = task.finished > kWindow ? task.finished - kWindow : 0;
    double then = past_[i].front().best;
    for (const Point& point : past_[i]) {
      if (point.finished <= from) then = point.best;
    }
    const double improved = (then - task.best_nanoseconds) / kWindow;
    double fastest = 0;  // operations per nanosecond of its kind
    for (const TaskState& other : tasks) {
      if (other.best_nanoseconds <= 0 || other.kind != task.kind) continue;
      fastest = std::max(fastest, other.operations / other.best_nanoseconds);
    }
    const double floor = done(task) ? 0 : least(task);  // done: so are all others
    double outlook = (task.best_nanoseconds - floor) / std::max(1u, task.proposed);
    if (fastest > 0) {
      const double possible = std::max(floor, kOptimism * task.operations / fastest);
      const double trials = std::max(double(kWindow), in_vain(task, past_[i]) / kFaith);
      outlook = std::max(outlook, (task.best_nanoseconds - possible) / trials);
    }
    const double part = (kPast * improved + (1 - kPast) * outlook) / task.best_nanoseconds;
    return part * std::sqrt(task.weight * task.best_nanoseconds);
  }

  std::mt19937_64 rng_;
  std::vector<Past> past_;
};

}  // namespace

std::unique_ptr<TaskScheduler> make_gradient(std::uint64_t seed) {
  return std::make_unique<Gradient>(seed);
}

Result<std::unique_ptr<TaskScheduler>> make_scheduler(const std::string& name, std::uint64_t seed) {
  if (name == "gradient") return make_gradient(seed);
  if (name == "round-robin") return make_round_robin();
  return Error{ErrorCode::NotFound,
               "there is no scheduler \"" + name + "\"; there are: gradient, round-robin"};
}

}  // namespace fettle::tune
