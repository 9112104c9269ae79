// The model of a fleet against what can be told by hand (fleet_model.h).
#include <gtest/gtest.h>

#include "tests/bench/planning/planning_bench.h"

namespace fettle::bench {
namespace {

FleetModel quick() {
  FleetModel model;
  model.core_us = 10;
  model.message_us = 2;
  model.seconds = 2;
  model.session_ms = 0;
  model.builders = 0;  // builds take no time
  return model;
}

TEST(FleetModel, BoardsAloneAreBusyAllTheTime) {
  FleetModel model = quick();
  model.boards = 4, model.kernel_ms = 20;
  const FleetForecast told = forecast(model);
  EXPECT_NEAR(told.results_per_second, 4 * 1000 / 20.0, 2);
  EXPECT_GT(told.boards_busy, 0.99);
  EXPECT_EQ(told.failures, 0u);
  EXPECT_STREQ(limit_of(told), "boards");
}

// Longer than the time that is asked for.
TEST(FleetModel, SlowKernels) {
  FleetModel model = quick();
  model.boards = 3, model.kernel_ms = 5000;
  const FleetForecast told = forecast(model);
  EXPECT_NEAR(told.results_per_second, 0.6, 0.07);
  EXPECT_GT(told.boards_busy, 0.99);
  EXPECT_GT(builders_needed(model, 0.9), 0u);
}

TEST(FleetModel, TheSameTwice) {
  FleetModel model = quick();
  model.boards = 20, model.builders = 5, model.session_ms = 3;
  const FleetForecast once = forecast(model), again = forecast(model);
  EXPECT_EQ(once.results, again.results);
  EXPECT_EQ(once.broker_busy, again.broker_busy);
}

TEST(FleetModel, BuildersHoldBack) {
  FleetModel model = quick();
  model.boards = 4, model.kernel_ms = 20;
  model.builders = 3, model.build_ms = 60;  // 50 candidates a second, boards would take 200
  const FleetForecast told = forecast(model);
  EXPECT_NEAR(told.results_per_second, 50, 2);
  EXPECT_NEAR(told.boards_busy, 0.25, 0.02);
  EXPECT_STREQ(limit_of(told), "builders");
}

TEST(FleetModel, SessionsHoldBack) {
  FleetModel model = quick();
  model.boards = 4, model.kernel_ms = 20;
  model.sessions = 2, model.session_ms = 20;
  const FleetForecast told = forecast(model);
  EXPECT_NEAR(told.results_per_second, 100, 3);
  EXPECT_STREQ(limit_of(told), "sessions");
}

TEST(FleetModel, TheBrokerHoldsBack) {
  FleetModel model = quick();
  model.boards = 100, model.kernel_ms = 5;  // 20,000 a second
  model.core_us = 100;
  const FleetForecast told = forecast(model);
  EXPECT_STREQ(limit_of(told), "the broker");
  // Two messages come for each result, and two go.
  EXPECT_NEAR(told.results_per_second, 1e6 / (2 * 100 + 4 * 2), 300);
  EXPECT_LT(told.boards_busy, 0.5);
}

TEST(FleetModel, TrialsInFlightHoldBack) {
  FleetModel model = quick();
  model.boards = 10, model.kernel_ms = 20;
  model.in_flight = 5;
  const FleetForecast told = forecast(model);
  EXPECT_NEAR(told.boards_busy, 0.5, 0.05);
  EXPECT_STREQ(limit_of(told), "trials in flight");
}

TEST(FleetPlanning, BuildersThatBoardsNeed) {
  FleetModel model = quick();
  model.boards = 10, model.kernel_ms = 20, model.build_ms = 60;
  // 500 trials a second at most, a builder makes 16.7 of them: 27 for nine tenths.
  EXPECT_NEAR(builders_needed(model, 0.9), 27, 1);
  model.session_ms = 100;  // 6 sessions: 60 a second
  EXPECT_EQ(builders_needed(model, 0.9), 0u);
}

TEST(FleetPlanning, BoardsOfOneBroker) {
  FleetModel model = quick();
  model.kernel_ms = 20, model.core_us = 100;
  // About 4,800 results a second, of 50 for each board, at nine tenths of the time.
  EXPECT_NEAR(boards_of_one_broker(model, 0.9), 107, 6);
}

TEST(FleetQuestion, Settings) {
  EXPECT_EQ(parse_fleet_question({""})->boards, (std::vector<unsigned>{10, 100, 1000}));
  const auto question =
      parse_fleet_question({"boards=10/200", "builders=7", "kernel-ms=2.5", "depth=3"});
  ASSERT_TRUE(question.ok());
  EXPECT_EQ(question->boards, (std::vector<unsigned>{10, 200}));
  EXPECT_EQ(question->model.builders, 7u);
  EXPECT_TRUE(question->builders_given);
  EXPECT_EQ(question->model.kernel_ms, 2.5);
  EXPECT_EQ(question->model.queue_depth, 3u);
  for (const char* wrong : {"boards", "boards=", "boards=0", "boards=1/", "cats=3", "depth=1.x",
                            "builders=-1", "kernel-ms=nan", "builders=2.7", "boards=10.5"}) {
    EXPECT_FALSE(parse_fleet_question({wrong}).ok()) << wrong;
  }
}

}  // namespace
}  // namespace fettle::bench
