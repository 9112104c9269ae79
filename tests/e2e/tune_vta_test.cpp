// `fettle tune --device vta-sim`: builders, broker, agent and its simulated accelerator.
#include "tests/e2e/tune_support.h"

namespace fettle::testing {
namespace {

using std::chrono::seconds;

class TuneVta : public TuneTest {
 protected:
  TuneVta() {
    std::ofstream(tasks) << R"([
      {"op": "conv2d", "layout": "NCHW1n16c", "dtype": "int8", "height": 14, "width": 14,
       "in_channels": 32, "out_channels": 64, "kernel": 3, "pad": 1,
       "tail": ["bias", "shift_right 8", "clip 0 127", "cast int8"]},
      {"op": "dense", "layout": "1n16c", "dtype": "int8", "batch": 4, "in_features": 64,
       "out_features": 96, "tail": ["shift_right 6", "add", "clip -128 127", "cast int8"]},
      {"op": "max_pool2d", "layout": "NCHW1n16c", "dtype": "int8", "height": 29, "width": 29,
       "channels": 32, "kernel": 3, "stride": 2, "pad": 1},
      {"op": "dense", "in_features": 64, "out_features": 32}])";
  }
};

TEST_F(TuneVta, EveryTaskThatItCanDoHasARightRecord) {
  const auto result = run_program(tune({"--device", "vta-sim", "--trials", "32", "--seed", "1"}),
                                  seconds(240), environment());
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.err.find("skipped: dense 64→32: the VTA accelerator sums products of int8"),
            std::string::npos)
      << result.err;
  const Session session = parse(result.out);
  EXPECT_EQ(session.trials.size(), 32u);
  ASSERT_TRUE(session.summary.is_object());
  ASSERT_EQ(session.summary["tasks"].size(), 3u);
  for (const auto& task : session.summary["tasks"]) {
    EXPECT_GT(task["best_gflops"].get<double>(), 0) << task;
  }
  expect_sound_database(32, 3);
  for (const auto& record : records()) {
    const auto* measurement = record.measurement();
    ASSERT_NE(measurement, nullptr) << record.failure()->error->message;
    EXPECT_EQ(measurement->clock, wire::ClockDomain::AcceleratorCycles);
    EXPECT_GT(measurement->median, 0);
    EXPECT_TRUE(record.nanoseconds()) << "cycles of a known rate: what is best can be told";
  }
  const auto explained =
      run_program({FETTLE_PROGRAM, "explain", std::to_string(records().front().id), "--db", db});
  ASSERT_EQ(explained.status, 0) << explained.err;
  for (const char* part : {"--- instructions", "GEMM", "--- on the chip", "--- bound",
                           "--- units, by the simulator's estimate"}) {
    EXPECT_NE(explained.out.find(part), std::string::npos) << part;
  }
  const auto page = run_program(
      {FETTLE_PROGRAM, "explain", std::to_string(records().front().id), "--db", db, "--html", "-"});
  ASSERT_EQ(page.status, 0) << page.err;
  for (const char* part : {"<!DOCTYPE html>", "<svg", "GEMM", "</html>"}) {
    EXPECT_NE(page.out.find(part), std::string::npos) << part;
  }
}

// A log that AutoTVM wrote: its configuration of the first task comes first.
TEST_F(TuneVta, BeginsWithALogOfAutotvm) {
  const std::string log = folder.file("vta.log");
  const auto line = [](int width, int tile) {
    return R"({"input": ["ext_dev -device=vta", "conv2d_packed.vta", [["TENSOR", [1, 2, 14, )" +
           std::to_string(width) +
           R"(, 1, 16], "int8"], ["TENSOR", [4, 2, 3, 3, 16, 16], "int8"], [1, 1], [1, 1, 1, 1],
           [1, 1], "NCHW1n16c", "int32"], {}], "config": {"index": 1, "code_hash": null, "entity":
           [["tile_b", "sp", [-1, 1]], ["tile_h", "sp", [-1, 7]], ["tile_w", "sp", [-1, )" +
           std::to_string(tile) +
           R"(]], ["tile_ci", "sp", [-1, 2]], ["tile_co", "sp", [-1, 1]], ["oc_nthread", "ot", 1],
           ["h_nthread", "ot", 2]]}, "result": [[0.01], 0, 1.0, 1.6e9], "version": 0.2})";
  };
  std::string text;
  for (const auto& [width, tile] : {std::pair{14, 14}, {28, 14}, {14, 6}}) {
    std::string one = line(width, tile);
    std::erase(one, '\n');
    text += one + "\n";
  }
  std::ofstream(log) << text;
  const auto result =
      run_program(tune({"--device", "vta-sim", "--trials", "8", "--seed", "1", "--first", log}),
                  seconds(240), environment());
  ASSERT_EQ(result.status, 0) << result.err;
  for (const char* part : {"line 2 skipped: of a convolution that is none of these tasks",
                           "line 3 skipped:", "\"tile_w\" has no option [",
                           "1 configurations of 1 tasks are tried first"}) {
    EXPECT_NE(result.err.find(part), std::string::npos) << part << "\n" << result.err;
  }
  bool tried = false;
  for (const auto& record : records()) {
    tried |= record.configuration.find("\"tile_h\":[7]") != std::string::npos &&
             record.configuration.find("\"tile_w\":[14]") != std::string::npos &&
             record.configuration.find("\"tile_co\":[1]") != std::string::npos &&
             record.configuration.find("\"h_nthread\":[2]") != std::string::npos;
  }
  EXPECT_TRUE(tried);
  const auto elsewhere = run_program(tune({"--device", "local", "--trials", "8", "--first", log}),
                                     seconds(240), environment());
  EXPECT_NE(elsewhere.status, 0);
  EXPECT_NE(elsewhere.err.find("for the VTA accelerator"), std::string::npos) << elsewhere.err;
}

}  // namespace
}  // namespace fettle::testing
