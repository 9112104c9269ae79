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
  ASSERT_EQ(session.summary["tasks"].size(), 2u);
  for (const auto& task : session.summary["tasks"]) {
    EXPECT_GT(task["best_gflops"].get<double>(), 0) << task;
  }
  for (const auto& record : records()) {
    const auto* measurement = record.measurement();
    ASSERT_NE(measurement, nullptr) << record.failure()->error->message;
    EXPECT_EQ(measurement->clock, wire::ClockDomain::AcceleratorCycles);
    EXPECT_GT(measurement->median, 0);
  }
  const auto explained =
      run_program({FETTLE_PROGRAM, "explain", std::to_string(records().front().id), "--db", db});
  ASSERT_EQ(explained.status, 0) << explained.err;
  for (const char* part : {"--- instructions", "GEMM", "--- on the chip", "--- bound",
                           "--- units, by the simulator's estimate"}) {
    EXPECT_NE(explained.out.find(part), std::string::npos) << part;
  }
}

}  // namespace
}  // namespace fettle::testing
