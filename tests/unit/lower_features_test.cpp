// Footprints by closed formulas, and features of lowered programs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include <nlohmann/json.hpp>

#include "host/ir/printer.h"
#include "host/lower/cpu/features.h"
#include "host/lower/cpu/lowering.h"
#include "host/lower/cpu/screen.h"
#include "host/lower/footprint.h"
#include "host/space/operators/operator.h"
#include "host/space/sketches/sketches.h"
#include "host/space/workload.h"

namespace fettle::lower {
namespace {

using namespace space;

CpuTarget target() {
  CpuTarget t{"x86_64", "x86_64-linux-gnu", "x86-64-v3", {}, 256, 16, true, 2};
  t.caches = {{1, 32768, 64, 1}, {2, 1 << 20, 64, 1}, {3, 32 << 20, 64, 8}};
  return t;
}

Workload conv(int channels = 64) {
  return *Workload::parse(nlohmann::json{{"op", "conv2d"},
                                         {"height", 28},
                                         {"width", 28},
                                         {"in_channels", channels},
                                         {"out_channels", channels},
                                         {"kernel", 3},
                                         {"pad", 1},
                                         {"tail", {"bias", "relu"}}});
}

struct Image {
  ir::Var y = ir::make_var("y"), x = ir::make_var("x"), c = ir::make_var("c"),
          kx = ir::make_var("kx");
  ir::Buffer buffer =
      std::make_shared<ir::BufferDecl>(ir::BufferDecl{"in", ir::kFloat32, {10 * 12 * 8}});
  // in[y][x + kx][c] of an image 12 wide with 8 channels.
  Access access() const {
    const auto at = [](const ir::Var& v, std::int64_t by) {
      return ir::var_ref(v) * ir::int_imm(by);
    };
    return make_access(
        buffer, at(y, 96) + (ir::var_ref(x) + ir::var_ref(kx)) * ir::int_imm(8) + ir::var_ref(c), 1,
        false, {});
  }
};

TEST(Footprint, LoopsThatOverlapCountTheirUnion) {
  const Image image;
  const Access access = image.access();
  const std::vector<LoopTrip> loops = {{image.y, 10}, {image.x, 5}, {image.kx, 3}, {image.c, 8}};
  const std::span<const LoopTrip> all(loops);
  EXPECT_EQ(footprint(access, all.subspan(3), 64).bytes, 8 * 4);
  EXPECT_EQ(footprint(access, all.subspan(2), 64).bytes, 3 * 8 * 4);
  // x + kx runs over 5 + 3 - 1 columns.
  EXPECT_EQ(footprint(access, all.subspan(1), 64).bytes, 7 * 8 * 4);
  EXPECT_EQ(footprint(access, all, 64).bytes, 10 * 7 * 8 * 4);
  EXPECT_EQ(footprint(access, all, 64).run_bytes, 7 * 8 * 4);
  EXPECT_EQ(footprint(access, all, 64).lines, 10 * 7 * 8 * 4 / 64.0);
}

TEST(Footprint, IsNeverMoreThanTheBuffer) {
  const Image image;
  const std::vector<LoopTrip> loops = {{image.y, 1000}, {image.c, 1000}};
  EXPECT_LE(footprint(image.access(), loops, 64).bytes, 10 * 12 * 8 * 4);
}

TEST(Footprint, AStrideTouchesALinePerElement) {
  const Image image;
  const std::vector<LoopTrip> column = {{image.y, 10}};
  const Footprint touched = footprint(image.access(), column, 64);
  EXPECT_EQ(touched.bytes, 10 * 4);
  EXPECT_EQ(touched.lines, 10);
}

TEST(Features, AreFiniteAndAsManyAsTheirNamesForEveryOperator) {
  const std::vector<std::string> names = feature_names();
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  const nlohmann::json operators[] = {
      nlohmann::json::parse(conv().source()),
      {{"op", "dense"}, {"in_features", 96}, {"out_features", 100}},
      {{"op", "batch_matmul"}, {"batch", 3}, {"m", 7}, {"n", 20}, {"k", 9}},
      {{"op", "depthwise_conv2d"}, {"height", 14}, {"width", 14}, {"channels", 24}, {"kernel", 3}},
      {{"op", "conv2d"},
       {"height", 9},
       {"width", 9},
       {"in_channels", 8},
       {"out_channels", 12},
       {"kernel", 3},
       {"groups", 4}},
      {{"op", "conv3d"},
       {"depth", 4},
       {"height", 6},
       {"width", 7},
       {"in_channels", 8},
       {"out_channels", 8},
       {"kernel", {2, 3, 3}}},
      {{"op", "conv2d_transpose"},
       {"height", 8},
       {"width", 8},
       {"in_channels", 8},
       {"out_channels", 8},
       {"kernel", 2},
       {"stride", 2}},
      {{"op", "max_pool2d"}, {"height", 14}, {"width", 14}, {"channels", 24}, {"kernel", 2}},
      {{"op", "avg_pool2d"}, {"height", 14}, {"width", 14}, {"channels", 24}, {"kernel", 2}},
      {{"op", "global_avg_pool2d"}, {"height", 7}, {"width", 7}, {"channels", 70}},
      {{"op", "softmax"}, {"batch", 9}, {"features", 72}},
      {{"op", "layer_norm"}, {"batch", 9}, {"features", 72}},
      {{"op", "elementwise"}, {"function", "add"}, {"shape", {6, 20, 37}}},
      {{"op", "pad"}, {"shape", {26, 33}}, {"before", {2, 3}}, {"after", {0, 4}}},
      {{"op", "transpose"}, {"shape", {5, 24, 37}}, {"permutation", {2, 0, 1}}},
      {{"op", "reduce"}, {"function", "mean"}, {"shape", {21, 6, 40}}, {"axes", {1, 2}}}};
  std::mt19937_64 rng(7);
  std::set<std::string> kinds;
  for (const nlohmann::json& json : operators) {
    const auto workload = Workload::parse(json);
    ASSERT_TRUE(workload) << json << ": " << workload.error().text();
    kinds.insert(json["op"]);
    const CpuSpace task = open_cpu_space(workload->dag(), target()).value();
    const SearchSpace& space = task.space();
    int lowered = 0;
    for (int i = 0; i < 20; ++i) {
      const Configuration configuration = space.random(rng);
      const auto features = features_of(task, configuration);
      if (!features) continue;
      ++lowered;
      ASSERT_EQ(features->size(), names.size());
      for (std::size_t f = 0; f < names.size(); ++f) {
        EXPECT_TRUE(std::isfinite((*features)[f]))
            << names[f] << " of " << json << " " << space.to_json(configuration);
      }
    }
    EXPECT_GE(lowered, 10) << json;
  }
  const std::vector<std::string> all = operator_names();
  EXPECT_EQ(kinds, std::set<std::string>(all.begin(), all.end()));
}

TEST(Features, CountTheOperationsOfTheWorkload) {
  const CpuSpace task = open_cpu_space(conv().dag(), target()).value();
  const SearchSpace& space = task.space();
  std::mt19937_64 rng(1);
  const std::size_t place = feature_index("log_operations");
  int direct = 0;
  for (int i = 0; i < 100; ++i) {
    const Configuration configuration = space.random(rng);
    const auto features = features_of(task, configuration);
    // Winograd's algorithm does without most of the multiplications.
    if (!features || space.sketches()[configuration.sketch].name != "cpu_tiled") continue;
    ++direct;
    // Tiles that do not divide an extent compute some elements twice, never fewer.
    const double nominal = std::log2(conv().operations());
    EXPECT_GE((*features)[place], nominal - 0.1);
    EXPECT_LE((*features)[place], nominal + 1);
  }
  EXPECT_GE(direct, 10);
}

TEST(Features, SmallerCachesSeeMoreTraffic) {
  CpuTarget small = target();
  small.caches[0].bytes = 4096;
  const CpuSpace smaller = open_cpu_space(conv().dag(), small).value();
  const CpuSpace task = open_cpu_space(conv().dag(), target()).value();
  const SearchSpace& space = task.space();
  std::mt19937_64 rng(3);
  const std::size_t place = feature_index("log_l1_traffic");
  double more = 0;
  for (int i = 0; i < 30; ++i) {
    const Configuration configuration = space.random(rng);
    const auto here = features_of(task, configuration);
    const auto there = features_of(smaller, configuration);
    if (!here || !there) continue;
    EXPECT_GE((*there)[place], (*here)[place] - 1e-3);
    more += (*there)[place] - (*here)[place];
  }
  EXPECT_GT(more, 1);
}

// Where a loop of one iteration stands is nothing to a program, and so nothing to its features.
TEST(Features, LoopsOfOneIterationAreNone) {
  const CpuSpace task = open_cpu_space(conv().dag(), target()).value();
  const SearchSpace& space = task.space();
  std::mt19937_64 rng(1);
  int alike = 0;
  for (int i = 0; i < 60; ++i) {
    Configuration one = space.random(rng);
    const auto& knobs = space.sketches()[one.sketch].knobs;
    const auto order = std::find_if(knobs.begin(), knobs.end(),
                                    [](const Knob& knob) { return knob.name == "tile_order"; });
    if (order == knobs.end()) continue;
    std::set<std::string> programs;
    std::set<std::vector<float>> features;
    for (std::uint32_t option = 0; option < order->options.size(); ++option) {
      one.choice[std::size_t(order - knobs.begin())] = option;
      const auto told = features_of(task, one);
      const auto module = lower_configuration(task, one);
      if (!told || !module) continue;
      features.insert(*told);
      programs.insert(ir::print(*module));
    }
    if (programs.size() != 1) continue;
    EXPECT_EQ(features.size(), 1) << space.to_json(one);
    ++alike;
  }
  EXPECT_GT(alike, 5) << "orders of loops of which all but one run once";
}

TEST(Features, TheEstimateIsNoLessThanTheArithmeticTakes) {
  const CpuSpace task = open_cpu_space(conv().dag(), target()).value();
  const SearchSpace& space = task.space();
  std::mt19937_64 rng(7);
  const std::size_t estimate = feature_index("log_estimated_cycles"),
                    operations = feature_index("log_vector_operations");
  float least = 1e9f, most = 0;
  for (int i = 0; i < 30; ++i) {
    const auto features = features_of(task, space.random(rng));
    if (!features) continue;
    // Two operations a cycle.
    EXPECT_GE((*features)[estimate], (*features)[operations] - 1.001);
    least = std::min(least, (*features)[estimate]);
    most = std::max(most, (*features)[estimate]);
  }
  EXPECT_GT(most, least + 0.5f) << "it tells programs apart";
}

// What is screened out is never built: most programs must pass, these faults must not.
TEST(Screen, PassesMostProgramsOfASpace) {
  const CpuSpace task = open_cpu_space(conv().dag(), target()).value();
  const SearchSpace& space = task.space();
  std::mt19937_64 rng(5);
  int lowered = 0, passed = 0;
  for (int i = 0; i < 60; ++i) {
    const auto features = features_of(task, space.random(rng));
    if (!features) continue;
    ++lowered;
    passed += screen(*features, target()) == nullptr;
  }
  EXPECT_GE(lowered, 40);
  EXPECT_GE(passed, lowered * 3 / 4);
}

TEST(Screen, NamesWhatNoBoardCanMakeGood) {
  CpuTarget small = target();
  small.memory_bytes = 1 << 20;
  const std::vector<float> harmless(feature_names().size(), 0);
  const auto with = [&](std::vector<std::pair<const char*, float>> changes) {
    std::vector<float> features = harmless;
    for (const auto& [name, value] : changes) features[feature_index(name)] = value;
    const char* why = screen(features, small);
    return std::string(why ? why : "");
  };
  EXPECT_EQ(with({}), "");
  EXPECT_NE(with({{"register_file_share", 2.5f}}).find("registers"), std::string::npos);
  EXPECT_NE(with({{"log_code", 16.0f}}).find("code"), std::string::npos);
  EXPECT_NE(with({{"log_tasks", 21.0f}, {"log_operations_per_task", 30.0f}}).find("tasks"),
            std::string::npos);
  EXPECT_NE(with({{"log_tasks", 11.0f}, {"log_operations_per_task", 3.0f}}).find("tasks"),
            std::string::npos);
  EXPECT_EQ(with({{"log_tasks", 3.0f}, {"log_operations_per_task", 3.0f}}), "") << "a small task";
  EXPECT_NE(with({{"log_scratch_bytes", 21.0f}}).find("memory"), std::string::npos);
  small.memory_bytes = 0;  // not known
  EXPECT_EQ(with({{"log_scratch_bytes", 21.0f}}), "");
  EXPECT_EQ(screen({}, small), nullptr) << "no features, no verdict";
}

}  // namespace
}  // namespace fettle::lower
