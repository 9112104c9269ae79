// fettle-bench vta: its arithmetic, and one small layer searched and run.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "tests/bench/vta/vta_bench.h"

namespace fettle::bench {
namespace {

VtaFigures layer(const char* title, std::uint64_t cycles, double bound, double published) {
  VtaFigures figures;
  figures.title = title;
  figures.cycles = cycles;
  figures.bound_cycles = bound;
  figures.multiply_adds = 256.0 * 900;
  figures.clock_hz = 1e8;
  figures.published_gops = published;
  return figures;
}

TEST(VtaBench, Summary) {
  VtaFigures lost;
  lost.missing = "no record";
  const VtaSummary summary =
      summarise({layer("a", 1000, 900, 23.04), layer("b", 2000, 1000, 0), lost});
  EXPECT_DOUBLE_EQ(layer("a", 1000, 900, 0).gops(), 46.08);
  EXPECT_EQ(summary.layers, 2u);
  EXPECT_DOUBLE_EQ(summary.least_share, 0.5);
  EXPECT_EQ(summary.least_layer, "b");
  EXPECT_NEAR(summary.geomean_share, 0.6708, 1e-4);
  EXPECT_EQ(summary.published, 1u);
  EXPECT_NEAR(summary.geomean_over_published, 2, 1e-12);
}

TEST(VtaBench, ASmallLayerIsSearchedAndRight) {
  const std::string path = ::testing::TempDir() + "vta_bench_test.json";
  std::ofstream(path) << R"([{"op": "conv2d", "layout": "NCHW1n16c", "dtype": "int8", "height": 8,
    "width": 8, "in_channels": 32, "out_channels": 32, "kernel": 3, "pad": 1,
    "tail": ["shift_right 8", "clip 0 127", "cast int8"]}])";
  VtaBenchOptions options;
  options.network = path;
  options.candidates = 4;
  ::testing::internal::CaptureStdout();
  options.json = true;
  const auto done = run_vta_bench(options);
  const std::string text = ::testing::internal::GetCapturedStdout();
  std::remove(path.c_str());
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_NE(text.find("\"roofline_share\""), std::string::npos) << text;
  EXPECT_NE(text.find("\"min_roofline_share\""), std::string::npos) << text;
  options.network = "resnet-18";  // float32
  ::testing::internal::CaptureStdout();
  EXPECT_FALSE(run_vta_bench(options));
  EXPECT_NE(::testing::internal::GetCapturedStdout().find("products of int8"), std::string::npos);
}

}  // namespace
}  // namespace fettle::bench
