// Itervar features of programs for GPUs: which loops are blocks and which are threads.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include <nlohmann/json.hpp>

#include "host/lower/itervar_features.h"
#include "host/space/sketches/gpu_sketches.h"
#include "host/space/workload.h"

namespace fettle::lower {
namespace {

constexpr std::size_t kBlocks = 4 + 4, kThreads = 4 + 5;  // columns of a loop

TEST(ItervarGpu, BlocksAndThreadsAreToldApart) {
  space::GpuTarget target;
  target.backend = "cuda_ptx", target.sm = 80, target.driver = 1104, target.compute_units = 16;
  for (const char* dtype : {"float32", "float16"}) {
    const auto workload = space::Workload::parse(nlohmann::json{{"op", "conv2d"},
                                                                {"height", 28},
                                                                {"width", 28},
                                                                {"in_channels", 64},
                                                                {"out_channels", 64},
                                                                {"kernel", 3},
                                                                {"pad", 1},
                                                                {"dtype", dtype},
                                                                {"tail", {"bias", "relu"}}});
    ASSERT_TRUE(workload) << workload.error().text();
    const auto task = space::open_gpu_space(workload->dag(), target);
    ASSERT_TRUE(task) << task.error().text();
    std::mt19937_64 rng(3);
    int lowered = 0;
    for (int i = 0; i < 40; ++i) {
      const auto features = itervar_features_of(*task, task->space().random(rng), 1);
      if (!features) continue;
      ++lowered;
      ASSERT_EQ(features->size(), 1 + kItervarLoops * kLoopColumns);
      int blocks = 0, threads = 0, touched = 0;
      for (std::size_t loop = 0; loop < kItervarLoops; ++loop) {
        const float* columns = &(*features)[1 + loop * kLoopColumns];
        blocks += columns[kBlocks] == 1;
        threads += columns[kThreads] == 1;
        for (std::size_t c = 0; c < kLoopColumns; ++c) {
          EXPECT_FALSE(std::isinf(columns[c])) << loop << " " << c;
          touched += c >= 11 && columns[c] > 0;
        }
      }
      EXPECT_GT(blocks, 0) << task->space().to_json(task->space().at(0));
      EXPECT_GT(threads, 0);
      EXPECT_GT(touched, 0);
    }
    EXPECT_GT(lowered, 20) << dtype;
  }
}

}  // namespace
}  // namespace fettle::lower
