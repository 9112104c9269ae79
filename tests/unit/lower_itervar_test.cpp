// Itervar features: as many for every configuration, each loop told as it is.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include <nlohmann/json.hpp>

#include "host/lower/itervar_features.h"
#include "host/space/sketches/sketches.h"
#include "host/space/workload.h"

namespace fettle::lower {
namespace {

constexpr std::size_t kLength = 1 + kItervarLoops * kLoopColumns;
constexpr std::size_t kBuffers = 11;  // the first column of a loop's buffers

// for y < ys: for x < xs (of some kind): out[y * pitch + x] = in[y * pitch + x]
struct Copy {
  std::int64_t ys = 4, xs = 8, pitch = 8;
  ir::ForKind kind = ir::ForKind::Serial;
  const char* from = "in";

  std::vector<float> features() const {
    const auto buffer = [](const char* name) {
      return std::make_shared<ir::BufferDecl>(ir::BufferDecl{name, ir::kFloat32, {1024}});
    };
    const ir::Buffer in = buffer(from), out = buffer("out");
    const ir::Var y = ir::make_var("y"), x = ir::make_var("x");
    const ir::Expr at = ir::var_ref(y) * ir::int_imm(pitch) + ir::var_ref(x);
    const ir::Stmt store = ir::make_store(out, {at}, ir::load(in, {at}));
    const ir::Stmt inner = ir::make_for(x, ir::int_imm(0), ir::int_imm(xs), kind, store);
    ir::Module module;
    ir::Function function;
    function.body = ir::make_for(y, ir::int_imm(0), ir::int_imm(ys), ir::ForKind::Parallel, inner);
    function.extent = 1;
    module.functions.push_back(std::move(function));
    module.launches.push_back({});
    return itervar_features(module, {"in", "out"}, 0);
  }
};

float log2_of(double value) { return static_cast<float>(std::log2(1 + value)); }

// The columns in which two programs differ: of the loop, and of its buffers.
std::set<std::pair<std::size_t, std::size_t>> differences(const std::vector<float>& a,
                                                          const std::vector<float>& b) {
  std::set<std::pair<std::size_t, std::size_t>> places;
  for (std::size_t i = 1; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    places.emplace((i - 1) / kLoopColumns, (i - 1) % kLoopColumns);
  }
  return places;
}

TEST(Itervar, ALoopIsToldByClosedFormulas) {
  const std::vector<float> features = Copy{.ys = 4, .xs = 8, .pitch = 16}.features();
  ASSERT_EQ(features.size(), kLength);
  const auto column = [&](std::size_t loop, std::size_t c) {
    return features[1 + loop * kLoopColumns + c];
  };
  EXPECT_EQ(column(0, 0), log2_of(4)) << "length";
  EXPECT_EQ(column(0, 1), 0) << "nest level";
  EXPECT_EQ(column(0, 2), log2_of(4)) << "down to the loop";
  EXPECT_EQ(column(0, 3), log2_of(32)) << "from it inwards";
  EXPECT_EQ(column(0, 4 + 3), 1) << "parallel";
  EXPECT_EQ(column(1, 1), 1);
  EXPECT_EQ(column(1, 2), log2_of(32));
  EXPECT_EQ(column(1, 3), log2_of(8));
  EXPECT_EQ(column(1, 4), 1) << "serial";
  for (std::size_t buffer : {0, 1}) {
    const std::size_t at = kBuffers + buffer * kBufferColumns;
    EXPECT_EQ(column(0, at), log2_of(16)) << "stride";
    EXPECT_EQ(column(0, at + 1), log2_of(48)) << "span";
    EXPECT_EQ(column(0, at + 2), log2_of(32)) << "count";
    EXPECT_EQ(column(0, at + 3), log2_of(1)) << "reuse";
    EXPECT_EQ(column(1, at), log2_of(1));
    EXPECT_EQ(column(1, at + 2), log2_of(8));
    EXPECT_EQ(column(1, at + 4), log2_of(32)) << "count with the loops around";
  }
  EXPECT_TRUE(std::isnan(column(0, kBuffers + 2 * kBufferColumns))) << "there are two stages";
  EXPECT_TRUE(std::isnan(column(2, 0))) << "there are two loops";
}

TEST(Itervar, AKindALengthAndAStrideAreTold) {
  const std::vector<float> plain = Copy{}.features();
  EXPECT_EQ(differences(plain, Copy{}.features()).size(), 0u);
  using Places = std::set<std::pair<std::size_t, std::size_t>>;
  EXPECT_EQ(differences(plain, Copy{.kind = ir::ForKind::Vectorized}.features()),
            (Places{{1, 4}, {1, 6}}));
  EXPECT_EQ(differences(plain, Copy{.kind = ir::ForKind::Unrolled}.features()),
            (Places{{1, 4}, {1, 5}}));
  const auto longer = differences(plain, Copy{.ys = 5}.features());
  EXPECT_TRUE(longer.contains({0, 0}));
  EXPECT_FALSE(longer.contains({1, 0}));
  const auto strided = differences(plain, Copy{.pitch = 9}.features());
  EXPECT_TRUE(strided.contains({0, kBuffers}));
  EXPECT_FALSE(strided.contains({0, 0}));
}

TEST(Itervar, ACopyOfAStageIsThatStage) {
  const std::vector<float> plain = Copy{}.features(), packed = Copy{.from = "in.packed"}.features();
  EXPECT_TRUE(differences(plain, packed).empty());
  EXPECT_FALSE(differences(plain, Copy{.from = "other"}.features()).empty());
}

space::CpuTarget target() {
  space::CpuTarget t{"x86_64", "x86_64-linux-gnu", "x86-64-v3", {}, 256, 16, true, 2};
  t.caches = {{1, 32768, 64, 1}, {2, 1 << 20, 64, 1}, {3, 32 << 20, 64, 8}};
  return t;
}

// Of every sketch, and with loops that stand at the same place in all of one sketch's programs.
TEST(Itervar, ConfigurationsOfATaskAreEquallyLong) {
  const auto workload = space::Workload::parse(nlohmann::json{{"op", "conv2d"},
                                                              {"height", 28},
                                                              {"width", 28},
                                                              {"in_channels", 64},
                                                              {"out_channels", 64},
                                                              {"kernel", 3},
                                                              {"pad", 1},
                                                              {"tail", {"bias", "relu"}}});
  const auto task = space::open_cpu_space(workload->dag(), target());
  ASSERT_TRUE(task);
  std::mt19937_64 rng(1);
  std::set<std::uint32_t> sketches;
  std::set<std::vector<float>> different;
  for (int i = 0; i < 60; ++i) {
    const auto configuration = task->space().random(rng);
    const auto features = itervar_features_of(*task, configuration, 2);
    ASSERT_TRUE(features) << features.error().text();
    ASSERT_EQ(features->size(), kLength);
    EXPECT_EQ(features->front(), static_cast<float>(configuration.sketch));
    EXPECT_EQ((*features)[1 + 4 + 3], 1) << "the output's parallel loop is the first one";
    EXPECT_TRUE(std::isnan(features->back())) << "the last loops found no place";
    sketches.insert(configuration.sketch);
    std::vector<float> known = *features;
    std::replace_if(known.begin(), known.end(), [](float x) { return std::isnan(x); }, -1.0f);
    different.insert(std::move(known));
  }
  EXPECT_GT(sketches.size(), 1u);
  EXPECT_GT(different.size(), 55u);
}

// Whatever a model sees is a number or is not there.
TEST(Itervar, AreFiniteForOperatorsOfAllKinds) {
  const nlohmann::json operators[] = {
      {{"op", "dense"}, {"in_features", 96}, {"out_features", 100}},
      {{"op", "depthwise_conv2d"}, {"height", 14}, {"width", 14}, {"channels", 24}, {"kernel", 3}},
      {{"op", "conv2d"},
       {"height", 9},
       {"width", 9},
       {"in_channels", 8},
       {"out_channels", 12},
       {"kernel", 3},
       {"groups", 4}},
      {{"op", "max_pool2d"}, {"height", 14}, {"width", 14}, {"channels", 24}, {"kernel", 2}},
      {{"op", "conv2d_transpose"},
       {"height", 8},
       {"width", 8},
       {"in_channels", 8},
       {"out_channels", 8},
       {"kernel", 2},
       {"stride", 2}}};
  std::mt19937_64 rng(5);
  for (const nlohmann::json& json : operators) {
    const auto workload = space::Workload::parse(json);
    ASSERT_TRUE(workload) << workload.error().text();
    const auto task = space::open_cpu_space(workload->dag(), target());
    ASSERT_TRUE(task) << task.error().text();
    int lowered = 0;
    for (int i = 0; i < 20; ++i) {
      const auto features = itervar_features_of(*task, task->space().random(rng), 2);
      if (!features) continue;
      ++lowered;
      ASSERT_EQ(features->size(), kLength);
      EXPECT_EQ(
          std::count_if(features->begin(), features->end(), [](float x) { return std::isinf(x); }),
          0);
      EXPECT_FALSE(std::isnan((*features)[1])) << "it has a loop";
    }
    EXPECT_GT(lowered, 10) << workload->title();
  }
}

}  // namespace
}  // namespace fettle::lower
