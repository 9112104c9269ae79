// fettle-bench vta and vta-estimate: their arithmetic, and one small layer searched and run, from
// records too, on each core.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "fpga/config/design.h"
#include "host/backend/vta/design_target.h"
#include "host/records/database.h"
#include "tests/bench/vta/estimate_bench.h"
#include "tests/bench/vta/layer.h"
#include "tests/bench/vta/vta_bench.h"

namespace fettle::bench {
namespace {

using Json = nlohmann::json;

VtaFigures layer(const char* title, std::uint64_t cycles, std::uint64_t bound, double published) {
  VtaFigures figures;
  figures.title = title;
  figures.programs = 2;
  figures.cycles = cycles;
  figures.chosen_cycles = cycles + cycles / 10;
  figures.bound.gemm_cycles = bound;
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
  EXPECT_EQ(summary.programs, 4u);
  EXPECT_DOUBLE_EQ(summary.least_share, 0.5);
  EXPECT_EQ(summary.least_layer, "b");
  EXPECT_NEAR(summary.geomean_share, 0.6708, 1e-4);
  EXPECT_NEAR(summary.geomean_chosen, 1.1, 1e-12);
  EXPECT_EQ(summary.published, 1u);
  EXPECT_NEAR(summary.geomean_over_published, 2, 1e-12);
}

TEST(EstimateBench, Summary) {
  const std::vector<Estimated> all = {{"a", "", 90, 100},  {"a", "", 220, 200}, {"a", "", 300, 300},
                                      {"a", "", 400, 400}, {"b", "", 500, 500}, {"b", "", 600, 601},
                                      {"b", "", 599, 600}, {"b", "", 590, 602}, {"c", "", 2, 1}};
  const EstimateSummary summary = summarise(all);
  EXPECT_EQ(summary.configurations, 9u);
  EXPECT_DOUBLE_EQ(summary.largest, 1);  // of c
  EXPECT_NEAR(summary.mean, (0.1 + 0.1 + 2.0 / 600.5 + 12.0 / 602 + 1) / 9, 1e-4);
  EXPECT_GT(summary.mean_signed, 0.1);
  // a is in order; of b the estimate takes the last for the second; c has too few.
  const double of_b = 1 - 6 * (1.0 + 1 + 4) / (4 * 15);
  EXPECT_NEAR(summary.rank_correlation.value(), (1 + of_b) / 2, 1e-12);
  EXPECT_NEAR(summary.least_rank_correlation.value(), of_b, 1e-12);
  EXPECT_EQ(summary.least_rank_correlation_layer, "b");
}

// Estimates that order the layers and nothing within them.
TEST(EstimateBench, LargeLayersBesideSmallOnesAreNoAgreement) {
  std::vector<Estimated> all;
  for (std::uint64_t k = 0; k < 4; ++k) {
    all.push_back({"small", "", 100 - k, 100 + k});
    all.push_back({"large", "", 100000 - k, 100000 + k});
  }
  const Json told = to_json(summarise(all));
  EXPECT_DOUBLE_EQ(told["rank_correlation"], -1);
  EXPECT_DOUBLE_EQ(told["least_rank_correlation_in_a_layer"], -1);
  all = {{"a", "", 1, 1}, {"a", "", 2, 2}, {"b", "", 3, 3}};
  const Json few = to_json(summarise(all));
  for (const char* none :
       {"rank_correlation", "least_rank_correlation_in_a_layer", "least_rank_correlation_layer"}) {
    ASSERT_TRUE(few.contains(none)) << none;
    EXPECT_TRUE(few[none].is_null()) << none;
  }
}

class SmallLayer : public ::testing::Test {
 protected:
  SmallLayer() {
    std::filesystem::remove(db);
    std::ofstream(network) << R"([{"op": "conv2d", "layout": "NCHW1n16c", "dtype": "int8",
      "height": 8, "width": 8, "in_channels": 32, "out_channels": 32, "kernel": 3, "pad": 1,
      "tail": ["shift_right 8", "clip 0 127", "cast int8"]}])";
  }
  ~SmallLayer() override {
    std::filesystem::remove(network);
    std::filesystem::remove(db);
  }

  VtaBenchOptions options() const {
    VtaBenchOptions options;
    options.network = network;
    options.db = db;
    options.json = true;
    return options;
  }
  // The lines of what it prints.
  template <typename Run>
  static std::vector<Json> lines(Run run) {
    ::testing::internal::CaptureStdout();
    const auto done = run();
    std::istringstream text(::testing::internal::GetCapturedStdout());
    EXPECT_TRUE(done) << done.error().text();
    std::vector<Json> out;
    for (std::string line; std::getline(text, line);) out.push_back(Json::parse(line));
    return out;
  }
  void store(const VtaLayer& of, const space::Configuration& configuration,
             const std::string& program, double cycles) {
    auto database = records::Database::open(db);
    ASSERT_TRUE(database) << database.error().text();
    wire::BoardT board;
    wire::DeviceInfoT device;
    board.id = "here";
    device.key = "vta-sim";
    ASSERT_TRUE(database->register_device(board, device));
    records::TuningRecord record;
    record.session = "5e55";
    record.workload = of.workload.canonical();
    record.workload_hash = of.workload.hash();
    record.target = vta::host::DesignTarget{*vta::find_design("pynq")}.target().canonical();
    record.configuration = of.task->space().to_json(configuration);
    record.device_key = device.key;
    record.board_id = record.outcome.board_id = board.id;
    record.program_hash = program;
    wire::MeasurementT measurement;
    measurement.clock = wire::ClockDomain::AcceleratorCycles;
    measurement.ticks_per_second = 1e8;
    measurement.number = 1;
    measurement.median = measurement.interval_low = measurement.interval_high = cycles;
    measurement.samples.emplace_back(static_cast<std::uint64_t>(cycles), 1);
    record.outcome.body.Set(std::move(measurement));
    const auto id = database->insert(record);
    ASSERT_TRUE(id) << id.error().text();
  }

  const std::string network = ::testing::TempDir() + "vta_bench_test.json";
  const std::string db = ::testing::TempDir() + "vta_bench_test.db";
};

