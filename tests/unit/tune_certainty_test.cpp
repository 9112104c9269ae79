// How well a session's times are known, and what of its trials says nothing of that.
#include <gtest/gtest.h>

#include <cmath>

#include "host/tune/certainty.h"
#include "tests/unit/tune_rig.h"

namespace fettle::tune {
namespace {

using namespace doubles;

wire::MeasurementT known_to(double half_interval, std::uint32_t disturbed = 0) {
  wire::MeasurementT measured;
  measured.clock = wire::ClockDomain::Nanoseconds;
  measured.median = 1000;
  measured.interval_low = 1000 * (1 - half_interval);
  measured.interval_high = 1000 * (1 + half_interval);
  measured.samples.resize(10);
  measured.disturbed = disturbed;
  return measured;
}

TEST(Certainty, IsThatOfTheMiddleTrial) {
  Certainty certainty;
  EXPECT_EQ(certainty.half_interval(), 0);
  EXPECT_EQ(certainty.disturbed_share(), 0);
  for (const double half : {0.5, 0.01, 0.04}) certainty.add(known_to(half));
  EXPECT_EQ(certainty.trials(), 3u);
  EXPECT_NEAR(certainty.half_interval(), 0.04, 1e-6);
}

TEST(Certainty, IsPoorOnlyWhereEnoughTrialsSayIt) {
  Certainty certainty;
  for (std::size_t i = 0; i + 1 < Certainty::kFewTrials; ++i) certainty.add(known_to(0.1));
  EXPECT_FALSE(certainty.poor());
  certainty.add(known_to(0.1));
  EXPECT_TRUE(certainty.poor());
  Certainty quiet;
  for (int i = 0; i < 100; ++i) quiet.add(known_to(i % 3 == 0 ? 0.1 : 0.009));
  EXPECT_FALSE(quiet.poor());
}

TEST(Certainty, CountsABorrowedSampleOnce) {
  Certainty certainty;
  wire::MeasurementT measured = known_to(0.01, 5);
  measured.borrowed = 3;  // of the ten; so seven clean ones and five disturbed ones were taken
  certainty.add(measured);
  EXPECT_NEAR(certainty.disturbed_share(), 5.0 / 12, 1e-9);
}

TEST(Certainty, LosersCountedInstructionsAndSingleSamplesSayNothing) {
  Certainty certainty;
  wire::MeasurementT loser = known_to(0.3);
  loser.censored = true;
  certainty.add(loser);
  wire::MeasurementT counted = known_to(0);
  counted.clock = wire::ClockDomain::Instructions;
  certainty.add(counted);
  wire::MeasurementT once = known_to(0.3);
  once.samples.resize(1);  // an exact device's, or a replayed one's
  certainty.add(once);
  EXPECT_EQ(certainty.trials(), 0u);
}

TEST(Certainty, IntervalsThatAreNoneSayNothing) {
  Certainty certainty;
  for (const double half : {std::nan(""), HUGE_VAL, -0.1}) certainty.add(known_to(half));
  EXPECT_EQ(certainty.trials(), 0u);
  EXPECT_EQ(certainty.half_interval(), 0);
}

TEST(TuneLoop, TheSummarySaysHowWellTheTimesAreKnown) {
  Rig rig(grid(4, 8));
  rig.options.trials = 30;
  rig.runner = ScriptedRunner([](std::uint64_t, const wire::MeasureRequestT&) {
    auto outcome = measurement(1e6);
    wire::MeasurementT& measured = *outcome.body.AsMeasurement();
    measured.samples.resize(10, wire::Sample(1'000'000, 1));
    measured.interval_low = measured.median * 0.9, measured.interval_high = measured.median * 1.1;
    return outcome;
  });
  const Certainty certainty = rig.run().certainty;
  EXPECT_EQ(certainty.trials(), 30u);
  EXPECT_NEAR(certainty.half_interval(), 0.1, 1e-6);
  EXPECT_TRUE(certainty.poor());
}

}  // namespace
}  // namespace fettle::tune
