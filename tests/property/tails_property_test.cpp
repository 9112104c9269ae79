// Random workloads × random splits with random tails: overlapping, guarded, padded; stages
// computed in each other's loops; vectors. Interpreted before and after lowering beside the
// reference.
#include <gtest/gtest.h>

#include "host/ir/loads.h"
#include "host/ir/mutator.h"
#include "host/ir/printer.h"
#include "host/lower/cpu/lowering.h"
#include "host/space/rewrite.h"
#include "host/space/workload.h"
#include "tests/property/interpreted.h"
#include "tests/property/random_workload.h"

namespace fettle {
namespace {

using namespace space;

class RandomSchedule {
 public:
  RandomSchedule(const ComputeDag& dag, std::mt19937_64& rng) : schedule(dag), rng_(rng) {
    for (const Stage& stage : dag.stages) {
      if (!stage.placeholder()) split_some(stage);
    }
    for (auto stage = dag.stages.rbegin(); stage != dag.stages.rend(); ++stage) {
      if (!stage->placeholder() && stage->role != ir::Role::Output && number(0, 1)) {
        compute_somewhere(*stage);
      }
    }
  }
  Schedule schedule;
  int tails[3] = {0, 0, 0};  // uneven splits of each kind

 private:
  int number(int low, int high) { return std::uniform_int_distribution<int>(low, high)(rng_); }

  void split_some(const Stage& stage) {
    std::vector<std::string> order;
    std::vector<Axis> axes = stage.axes;
    axes.insert(axes.end(), stage.reduce_axes.begin(), stage.reduce_axes.end());
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (number(0, 2) == 0) continue;
      const bool reduced = i >= stage.axes.size();
      const std::string& name = axes[i].name;
      const std::int64_t factor = number(1, 5);
      const Tail tail = Tail(number(0, 2));
      const bool even = axes[i].extent % factor == 0;
      if (tail == Tail::Overlap && (factor > axes[i].extent || (reduced && !even))) continue;
      const auto done =
          schedule.apply(SplitStep{stage.name, name, factor, name + ".o", name + ".i", tail});
      if (!done) continue;  // no storage to pad
      tails[int(tail)] += !even;
      const std::string last = name + ".i";
      if (number(0, 2) == 0) {
        const Tail next = number(0, 1) ? Tail::Guard : Tail::Overlap;
        if (next == Tail::Guard || (factor >= 2 && (!reduced || factor % 2 == 0))) {
          ASSERT_TRUE(
              schedule.apply(SplitStep{stage.name, last, 2, name + ".m", name + ".j", next}));
          tails[int(next)] += factor % 2;
        }
      }
      if (i + 1 == stage.axes.size() && factor > 1 && number(0, 1)) {
        const std::string lane =
            schedule.plan(stage).loops.back().reduce || stage.reduce_axes.empty() ? last : last;
        lanes_.push_back({stage.name, lane});
      }
    }
    for (const Loop& loop : schedule.plan(stage).loops) order.push_back(loop.name);
    if (number(0, 1)) std::shuffle(order.begin(), order.end(), rng_);
    // A vector is innermost.
    for (const auto& [name, lane] : lanes_) {
      const auto at = std::find(order.begin(), order.end(), lane);
      if (name != stage.name || at == order.end()) continue;
      order.erase(at);
      order.push_back(lane);
      ASSERT_TRUE(schedule.apply(AnnotateStep{name, lane, ir::ForKind::Vectorized}));
    }
    ASSERT_TRUE(schedule.apply(ReorderStep{stage.name, order}));
  }

  // In a loop of its one reader.
  void compute_somewhere(const Stage& stage) {
    const auto readers = readers_of(schedule.dag(), stage.buffer);
    if (readers.size() != 1 || !stage.store_at.empty()) return;
    std::vector<std::string> loops;
    for (const Loop& loop : schedule.plan(*schedule.dag().find(readers[0])).loops) {
      if (loop.kind == ir::ForKind::Vectorized) break;
      loops.push_back(loop.name);
    }
    if (loops.empty()) return;
    loops.resize(std::min<std::size_t>(loops.size(), 3));  // it is computed anew in each iteration
    const std::string loop = loops[std::size_t(number(0, int(loops.size()) - 1))];
    ASSERT_TRUE(schedule.apply(ComputeAtStep{stage.name, readers[0], loop, ir::Scope::Global}));
  }

  std::mt19937_64& rng_;
  std::vector<std::pair<std::string, std::string>> lanes_;
};

// Elements that are computed and summed, where nothing is computed twice.
double work_of(const ComputeDag& dag) {
  double work = 0;
  for (const Stage& stage : dag.stages) {
    if (stage.placeholder()) continue;
    double elements = 1;
    for (const auto* axes : {&stage.axes, &stage.reduce_axes}) {
      for (const Axis& axis : *axes) elements *= double(axis.extent);
    }
    work += elements;
  }
  return work;
}
constexpr double kMostWork = 1e4;  // the interpreter's is a multiple of it

TEST(TailsProperty, EveryTailComputesTheSame) {
  const std::uint64_t seed = property::from_environment("FETTLE_PROPERTY_SEED", 20260114);
  const std::uint64_t count = property::from_environment(
      "FETTLE_PROPERTY_COUNT", 300 * property::from_environment("FETTLE_PROPERTY_TIMES", 1));
  std::printf("seed %llu, %llu schedules\n", (unsigned long long)seed, (unsigned long long)count);
  std::mt19937_64 rng(seed);
  const CpuTarget target = property::small_targets()[0];
  int lowered = 0, tails[3] = {0, 0, 0};
  for (std::uint64_t i = 0; i < count; ++i) {
    const Workload workload = property::random_workload(rng);
    const ComputeDag dag = workload.dag();
    if (work_of(dag) > kMostWork) continue;
    const RandomSchedule random(dag, rng);
    std::string what = "number " + std::to_string(i) + " of seed " + std::to_string(seed) + ": " +
                       workload.canonical() + "\n";
    for (const Step& step : random.schedule.steps()) what += to_string(step) + "\n";
    auto expected = evaluate(dag);
    ASSERT_TRUE(expected) << what << ": " << expected.error().text();
    auto module = lower::lower_schedule(
        random.schedule, target, [&](const std::string& pass, const ir::Module& stage) {
          if (pass != "build_loops" && pass != lower::pass_names(lower::cpu_passes()).back())
            return;
          const std::string wrong = property::difference(stage, expected->front(), target.threads);
          ASSERT_EQ(wrong, "") << "after " << pass << ", " << what << "\n" << ir::print(stage);
        });
    if (HasFatalFailure()) return;
    if (!module) continue;  // a region that is no box, a vector with more than stores in it
    ++lowered;
    for (int t = 0; t < 3; ++t) tails[t] += random.tails[t];
  }
  EXPECT_GT(lowered, int(count) / 4);
  if (count < 100) return;
  for (const int kind : tails) EXPECT_GT(kind, 30);
}

}  // namespace
}  // namespace fettle