TEST_F(SmallLayer, IsSearchedAndRight) {
  VtaBenchOptions how = options();
  how.candidates = 4;
  const auto out = lines([&] { return run_vta_bench(how); });
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0]["cycles"], out[0]["estimated_cycles"]);
  EXPECT_EQ(out[1]["core"], "simulator");
  EXPECT_EQ(out[1]["min_roofline_share"], out[0]["roofline_share"]);
  how.network = "resnet-18";  // float32
  ::testing::internal::CaptureStdout();
  EXPECT_FALSE(run_vta_bench(how));
  EXPECT_NE(::testing::internal::GetCapturedStdout().find("products of int8"), std::string::npos);
}

// The best distinct programs, whatever the records say of their times.
TEST_F(SmallLayer, RecordsAreRunAgain) {
  const auto layers = layers_of(network, {}, *vta::find_design("pynq"));
  ASSERT_TRUE(layers) << layers.error().text();
  std::mt19937_64 rng(1);
  std::vector<space::Configuration> drawn;
  while (drawn.size() < 4) {
    space::Configuration one = layers->front().task->space().random(rng);
    if (std::find(drawn.begin(), drawn.end(), one) == drawn.end()) drawn.push_back(one);
  }
  const std::string same(64, 'a');
  store(layers->front(), drawn[0], same, 1000);
  store(layers->front(), drawn[1], same, 2000);
  store(layers->front(), drawn[2], std::string(64, 'b'), 3000);
  store(layers->front(), drawn[3], std::string(64, 'c'), 4000);
  VtaBenchOptions how = options();
  how.best = 2;
  const auto out = lines([&] { return run_vta_bench(how); });
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0]["programs"], 2);
  EXPECT_TRUE(out[0]["record"] == 1 || out[0]["record"] == 3) << out[0];
}

#ifdef FETTLE_BENCH_RTL
TEST_F(SmallLayer, IsTimedOnTheVerilatedCore) {
  VtaBenchOptions how = options();
  how.candidates = 8;
  how.best = 3;
  how.rtl = true;
  how.jobs = 2;
  const auto out = lines([&] { return run_vta_bench(how); });
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0]["programs"], 3);
  const double cycles = out[0]["cycles"], estimated = out[0]["estimated_cycles"];
  EXPECT_NE(cycles, 0);
  EXPECT_NEAR(estimated / cycles, 1, 0.02);
  EXPECT_GE(out[0]["chosen_cycles"], out[0]["cycles"]);
  EXPECT_EQ(out[1]["core"], "rtl");
}

TEST_F(SmallLayer, PoolsOnTheVerilatedCore) {
  std::ofstream(network) << R"([{"op": "max_pool2d", "layout": "NCHW1n16c", "dtype": "int8",
    "height": 23, "width": 19, "channels": 32, "kernel": 3, "stride": 2, "pad": 1}])";
  VtaBenchOptions how = options();
  how.candidates = 12;
  how.best = 12;
  how.rtl = true;
  const auto out = lines([&] { return run_vta_bench(how); });
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0]["programs"], 12);
  EXPECT_FALSE(out[0].contains("gops"));
  const double cycles = out[0]["cycles"], estimated = out[0]["estimated_cycles"];
  EXPECT_NEAR(estimated / cycles, 1, 0.02);
  EXPECT_GT(out[0]["roofline_share"], 0.3);
}

TEST_F(SmallLayer, TheEstimateIsJudged) {
  EstimateBenchOptions how;
  how.network = network;
  how.configurations = 6;
  how.json = true;
  const auto out = lines([&] { return run_estimate_bench(how); });
  ASSERT_EQ(out.size(), 7u);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_NEAR(out[i]["difference"], 0, 0.02) << out[i];
  }
  EXPECT_EQ(out[6]["configurations"], 6);
  EXPECT_LE(out[6]["mean_difference"], out[6]["largest_difference"]);
}
#else
TEST_F(SmallLayer, NeedsVerilator) {
  VtaBenchOptions how = options();
  how.candidates = 1;
  how.rtl = true;
  ::testing::internal::CaptureStdout();
  const auto done = run_vta_bench(how);
  ::testing::internal::GetCapturedStdout();
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().text().find("Verilator"), std::string::npos);
}
#endif

}  // namespace
}  // namespace fettle::bench
