// Random workloads × random configurations: the program is interpreted after
// every lowering pass and must equal the reference evaluator each time.
#include <gtest/gtest.h>

#include "host/ir/printer.h"
#include "host/lower/cpu/lowering.h"
#include "host/space/sketches/sketches.h"
#include "host/space/workload.h"
#include "tests/property/interpreted.h"
#include "tests/property/random_workload.h"

namespace fettle {
namespace {

using property::difference;
using property::from_environment;

TEST(LoweringProperty, EveryPassOfRandomConfigurationsEqualsTheReference) {
  const std::uint64_t seed = from_environment("FETTLE_PROPERTY_SEED", 20260101);
  const std::uint64_t count =
      from_environment("FETTLE_PROPERTY_COUNT", 300 * from_environment("FETTLE_PROPERTY_TIMES", 1));
  std::printf("seed %llu, %llu configurations\n", (unsigned long long)seed,
              (unsigned long long)count);
  std::mt19937_64 rng(seed);
  const auto targets = property::small_targets();
  for (std::uint64_t i = 0; i < count; ++i) {
    const space::Workload workload = property::random_workload(rng);
    const space::CpuTarget& target = targets[i % targets.size()];
    const auto task = space::open_cpu_space(workload.dag(), target);
    ASSERT_TRUE(task) << task.error().text();
    const space::SearchSpace* space = &task->space();
    const auto configuration = space->random(rng);
    const std::string what = "number " + std::to_string(i) + " of seed " + std::to_string(seed) +
                             ": " + workload.canonical() + " " + target.cpu + " " +
                             space->to_json(configuration);
    auto expected = space::evaluate(workload.dag());
    ASSERT_TRUE(expected) << what << ": " << expected.error().text();
    expected->front().tolerance.absolute *= task->error_growth(configuration);
    int dumps = 0;
    auto module = lower::lower_configuration(
        *task, configuration, [&](const std::string& pass, const ir::Module& stage) {
          ++dumps;
          const std::string wrong = difference(stage, expected->front(), target.threads);
          ASSERT_EQ(wrong, "") << "after " << pass << ", " << what << "\n" << ir::print(stage);
        });
    ASSERT_TRUE(module) << what << ": " << module.error().text();
    ASSERT_EQ(dumps, int(lower::pass_names(lower::cpu_passes()).size()));
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace fettle
