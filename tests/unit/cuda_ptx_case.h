// What the CUDA back end's tests ask for: a target, a task, one of its configurations.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "host/backend/backend.h"
#include "host/space/gpu_target.h"
#include "host/space/workload.h"

namespace fettle::backend {

inline constexpr const char* kName = "cuda_ptx";

// The driver knows no cubin of any toolkit that is about: programs are PTX.
inline space::GpuTarget target(int sm = 80, int driver = 1104) {
  space::GpuTarget t;
  t.backend = kName, t.sm = sm, t.driver = driver, t.compute_units = 16;
  return t;
}

inline std::unique_ptr<const Task> task_of(const char* workload,
                                           const space::GpuTarget& gpu = target()) {
  const auto parsed = space::Workload::parse(nlohmann::json::parse(workload));
  EXPECT_TRUE(parsed) << workload;
  auto task = open_task(parsed->dag(), gpu.target());
  EXPECT_TRUE(task) << task.error().text();
  return task ? std::move(*task) : nullptr;
}

inline space::Configuration chosen(const Task& task, const char* configuration) {
  auto parsed = task.space().parse(configuration);
  EXPECT_TRUE(parsed) << parsed.error().text();
  return parsed ? *parsed : space::Configuration{};
}

inline constexpr const char* kMatrices = R"({"op":"batch_matmul","batch":2,"m":64,"n":96,"k":48})";
inline constexpr const char* kTiles =
    R"({"sketch":"gpu_tiled","knobs":{"rows":[8,4],"columns":[8,4],"step":[16],"unroll":[2048],
        "neighbours":[0],"shared":[3],"first_order":[1],"second_order":[0]}})";

}  // namespace fettle::backend
