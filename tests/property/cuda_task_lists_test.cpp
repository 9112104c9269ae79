// Every sketch of two networks' task lists as PTX for every compute capability: LLVM makes it,
// ptxas accepts it where it knows the device, and no launch is over the device's limits.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "host/backend/backend.h"
#include "host/backend/cuda_ptx/ptxas.h"
#include "host/model/task_list.h"
#include "host/space/gpu_target.h"
#include "schemas/wire/codec.h"
#include "tests/property/interpreted.h"

namespace fettle {
namespace {

constexpr int kCapabilities[] = {53, 62, 72, 75, 80, 86, 87, 89, 90, 110};
constexpr int kTries = 200;  // draws until the screen lets one through

// Drivers of CUDA 12.5: ptxas judges the text, and what is sent stays text.
space::GpuTarget target_of(int sm) {
  space::GpuTarget t;
  t.backend = "cuda_ptx", t.sm = sm, t.driver = 1205, t.compute_units = 16;
  return t;
}

std::optional<space::Configuration> drawn(const backend::Task& task, std::uint32_t sketch,
                                          std::mt19937_64& rng) {
  for (int i = 0; i < kTries; ++i) {
    auto configuration = task.space().random(rng);
    if (configuration.sketch != sketch) continue;
    const auto features = task.features(configuration);
    if (features && task.screen(*features) == nullptr) return configuration;
  }
  return std::nullopt;
}

TEST(CudaTaskLists, EverySketchForEveryCapability) {
  const std::uint64_t seed = property::from_environment("FETTLE_PROPERTY_SEED", 20260101);
  std::printf("seed %llu\n", (unsigned long long)seed);
  std::mt19937_64 rng(seed);
  int built = 0, assembled = 0, spilled = 0;
  std::set<int> refused;
  for (const char* network : {"resnet-18", "mobilenet"}) {
    const auto list = model::load_network(network);
    ASSERT_TRUE(list) << list.error().text();
    for (const space::Task& each : list->tasks) {
      const auto& dag = each.workload.dag();
      const auto one = backend::open_task(dag, target_of(90).target());
      ASSERT_TRUE(one) << each.workload.title() << ": " << one.error().text();
      const auto sketches = std::uint32_t((*one)->space().sketches().size());
      for (std::uint32_t sketch = 0; sketch < sketches; ++sketch) {
        const auto configuration = drawn(**one, sketch, rng);
        ASSERT_TRUE(configuration) << each.workload.title() << ": nothing passes the screen";
        for (const int sm : kCapabilities) {
          const space::GpuTarget target = target_of(sm);
          const auto task = backend::open_task(dag, target.target());
          ASSERT_TRUE(task);
          const auto output = (*task)->build(*configuration);
          const std::string what = each.workload.title() + " sm_" + std::to_string(sm) + " " +
                                   (*task)->space().to_json(*configuration);
          ASSERT_TRUE(output) << what << ": " << output.error().text();
          ++built;
          for (const auto& launch : output->program->launches) {
            const wire::Dim3 &block = *launch->block, &grid = *launch->grid;
            EXPECT_LE(block.x() * block.y() * block.z(), 1024u) << what;
            EXPECT_LE(std::max(grid.y(), grid.z()), 65535u) << what;
          }
          const auto& bytes = output->program->images[0]->bytes;
          const auto cubin = backend::cuda_ptx::assemble({bytes.begin(), bytes.end()}, target);
          if (!cubin) {
            ASSERT_EQ(cubin.error().code, ErrorCode::Unsupported) << what << cubin.error().text();
            ASSERT_EQ(backend::cuda_ptx::ptxas_for(target), nullptr) << what;
            refused.insert(sm);
            continue;
          }
          ++assembled;
          for (const auto& kernel : cubin->kernels) {
            EXPECT_LE(kernel.shared_bytes, 48 << 10) << what;
            spilled += kernel.spill_store_bytes > 0;
          }
        }
      }
    }
  }
  std::printf("%d built, %d assembled, %d kernels spill\n", built, assembled, spilled);
  for (const int sm : refused) std::printf("no ptxas here knows sm_%d\n", sm);
}

}  // namespace
}  // namespace fettle
