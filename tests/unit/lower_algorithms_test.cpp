// Alternatives of a DAG: each computes what the DAG does, and those that are none are refused.
#include "host/ir/loads.h"
#include "host/space/algorithms/alternatives.h"
#include "host/space/algorithms/channels_last.h"
#include "host/space/algorithms/dot_product.h"
#include "host/space/padding.h"
#include "host/space/sketches/gpu_sketches.h"
#include "host/space/sketches/sketches.h"
#include "host/space/workload.h"
#include "tests/property/random_workload.h"
#include "tests/unit/schedule_checks.h"

namespace fettle::lower {
namespace {

// The shape of the buffer of that name; empty: there is none.
std::vector<std::int64_t> shape_of(const ir::Module& module, const std::string& name) {
  for (const ir::ProgramBuffer& b : module.buffers) {
    if (b.buffer->name == name) return b.buffer->shape;
  }
  return {};
}

// Six channels are two fours, the second half empty; four are read as they lie. Where nothing
// follows the sum, it is stored apart from what takes away the 128s.
TEST(Algorithms, DotProductsByFours) {
  for (const int channels : {4, 6}) {
    for (const int pad : {0, 1}) {
      for (const nlohmann::json& tail : {nlohmann::json::array(), nlohmann::json{"bias"}}) {
        const ComputeDag dag = workload_of({{"op", "conv2d"},
                                            {"height", 5},
                                            {"width", 6},
                                            {"in_channels", channels},
                                            {"out_channels", 10},
                                            {"kernel", 3},
                                            {"pad", pad},
                                            {"dtype", "int8"},
                                            {"tail", tail}})
                                   .dag();
        for (const bool add_128 : {false, true}) {
          SCOPED_TRACE(std::to_string(channels) + (add_128 ? " unsigned" : " signed"));
          const auto packed = with_dot_products(dag, add_128);
          ASSERT_TRUE(packed) << packed.error().text();
          expect_equal(Schedule(*packed), dag, [&](const ir::Module& module) {
            EXPECT_EQ(shape_of(module, "pad").empty(), pad == 0);
            EXPECT_EQ(shape_of(module, "input.copy").empty(),
                      pad == 1 || (!add_128 && channels == 4));
            const std::vector<std::int64_t> offset =
                pad == 0 ? std::vector<std::int64_t>{10} : std::vector<std::int64_t>{5, 10};
            EXPECT_EQ(shape_of(module, "weight.offset"),
                      add_128 ? offset : std::vector<std::int64_t>{});
          });
        }
      }
    }
  }
}

// In the copy rows of padding are zeros, columns are not where 128 is added.
TEST(Algorithms, WhereDotProductsReadZeros) {
  const ComputeDag dag = workload_of({{"op", "conv3d"},
                                      {"depth", 3},
                                      {"height", 4},
                                      {"width", 5},
                                      {"in_channels", 4},
                                      {"out_channels", 6},
                                      {"kernel", {3, 3, 3}},
                                      {"pad", {1, 1, 1}},
                                      {"dtype", "int8"},
                                      {"tail", {"bias"}}})
                             .dag();
  for (const bool add_128 : {false, true}) {
    const ComputeDag packed = with_dot_products(dag, add_128).value();
    const auto sum = std::find_if(packed.stages.begin(), packed.stages.end(),
                                  [](const Stage& s) { return packed_factors(s).has_value(); });
    ASSERT_NE(sum, packed.stages.end());
    const auto conditions = space::adds_nothing_unless(*sum, *packed.find("pad"));
    for (std::size_t window = 0; window < 3; ++window) {  // depth, height, width
      const bool asked =
          std::any_of(conditions.begin(), conditions.end(), [&](const ir::Expr& condition) {
            return ir::mentions(condition, sum->reduce_axes[window].var);
          });
      EXPECT_EQ(asked, window < 2 || !add_128) << window << add_128;
    }
  }
}

// The second input is made into fours by a launch before its reader's, so are the 128s.
TEST(Algorithms, DotProductsOfTwoInputs) {
  for (const int k : {8, 7}) {
    const ComputeDag dag =
        workload_of(
            {{"op", "batch_matmul"}, {"batch", 3}, {"m", 5}, {"n", 6}, {"k", k}, {"dtype", "int8"}})
            .dag();
    for (const bool add_128 : {false, true}) {
      const auto packed = with_dot_products(dag, add_128);
      ASSERT_TRUE(packed) << packed.error().text();
      expect_equal(Schedule(*packed), dag, [&](const ir::Module& module) {
        EXPECT_EQ(shape_of(module, "input_b.quads"), (std::vector<std::int64_t>{3, 2, 6}));
        EXPECT_EQ(shape_of(module, "input_b.offset").empty(), !add_128);
        for (const ir::Launch& launch : module.launches) EXPECT_FALSE(launch.prepare);
      });
    }
  }
}

TEST(Algorithms, DotProductsAreOfInt8) {
  const auto real = with_dot_products(
      workload_of({{"op", "dense"}, {"in_features", 8}, {"out_features", 8}}).dag(), false);
  ASSERT_FALSE(real);
  EXPECT_EQ(real.error().code, ErrorCode::InvalidArgument);
  EXPECT_FALSE(with_dot_products(
      workload_of({{"op", "softmax"}, {"batch", 2}, {"features", 8}}).dag(), false));
}

// A layout of channels first, alone or followed by elementwise stages, one of which reads
// another image; padded and not; and int8 by dot products after that.
TEST(Algorithms, ChannelsLast) {
  nlohmann::json fields = {{"op", "conv2d"},    {"layout", "NCHW"}, {"batch", 2},
                           {"height", 5},       {"width", 6},       {"in_channels", 6},
                           {"out_channels", 7}, {"kernel", {3, 2}}, {"stride", {1, 2}}};
  for (const int pad : {0, 1}) {
    fields["pad"] = pad;
    for (const nlohmann::json& tail : {nlohmann::json::array(), nlohmann::json{"bias", "add"}}) {
      SCOPED_TRACE("pad " + std::to_string(pad) + tail.dump());
      fields["tail"] = tail;
      fields["dtype"] = "float32";
      const ComputeDag real = workload_of(fields).dag();
      const auto last = with_channels_last(real);
      ASSERT_TRUE(last) << last.error().text();
      expect_equal(Schedule(*last), real, [&](const ir::Module& module) {
        EXPECT_EQ(shape_of(module, pad ? "pad" : "input.channels_last"),
                  (std::vector<std::int64_t>{2, 5 + 2 * pad, 6 + 2 * pad, 6}));
        EXPECT_EQ(shape_of(module, "weight.channels_last"),
                  (std::vector<std::int64_t>{3, 2, 6, 7}));
        EXPECT_EQ(shape_of(module, last->stages.back().name)[1], 7);
      });
      fields["dtype"] = "int8";
      if (!tail.empty()) fields["tail"] = {"bias"};
      const ComputeDag quantized = workload_of(fields).dag();
      for (const bool add_128 : {false, true}) {
        const auto packed = with_dot_products(with_channels_last(quantized).value(), add_128);
        ASSERT_TRUE(packed) << packed.error().text();
        expect_equal(Schedule(*packed), quantized);
      }
    }
  }
}

// Whose channels are last already, or belong to groups, or are not summed.
TEST(Algorithms, ChannelsLastRefusesOtherSums) {
  const auto refused = [](const std::string& fields) {
    const auto made =
        with_channels_last(Workload::parse(std::string("{\"op\":") + fields + "}")->dag());
    return !made && made.error().code == ErrorCode::InvalidArgument;
  };
  const std::string nchw =
      R"("conv2d","layout":"NCHW","height":5,"width":5,"in_channels":4,"out_channels":4,"kernel":3)";
  EXPECT_FALSE(refused(nchw));
  EXPECT_TRUE(refused(nchw + R"(,"groups":2)"));
  EXPECT_TRUE(refused(
      R"("conv2d","height":5,"width":5,"in_channels":4,"out_channels":4,"kernel":3,"pad":1)"));
  EXPECT_TRUE(refused(R"("dense","in_features":5,"out_features":5)"));
  EXPECT_TRUE(refused(
      R"("depthwise_conv2d","layout":"NCHW","height":5,"width":5,"channels":4,"kernel":3)"));
}

// Tiles that the image holds whole and such that overlap, with padding and a tail and without,
// channels first and last.
TEST(Algorithms, WinogradComputesTheConvolution) {
  for (const char* layout : {"NHWC", "NCHW"}) {
    for (const nlohmann::json& tail : {nlohmann::json::array(), nlohmann::json{"bias", "add"}}) {
      const ComputeDag dag = workload_of({{"op", "conv2d"},
                                          {"layout", layout},
                                          {"height", 5},
                                          {"width", 8},
                                          {"in_channels", 3},
                                          {"out_channels", 5},
                                          {"kernel", 3},
                                          {"pad", tail.empty() ? 0 : 1},
                                          {"tail", tail}})
                                 .dag();
      ComputeDag last = dag;
      if (std::string(layout) == "NCHW") {
        EXPECT_FALSE(with_winograd(dag, 2, 2));
        last = with_channels_last(dag).value();
      }
      for (const auto& [y, x] : {std::pair{2, 2}, {2, 4}}) {
        const auto made = with_winograd(last, y, x);
        ASSERT_TRUE(made) << made.error().text();
        expect_equal(Schedule(made->dag), dag);
        EXPECT_EQ(made->dag.find(made->stages.products)->reduce_axes[0].extent, 3);
      }
      EXPECT_FALSE(with_winograd(last, 3, 2));
      EXPECT_FALSE(with_winograd(last, 2, 8));
    }
  }
}

// Each alternative of random workloads, scheduled by nothing.
TEST(Algorithms, AlternativesOfRandomWorkloadsAgree) {
  std::mt19937_64 rng(14);
  int others = 0;
  for (int i = 0; i < 60; ++i) {
    const Workload workload = property::random_workload(rng, i % 3 == 0);
    const ComputeDag dag = workload.dag();
    if (dag.stages.back().buffer->type.bytes() != 4) continue;
    for (const CpuTarget& device : property::small_targets()) {
      const auto alternatives = alternatives_of(dag, {device.sums_of_byte_products()});
      EXPECT_EQ(alternatives.front().name, "direct");
      EXPECT_EQ(alternatives.front().error_growth, 1);
      for (const Alternative& a : alternatives) {
        if (a.algorithm == Algorithm::Direct && !a.channels_last) continue;
        SCOPED_TRACE(workload.canonical() + " " + a.name);
        expect_equal(Schedule(a.dag), dag);
        ++others;
      }
    }
  }
  EXPECT_GT(others, 20);
}

// Whose names records hold.
TEST(Algorithms, SketchesOfAlternativesKeepTheirNames) {
  const auto names = [](const char* layout, const char* dtype) {
    const auto task = open_cpu_space(workload_of({{"op", "conv2d"},
                                                  {"layout", layout},
                                                  {"dtype", dtype},
                                                  {"height", 14},
                                                  {"width", 14},
                                                  {"in_channels", 64},
                                                  {"out_channels", 64},
                                                  {"kernel", 3},
                                                  {"pad", 1}})
                                         .dag(),
                                     property::small_targets()[1]);
    std::vector<std::string> found;
    for (const Sketch& sketch : task->space().sketches()) found.push_back(sketch.name);
    return found;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names("NHWC", "float32"),
            (Names{"cpu_tiled", "cpu_winograd_2", "cpu_winograd_4x2", "cpu_winograd_4"}));
  EXPECT_EQ(names("NHWC", "int8"), (Names{"cpu_tiled"}));
  EXPECT_EQ(names("NCHW", "float32"),
            (Names{"cpu_spatial", "cpu_tiled_channels_last", "cpu_winograd_2_channels_last",
                   "cpu_winograd_4x2_channels_last", "cpu_winograd_4_channels_last"}));
}

// On a GPU whose grid and memory are large enough, of what is stated as floats.
TEST(Algorithms, SketchesOfGpus) {
  GpuTarget gpu;
  gpu.backend = "opencl_c";
  const auto growths = [&](const char* layout, const char* dtype, int stride, int channels = 64) {
    const auto task = open_gpu_space(workload_of({{"op", "conv2d"},
                                                  {"layout", layout},
                                                  {"dtype", dtype},
                                                  {"height", 14},
                                                  {"width", 14},
                                                  {"in_channels", channels},
                                                  {"out_channels", 64},
                                                  {"stride", {stride, stride}},
                                                  {"kernel", 3},
                                                  {"pad", 1}})
                                         .dag(),
                                     gpu);
    std::map<std::string, double> found;
    std::mt19937_64 rng(1);
    for (int i = 0; i < 50; ++i) {
      const auto c = task->space().random(rng);
      found[task->space().sketches()[c.sketch].name] = task->error_growth(c);
    }
    return found;
  };
  for (const char* layout : {"NHWC", "NCHW"}) {
    const auto found = growths(layout, "float32", 1);
    ASSERT_EQ(found.size(), 4u) << layout;
    EXPECT_EQ(found.at("gpu_tiled"), 1);
    EXPECT_GT(found.at("gpu_winograd_2"), 1);
    EXPECT_GT(found.at("gpu_winograd_4"), found.at("gpu_winograd_2"));
    EXPECT_GT(found.at("gpu_winograd_6"), found.at("gpu_winograd_4"));
    const auto halves = growths(layout, "float16", 1);
    ASSERT_EQ(halves.size(), 3u) << layout << ": tiles of 6 leave no result";
    EXPECT_EQ(halves.at("gpu_tiled"), 1);
    EXPECT_GT(halves.at("gpu_winograd_2"), 100);
    EXPECT_GT(halves.at("gpu_winograd_4"), halves.at("gpu_winograd_2"));
    // The more terms a sum has, the less is each of them.
    EXPECT_FALSE(growths(layout, "float16", 1, 512).contains("gpu_winograd_4"));
    EXPECT_TRUE(growths(layout, "float16", 1, 512).contains("gpu_winograd_2"));
    EXPECT_TRUE(growths(layout, "float32", 1, 512).contains("gpu_winograd_6"));
  }
  EXPECT_EQ(growths("NHWC", "int8", 1).size(), 1u);
  EXPECT_EQ(growths("NHWC", "float32", 2).size(), 1u);
  gpu.memory_bytes = 100 << 10;  // the smaller tile's products alone are 196 KiB
  EXPECT_EQ(growths("NHWC", "float32", 1).size(), 1u);
}

}  // namespace
}  // namespace fettle::lower
