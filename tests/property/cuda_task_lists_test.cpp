// Every sketch of two networks' task lists as PTX for every compute capability: LLVM makes it,
// ptxas accepts it where it knows the device, and no launch is over the device's limits.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <map>
#include <random>
#include <set>

#include "host/backend/backend.h"
#include "host/backend/cuda_ptx/ptxas.h"
#include "host/model/task_list.h"
#include "host/space/gpu_target.h"
#include "host/space/workload.h"
#include "schemas/wire/codec.h"
#include "tests/property/interpreted.h"

namespace fettle {
namespace {

// Compute capabilities, and the shared memory that a block of theirs may ask for, in KiB.
struct Capability {
  int sm, shared;
};
constexpr Capability kCapabilities[] = {{53, 48}, {62, 48},  {72, 96}, {75, 64},  {80, 163},
                                        {86, 99}, {87, 163}, {89, 99}, {90, 227}, {110, 227}};
constexpr int kTries = 200;   // draws until the screen lets one through
constexpr int kSpilling = 8;  // of those, until one does not spill

// Drivers of CUDA 12.5: ptxas judges the text, and what is sent stays text.
space::GpuTarget target_of(const Capability& of) {
  space::GpuTarget t;
  t.backend = "cuda_ptx", t.sm = of.sm, t.driver = 1205, t.compute_units = 16;
  t.shared_bytes = std::int64_t{of.shared} << 10;
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

// Builds a configuration of every sketch that the task has on each capability.
class Builds {
 public:
  explicit Builds(std::uint64_t seed) : rng_(seed) {}

  void all_of(const space::Workload& workload) {
    for (const Capability& capability : kCapabilities) {
      const space::GpuTarget target = target_of(capability);
      const auto task = backend::open_task(workload.dag(), target.target());
      ASSERT_TRUE(task) << workload.title() << ": " << task.error().text();
      const auto& sketches = (*task)->space().sketches();
      for (std::uint32_t sketch = 0; sketch < sketches.size(); ++sketch) {
        ++met[sketches[sketch].name];
        by_capability[sketches[sketch].name].insert(capability.sm);
        bool built = false;
        for (int i = 0; i < kSpilling && !built; ++i) {
          const auto configuration = drawn(**task, sketch, rng_);
          ASSERT_TRUE(configuration) << workload.title() << ": nothing passes the screen";
          built = build(**task, *configuration, target,
                        workload.title() + " sm_" + std::to_string(target.sm) + " " +
                            (*task)->space().to_json(*configuration));
          if (::testing::Test::HasFatalFailure()) return;
        }
        EXPECT_TRUE(built) << workload.title() << " " << sketches[sketch].name << ": all spill";
      }
    }
  }

  std::map<std::string, int> met;  // sketches
  std::map<std::string, std::set<int>> by_capability;

  ~Builds() {
    std::printf(
        "%d built, %d assembled, %d kernels spill a little, %d launches state shared memory\n",
        built_, assembled_, spilled_, stated_);
    std::printf("%d refused because they spill\n", spilling_);
    for (const auto& [name, times] : met) std::printf("%s: %d\n", name.c_str(), times);
    for (const int sm : refused_) std::printf("no ptxas here knows sm_%d\n", sm);
  }

 private:
  // False: it spills, and so is no candidate.
  bool build(const backend::Task& task, const space::Configuration& configuration,
             const space::GpuTarget& target, const std::string& what) {
    const auto output = task.build(configuration);
    if (!output && output.error().text().find("spills") != std::string::npos) {
      ++spilling_;
      return false;
    }
    check(task, configuration, target, output, what);
    return true;
  }

  void check(const backend::Task& task, const space::Configuration& configuration,
             const space::GpuTarget& target, const Result<wire::BuildOutputT>& output,
             const std::string& what) {
    ASSERT_TRUE(output) << what << ": " << output.error().text();
    ++built_;
    for (const auto& launch : output->program->launches) {
      const wire::Dim3 &block = *launch->block, &grid = *launch->grid;
      EXPECT_LE(block.x() * block.y() * block.z(), 1024u) << what;
      EXPECT_LE(std::max(grid.y(), grid.z()), 65535u) << what;
      EXPECT_LE(launch->shared_bytes, target.shared_bytes) << what;
      stated_ += launch->shared_bytes > 0;
    }
    const auto& bytes = output->program->images[0]->bytes;
    const std::string ptx(bytes.begin(), bytes.end());
    const bool tensor_cores_of_tf32 =
        task.space().sketches()[configuration.sketch].name == "gpu_wmma_tf32";
    EXPECT_EQ(ptx.find("tf32") != std::string::npos, tensor_cores_of_tf32) << what;
    const auto cubin = backend::cuda_ptx::assemble(ptx, target);
    if (!cubin) {
      ASSERT_EQ(cubin.error().code, ErrorCode::Unsupported) << what << cubin.error().text();
      ASSERT_EQ(backend::cuda_ptx::ptxas_for(target), nullptr) << what;
      refused_.insert(target.sm);
      return;
    }
    ++assembled_;
    for (const auto& kernel : cubin->kernels) {
      EXPECT_LE(kernel.shared_bytes, 48 << 10) << what;
      EXPECT_LE(kernel.spill_store_bytes, 64) << what;
      spilled_ += kernel.spill_store_bytes > 0;
    }
  }

  std::mt19937_64 rng_;
  int built_ = 0, assembled_ = 0, spilled_ = 0, spilling_ = 0, stated_ = 0;
  std::set<int> refused_;
};

std::uint64_t seed() {
  const std::uint64_t seed = property::from_environment("FETTLE_PROPERTY_SEED", 20260101);
  std::printf("seed %llu\n", (unsigned long long)seed);
  return seed;
}

TEST(CudaTaskLists, EverySketchForEveryCapability) {
  Builds builds(seed());
  for (const char* network : {"resnet-18", "mobilenet"}) {
    const auto list = model::load_network(network);
    ASSERT_TRUE(list) << list.error().text();
    for (const space::Task& each : list->tasks) {
      builds.all_of(each.workload);
      if (HasFatalFailure()) return;
    }
  }
}

// Layers of those networks in the types that instructions with a shape take.
TEST(CudaTaskLists, InstructionsForEveryCapability) {
  Builds builds(seed());
  for (const char* type : {"int8", "float16", "float32"}) {
    for (
        const char* layer :
        {R"({"op":"conv2d","height":56,"width":56,"in_channels":64,"out_channels":64,"kernel":[3,3],"pad":[1,1]})",
         R"({"op":"conv2d","height":224,"width":224,"in_channels":3,"out_channels":64,"kernel":[7,7],"stride":[2,2],"pad":[3,3],"layout":"NCHW"})",
         R"({"op":"conv2d","height":14,"width":14,"in_channels":512,"out_channels":512,"kernel":[1,1]})",
         R"({"op":"dense","batch":16,"in_features":512,"out_features":1000})",
         R"({"op":"batch_matmul","batch":8,"m":128,"n":128,"k":64})"}) {
      auto json = nlohmann::json::parse(layer);
      json["dtype"] = type;
      if (json["dtype"] == "float32") json["allow_tf32"] = true;
      const auto workload = space::Workload::parse(json);
      ASSERT_TRUE(workload) << json << workload.error().text();
      builds.all_of(*workload);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_TRUE(builds.met.contains("gpu_tiled_dot4_s8s8"));
  EXPECT_TRUE(builds.met.contains("gpu_wmma_f16"));
  EXPECT_EQ(builds.by_capability["gpu_wmma_tf32"], (std::set{80, 86, 87, 89, 90, 110}));
}

}  // namespace
}  // namespace fettle
