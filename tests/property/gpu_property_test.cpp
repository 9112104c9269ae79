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

// A large GPU, one whose limits are always near, and two that take vectors and stage nothing, one
// of them with dot products.
std::vector<space::GpuTarget> gpu_targets() {
  space::GpuTarget large;
  large.backend = "cuda_ptx", large.sm = 90, large.driver = 1204, large.compute_units = 132;
  space::GpuTarget small = large;
  small.threads_per_block = 64, small.shared_bytes = 2048, small.registers_per_thread = 64;
  small.registers_per_block = 4096, small.compute_units = 2;
  space::GpuTarget vectors = large;
  vectors.vector_width = 8, vectors.shared_is_global = true, vectors.warp = 1;
  space::GpuTarget dots = vectors;
  dots.backend = "opencl_c", dots.sm = dots.driver = 0, dots.vector_width = 4;
  dots.extensions = {"cl_arm_integer_dot_product_accumulate_int8"};
  return {large, small, vectors, dots};
}

TEST(GpuProperty, EveryPassOfRandomConfigurationsEqualsTheReference) {
  const std::uint64_t seed = from_environment("FETTLE_PROPERTY_SEED", 20260101);
  const std::uint64_t count =
      from_environment("FETTLE_PROPERTY_COUNT", 330 * from_environment("FETTLE_PROPERTY_TIMES", 1));
  std::printf("seed %llu, %llu configurations\n", (unsigned long long)seed,
              (unsigned long long)count);
  std::mt19937_64 rng(seed);
  const auto targets = gpu_targets();
  std::map<std::string, int> met, types;
  for (std::uint64_t i = 0; i < count; ++i) {
    const space::Workload workload = i % 10 == 2
                                         ? property::random_winograd_workload(rng, i % 20 == 12)
                                         : property::random_workload(rng, i % 4 == 3);
    const space::GpuTarget& target = targets[i / 4 % targets.size()];
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
  EXPECT_EQ(met.size(), 10u) << "each sketch";
  EXPECT_EQ(types.size(), 3u) << "float32, float16 and int8";
}

// Random products of sizes that take tensor cores: several tiles, and some that overlap.
nlohmann::json random_product(property::RandomFields& random, std::uint64_t kind) {
  const int rows = random.number(16, 70), columns = random.number(16, 70);
  if (kind == 0) {
    return {{"op", "batch_matmul"},
            {"batch", random.number(1, 2)},
            {"m", rows},
            {"n", columns},
            {"k", random.number(16, 70)}};
  }
  if (kind == 1) {
    return {{"op", "dense"},
            {"batch", rows},
            {"in_features", random.number(16, 70)},
            {"out_features", columns}};
  }
  return {{"op", "conv2d"},
          {"height", random.number(5, 8)},
          {"width", random.number(5, 8)},
          {"in_channels", random.number(2, 6)},
          {"out_channels", columns},
          {"kernel", {3, 3}},
          {"pad", {1, 1}},
          {"layout", random.number(0, 1) ? "NHWC" : "NCHW"}};
}

// The workload's outputs, and what a program may be off that rounds the factors of its products.
space::ExpectedTensor with_tf32_factors(const space::ComputeDag& dag) {
  space::ComputeDag rounded = dag;
  for (space::Stage& stage : rounded.stages) {
    if (stage.reduce_axes.empty()) continue;
    const auto product = std::get<ir::Binary>(stage.body->node);
    stage.body = ir::unary(ir::UnaryOp::Tf32, product.a) * ir::unary(ir::UnaryOp::Tf32, product.b);
  }
  auto evaluated = space::evaluate(rounded);
  EXPECT_TRUE(evaluated) << evaluated.error().text();
  return evaluated->front();
}

void products_by_warps(bool tf32) {
  const std::string sketch = tf32 ? "gpu_wmma_tf32" : "gpu_wmma_f16";
  const std::uint64_t seed = from_environment("FETTLE_PROPERTY_SEED", 20260101);
  const std::uint64_t count = 16 * from_environment("FETTLE_PROPERTY_TIMES", 1);
  std::printf("seed %llu, %llu configurations\n", (unsigned long long)seed,
              (unsigned long long)count);
  std::mt19937_64 rng(seed);
  property::RandomFields random(rng);
  const space::GpuTarget target = gpu_targets().front();
  std::uint64_t cut = 0;  // sums in several parts
  for (std::uint64_t i = 0; i < count; ++i) {
    nlohmann::json json = random_product(random, i % 3);
    json["tail"] = random.tail();
    if (tf32) {
      json["allow_tf32"] = true;
    } else {
      json["dtype"] = "float16";
    }
    const auto workload = space::Workload::parse(json);
    ASSERT_TRUE(workload) << json;
    const auto task = space::open_gpu_space(workload->dag(), target);
    ASSERT_TRUE(task) << json << task.error().text();
    auto configuration = task->space().random(rng);
    const auto& sketches = task->space().sketches();
    for (int draws = 0; draws < 200 && sketches[configuration.sketch].name != sketch; ++draws) {
      configuration = task->space().random(rng);
    }
    const std::string what = json.dump() + " " + task->space().to_json(configuration);
    ASSERT_EQ(sketches[configuration.sketch].name, sketch) << what;
    const auto& knobs = sketches[configuration.sketch].knobs;
    cut += std::any_of(knobs.begin(), knobs.end(),
                       [](const space::Knob& knob) { return knob.name == "parts"; }) &&
           task->space().value(configuration, "parts")[0] > 1;
    const auto expected = space::evaluate(workload->dag());
    ASSERT_TRUE(expected) << what;
    // Sums of rounded factors are as exact as any.
    const space::ExpectedTensor exact =
        tf32 ? with_tf32_factors(workload->dag()) : expected->front();
    const auto module = lower::lower_gpu_configuration(
        *task, configuration, [&](const std::string& pass, const ir::Module& stage) {
          if (i % 8 != 0) return;
          ASSERT_EQ(difference(stage, exact, 1), "") << "after " << pass << ", " << what;
        });
    ASSERT_TRUE(module) << what << ": " << module.error().text();
    ASSERT_EQ(difference(*module, exact, 1), "") << what << "\n" << ir::print(*module);
    if (tf32) {
      space::ExpectedTensor plain = expected->front();
      EXPECT_NE(difference(*module, plain, 1), "") << "nothing was rounded: " << what;
      plain.tolerance.absolute *= task->error_growth(configuration);
      EXPECT_EQ(difference(*module, plain, 1), "") << what;
    }
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(cut, 0u);
}

TEST(GpuProperty, ProductsByWarpsEqualTheReference) { products_by_warps(false); }

TEST(GpuProperty, ProductsOfTf32ByWarpsEqualTheReference) { products_by_warps(true); }

}  // namespace
}  // namespace fettle
