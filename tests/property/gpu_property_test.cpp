// Random workloads × random configurations of GPUs: the program is interpreted, by blocks of
// threads, after every lowering pass and must equal the reference evaluator each time. The
// interpreter reports a missing barrier, and one that not all threads come to.
#include <gtest/gtest.h>

#include <map>

#include "host/ir/printer.h"
#include "host/lower/gpu/features.h"
#include "host/lower/gpu/launch_shape.h"
#include "host/lower/gpu/lowering.h"
#include "host/space/workload.h"
#include "tests/property/interpreted.h"
#include "tests/property/random_workload.h"

namespace fettle {
namespace {

using property::difference;
using property::from_environment;

// A large GPU, one whose limits are always near, and one that takes vectors and stages nothing.
std::vector<space::GpuTarget> gpu_targets() {
  space::GpuTarget large;
  large.backend = "cuda_ptx", large.sm = 90, large.driver = 1204, large.compute_units = 132;
  space::GpuTarget small = large;
  small.threads_per_block = 64, small.shared_bytes = 2048, small.registers_per_thread = 64;
  small.registers_per_block = 4096, small.compute_units = 2;
  space::GpuTarget vectors = large;
  vectors.vector_width = 8, vectors.shared_is_global = true, vectors.warp = 1;
  return {large, small, vectors};
}

TEST(GpuProperty, EveryPassOfRandomConfigurationsEqualsTheReference) {
  const std::uint64_t seed = from_environment("FETTLE_PROPERTY_SEED", 20260101);
  const std::uint64_t count =
      from_environment("FETTLE_PROPERTY_COUNT", 300 * from_environment("FETTLE_PROPERTY_TIMES", 1));
  std::printf("seed %llu, %llu configurations\n", (unsigned long long)seed,
              (unsigned long long)count);
  std::mt19937_64 rng(seed);
  const auto targets = gpu_targets();
  std::map<std::string, int> met, types;
  for (std::uint64_t i = 0; i < count; ++i) {
    const space::Workload workload = i % 10 == 2 ? property::random_winograd_workload(rng)
                                                 : property::random_workload(rng, i % 4 == 3);
    const space::GpuTarget& target = targets[i % targets.size()];
    const auto task = space::open_gpu_space(workload.dag(), target);
    ASSERT_TRUE(task) << workload.canonical() << ": " << task.error().text();
    const space::SearchSpace* space = &task->space();
    const auto configuration = space->random(rng);
    ++met[space->sketches()[configuration.sketch].name];
    ++types[ir::to_string(workload.dag().stages.front().buffer->type)];
    const std::string what = "number " + std::to_string(i) + " of seed " + std::to_string(seed) +
                             ": " + workload.canonical() + " " + space->to_json(configuration);
    const auto evaluated = space::evaluate(workload.dag());
    ASSERT_TRUE(evaluated) << what << ": " << evaluated.error().text();
    space::ExpectedTensor expected = evaluated->front();
    expected.tolerance.absolute *= task->error_growth(configuration);
    const bool all_passes = i % 8 == 0;
    std::string last;
    auto module = lower::lower_gpu_configuration(
        *task, configuration, [&](const std::string& pass, const ir::Module& stage) {
          last = pass;
          if (!all_passes) return;
          const std::string wrong = difference(stage, expected, 1);
          ASSERT_EQ(wrong, "") << "after " << pass << ", " << what << "\n" << ir::print(stage);
        });
    ASSERT_TRUE(module) << what << ": " << module.error().text();
    const std::string wrong = difference(*module, expected, 1);
    ASSERT_EQ(wrong, "") << what << "\n" << ir::print(*module);
    for (const ir::Function& function : module->functions) {
      EXPECT_EQ(lower::exceeds(lower::launch_shape(function), target), nullptr) << what;
    }
    const auto features = lower::gpu_features_of(*task, configuration);
    ASSERT_TRUE(features) << what;
    EXPECT_EQ(features->size(), lower::gpu_feature_names().size());
    if (HasFailure()) return;
  }
  for (const auto& [name, times] : met) std::printf("%s: %d\n", name.c_str(), times);
  for (const auto& [name, times] : types) std::printf("%s: %d\n", name.c_str(), times);
  EXPECT_EQ(met.size(), 7u) << "each sketch";
  EXPECT_EQ(types.size(), 3u) << "float32, float16 and int8";
}

}  // namespace
}  // namespace fettle
