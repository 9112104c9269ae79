// What a trial runs beside its samples, on a scripted device: the check at first, and the run over
// poisoned outputs behind the samples.
#include <limits>

#include "agent/measure/trial.h"
#include "schemas/fill/fill.h"
#include "tests/unit/sampler_rig.h"

namespace fettle::agent {
namespace {

constexpr std::uint8_t kPoison = 0xff;

// Writes its output, 16 bytes, in its first `works` runs and leaves it alone in all others.
class TiringDevice final : public ScriptedDevice {
 public:
  std::uint64_t works = std::numeric_limits<std::uint64_t>::max(), runs = 0;
  int poisoned = 0;
  Bytes output = Bytes(16, kPoison);
  std::vector<Bytes> others;  // of the buffers behind it

  Result<Sample> run(std::uint32_t times, bool launch_ticks) override {
    if (runs < works) output.assign(output.size(), 1);
    runs += times;
    return ScriptedDevice::run(times, launch_ticks);
  }
  Result<void> poison_outputs() override {
    ++poisoned;
    output.assign(output.size(), kPoison);
    return {};
  }
  Result<ByteView> read(std::uint32_t buffer) override {
    return ByteView(buffer == 0 ? output : others[buffer - 1]);
  }
};

class TrialTest : public SamplerTest {
 protected:
  TrialTest() {
    tiring.nanoseconds = [](std::uint32_t) { return 1e5; };
    request.program = std::make_unique<wire::ProgramT>();
    request.program->buffers.push_back(std::make_unique<wire::BufferT>());
    request.program->buffers[0]->role = wire::BufferRole::Output;
    request.options = std::make_unique<wire::MeasureOptionsT>();
    request.options->min_repeat_ms = 1;
    auto expected = std::make_unique<wire::ExpectedOutputT>();
    expected->dtype = wire::ScalarType::Int8;
    expected->blob = std::make_unique<wire::Hash>();
    request.expected.push_back(std::move(expected));
  }
  wire::OutcomeT trial() {
    const ConditionsReader conditions(SystemRoot(root.string()), {0});
    TrialContext context{tiring, conditions, status, [this](const wire::Hash&) { return answer; },
                         [] { return std::uint64_t{0}; }};
    return run_trial(context, request, 0);
  }
  void expect_idling_is_found() {
    const auto outcome = trial();
    const auto* failure = outcome.body.AsFailure();
    ASSERT_TRUE(failure) << "it was measured";
    EXPECT_EQ(failure->stage, wire::Stage::Recheck);
    EXPECT_EQ(failure->error->code, ErrorCode::WrongAfterTiming) << failure->error->message;
  }

  TiringDevice tiring;
  wire::MeasureRequestT request;
  const Bytes ones = Bytes(16, 1);
  ByteView answer = ones;
};

TEST_F(TrialTest, IdlingBehindTheFirstRunIsFound) {
  tiring.works = 1;
  expect_idling_is_found();
}

TEST_F(TrialTest, IdlingInTheMidstOfTheSamplesIsFound) {
  tiring.works = 25;
  expect_idling_is_found();
}

TEST_F(TrialTest, OneRunMoreIsMadeForIt) {
  request.options->warmup_runs = 0;
  ASSERT_TRUE(trial().body.AsMeasurement());
  EXPECT_EQ(tiring.poisoned, 1);
  EXPECT_EQ(tiring.numbers.front(), 1u);
  EXPECT_EQ(tiring.numbers.back(), 1u);
  const auto singles = std::count(tiring.numbers.begin(), tiring.numbers.end(), 1u);
  EXPECT_EQ(singles, 2) << "the one checked at first, and this one";
}

// A long simulation is not run once more: its one sample is checked.
TEST_F(TrialTest, AnExactDevicesSampleIsTheRunThatIsChecked) {
  tiring.is_exact = true;
  ASSERT_TRUE(trial().body.AsMeasurement());
  EXPECT_EQ(tiring.runs, 2u);
  tiring = TiringDevice();
  tiring.nanoseconds = [](std::uint32_t) { return 1e5; };
  tiring.is_exact = true;
  tiring.works = 1;
  expect_idling_is_found();
}

TEST_F(TrialTest, NobodyAskedForAnAnswer) {
  request.options->check = false;
  tiring.works = 1;
  EXPECT_TRUE(trial().body.AsMeasurement());
  EXPECT_EQ(tiring.poisoned, 0);
}

TEST_F(TrialTest, SendsABufferAndTheOutputsBehindIt) {
  for (const auto role :
       {wire::BufferRole::Input, wire::BufferRole::Output, wire::BufferRole::Output}) {
    request.program->buffers.push_back(std::make_unique<wire::BufferT>());
    request.program->buffers.back()->role = role;
  }
  tiring.others = {Bytes(16, 2), Bytes(3, 3), Bytes(16, 4)};
  const auto sent = [&](std::uint32_t buffer, std::uint64_t offset, std::uint32_t bytes) {
    request.options->read_buffer = buffer;
    request.options->read_offset = offset;
    request.options->read_bytes = bytes;
    const auto outcome = trial();
    return outcome.body.AsMeasurement() ? outcome.body.AsMeasurement()->read : Bytes();
  };
  EXPECT_EQ(sent(0, 14, 7), (Bytes{1, 1, 3, 3, 3, 4, 4}));
  EXPECT_EQ(sent(0, 16, 2), (Bytes{3, 3}));
  EXPECT_EQ(sent(1, 15, 2), (Bytes{2, 3}));
  EXPECT_EQ(sent(3, 0, 16), Bytes(16, 4));
}

TEST_F(TrialTest, ALostRaceIsNotRunOnceMore) {
  request.options->racing_bound_ns = 1e4;
  const auto outcome = trial();
  ASSERT_TRUE(outcome.body.AsMeasurement());
  EXPECT_TRUE(outcome.body.AsMeasurement()->censored);
  EXPECT_EQ(tiring.poisoned, 0);
}

// The samples may have used the time limit up.
TEST_F(TrialTest, TheRunBehindTheSamplesHasTheTimeLimitAnew) {
  status.run_ns.store(1'000'000'000'000);
  request.options->repeat = 1;
  request.options->min_samples = 1;
  ASSERT_TRUE(trial().body.AsMeasurement());
  EXPECT_LT(status.run_ns.load(), 1'000'000'000u);
}

}  // namespace
}  // namespace fettle::agent
