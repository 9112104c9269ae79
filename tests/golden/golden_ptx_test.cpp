// The PTX of a few configurations against files. `golden_ptx --update-golden` writes them anew.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "host/backend/backend.h"
#include "host/space/gpu_target.h"
#include "host/space/workload.h"
#include "tests/golden/golden_file.h"

namespace {

using namespace fettle;

// Of a driver older than any ptxas that is about: what is built is text.
void check(const std::string& name, const char* workload_json, int sm,
           const char* configuration_json) {
  space::GpuTarget target;
  target.backend = "cuda_ptx", target.sm = sm, target.driver = 1104, target.compute_units = 16;
  const auto workload = space::Workload::parse(nlohmann::json::parse(workload_json));
  ASSERT_TRUE(workload) << workload.error().text();
  const auto task = backend::open_task(workload->dag(), target.target());
  ASSERT_TRUE(task) << task.error().text();
  const auto configuration = (*task)->space().parse(configuration_json);
  ASSERT_TRUE(configuration) << configuration.error().text();
  const auto built = (*task)->build(*configuration);
  ASSERT_TRUE(built) << built.error().text();
  const auto& text = built->program->images[0]->bytes;
  golden::expect(std::string(text.begin(), text.end()),
                 std::string(FETTLE_GOLDEN_DIR) + "/" + name + ".ptx");
}

// A step's tiles in shared memory, copied beside the threads.
TEST(GoldenPtx, StagedAhead) {
  check("batch_matmul_ahead_sm_80", R"({"op":"batch_matmul","batch":1,"m":32,"n":32,"k":16})", 80,
        R"({"sketch":"gpu_tiled","knobs":{"rows":[8,2],"columns":[8,2],"step":[4],"unroll":[64],
            "neighbours":[0],"shared":[3],"first_order":[1],"second_order":[0],"stages":[3,1]}})");
}

TEST(GoldenPtx, ProductsOfInt8ByFours) {
  check("batch_matmul_int8_sm_61",
        R"({"op":"batch_matmul","batch":1,"m":16,"n":16,"k":16,"dtype":"int8"})", 61,
        R"({"sketch":"gpu_tiled_dot4_s8s8","knobs":{"rows":[8,2],"columns":[8,2],"step":[2],
            "unroll":[64],"neighbours":[0],"shared":[3],"first_order":[1],"second_order":[0],
            "stages":[1,0]}})");
}

TEST(GoldenPtx, TensorCoresOfHalves) {
  check(
      "dense_half_sm_75",
      R"({"op":"dense","batch":16,"in_features":32,"out_features":32,"dtype":"float16","tail":["bias","relu"]})",
      75,
      R"({"sketch":"gpu_wmma_f16","knobs":{"rows":[1,1],"columns":[1,2],"step":[16],
            "stages":[1,0],"first_order":[1],"second_order":[0],"packed":[0]}})");
}

// The same in float32, where the workload allows its factors to be rounded.
TEST(GoldenPtx, TensorCoresOfTf32) {
  check(
      "dense_tf32_sm_80",
      R"({"op":"dense","batch":16,"in_features":32,"out_features":32,"allow_tf32":true,"tail":["bias","relu"]})",
      80,
      R"({"sketch":"gpu_wmma_tf32","knobs":{"rows":[1,1],"columns":[1,2],"step":[8],
            "stages":[2,1],"first_order":[1],"second_order":[0],"packed":[0]}})");
}

}  // namespace

int main(int argc, char** argv) { return fettle::golden::run(argc, argv); }
