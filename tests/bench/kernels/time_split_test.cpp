// Where a kernel's time goes: the arithmetic of the shares, and that launches are timed
// apart and the hot loop is found in a program of ours.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "host/backend/backend.h"
#include "host/space/workload.h"
#include "tests/bench/kernels/our_kernel.h"
#include "tests/bench/kernels/time_split.h"

namespace fettle::bench {
namespace {

LoopFigures loop_of(int multiply_adds, double cycles) {
  LoopFigures loop;
  loop.instructions = 2 * multiply_adds;
  loop.multiply_adds = multiply_adds;
  loop.cycles = cycles;
  return loop;
}

double sum(const TimeSplit& s) { return s.at_peak + s.hot_loop + s.other_launches + s.rest; }

TEST(TimeSplit, SharesFollowFromOperationsLoopAndLaunches) {
  const Peak peak{100, loop_of(10, 10)};
  TimeSplit split;
  split.operations = 40000;  // 400 ns at the peak
  split.launches = {{"pad", 200}, {"conv", 800}};
  split.loop = loop_of(8, 10);  // 5/4 of the peak's cycles: 100 ns more
  split_time(split, peak);
  EXPECT_DOUBLE_EQ(split.other_launches, 0.2);
  EXPECT_DOUBLE_EQ(split.at_peak, 0.4);
  EXPECT_NEAR(split.hot_loop, 0.1, 1e-12);
  EXPECT_NEAR(split.rest, 0.3, 1e-12);
  EXPECT_NEAR(to_json(split)["rest"].get<double>(), 0.3, 1e-12);
  EXPECT_EQ(to_json(split)["launches"][0]["name"], "pad");
}

TEST(TimeSplit, EstimatesThatPromiseTooMuchLeaveNothing) {
  TimeSplit split;
  split.operations = 90000;
  split.launches = {{"conv", 1000}};
  split.loop = loop_of(1, 10);  // ten times the peak's cycles, which the time refutes
  split_time(split, {100, loop_of(10, 10)});
  EXPECT_DOUBLE_EQ(split.at_peak, 0.9);
  EXPECT_NEAR(split.hot_loop, 0.1, 1e-12);
  EXPECT_NEAR(split.rest, 0, 1e-12);
  split.loop = loop_of(10, 0);  // no model of this CPU
  split_time(split, {100, loop_of(10, 10)});
  EXPECT_DOUBLE_EQ(split.hot_loop, 0);
  EXPECT_NEAR(split.rest, 0.1, 1e-12);
}

TEST(TimeSplit, LaunchesAreTimedApart) {
  auto workload = space::Workload::parse(std::string(
      R"({"op":"conv2d","height":10,"width":10,"in_channels":16,"out_channels":32,
          "kernel":[3,3],"pad":[1,1],"tail":["bias","relu"]})"));
  ASSERT_TRUE(workload.ok());
  auto layer = make_layer(*workload);
  ASSERT_TRUE(layer.ok());
  auto device = open_local_cpu(1);
  ASSERT_TRUE(device.ok()) << device.error().text();
  auto target = space::cpu_target_for((*device)->info(), 1);
  ASSERT_TRUE(target.ok());
  auto task = backend::open_task(workload->dag(), target->target());
  ASSERT_TRUE(task.ok());
  const space::SearchSpace* space = &(*task)->space();
  space::Configuration configuration{0, {}};  // the first option of each knob: padded apart
  configuration.choice.resize(space->sketches()[0].knobs.size());
  records::TuningRecord record;
  record.target = target->canonical();
  record.configuration = space->to_json(configuration);

  auto peak = measure_peak(**device, *target);
  ASSERT_TRUE(peak.ok()) << peak.error().text();
  EXPECT_GT(peak->gflops, 0);
  EXPECT_GT(peak->loop.multiply_adds, 0);
  auto split = measure_time_split(**device, *layer, record, 1, *peak);
  ASSERT_TRUE(split.ok()) << split.error().text();
  ASSERT_EQ(split->launches.size(), 2u);
  EXPECT_EQ(split->launches[0].name, "pad");
  for (const LaunchTime& launch : split->launches) EXPECT_GT(launch.nanoseconds, 0);
  EXPECT_GT(split->loop.multiply_adds, 0);
  EXPECT_GE(split->loop.instructions, split->loop.multiply_adds);
  EXPECT_GE(split->operations, workload->operations());  // tiles may overlap
  EXPECT_NEAR(sum(*split), 1, 1e-9);
  EXPECT_GT(split->at_peak, 0);
  EXPECT_FALSE(hardware_counters().empty());
}

}  // namespace
}  // namespace fettle::bench
