// A bad driver of a CUDA device: each is a clear word to the trials, and no hang.
#include <gtest/gtest.h>

#include "tests/support/cuda_worker.h"

namespace fettle::agent {
namespace {

using test::WorkerStation;

constexpr std::uint64_t kSecond = 1'000'000'000;

// What a bad driver does; the stand-in is all of them.
class BadDriver : public testing::Test {
 protected:
  void TearDown() override { unsetenv("FETTLE_STAND_IN"); }
  static std::string outcome_with(const char* fault, const std::string& library,
                                  const StageLimits& limits = {}) {
    setenv("FETTLE_STAND_IN", fault, 1);
    WorkerStation station(test::cuda_worker(library), test::one_cuda_device(library), limits);
    wire::MeasureRequestT request;
    request.program = std::make_unique<wire::ProgramT>(cuda_self_test({}).program);
    request.options = std::make_unique<wire::MeasureOptionsT>();
    request.options->min_repeat_ms = 1;
    return WorkerStation::said(station.wait_for(station.submit(request)));
  }
};

TEST_F(BadDriver, SelfTestsProgramRuns) {
  EXPECT_EQ(outcome_with("", FETTLE_CUDA_STAND_IN), "measured");
}
TEST_F(BadDriver, IsMissing) {
  const auto said = outcome_with("", "libnone.so.1,/nowhere/libcuda.so");
  EXPECT_EQ(said.rfind("Load DeviceLost: the device cannot be opened: no CUDA driver here", 0), 0u)
      << said;
  EXPECT_NE(said.find("libnone.so.1"), std::string::npos) << said;
  EXPECT_NE(said.find("/nowhere/libcuda.so"), std::string::npos) << said;
}
TEST_F(BadDriver, IsNoDriver) {
  const auto said = outcome_with("", "libc.so.6");
  EXPECT_NE(said.find("the CUDA driver has no cuInit"), std::string::npos) << said;
}
TEST_F(BadDriver, SecondLibraryOfTheList) {
  EXPECT_EQ(outcome_with("", std::string("libnone.so.1,") + FETTLE_CUDA_STAND_IN), "measured");
}
TEST_F(BadDriver, KnowsNoGpu) {
  const auto said = outcome_with("none", FETTLE_CUDA_STAND_IN);
  EXPECT_NE(said.find("the driver knows 0 GPUs"), std::string::npos) << said;
}
TEST_F(BadDriver, CrashesOnLoad) {
  const auto said = outcome_with("crash", FETTLE_CUDA_STAND_IN);
  EXPECT_NE(said.find("dies as soon as it starts"), std::string::npos) << said;
}
TEST_F(BadDriver, HangsOnLoad) {
  StageLimits limits;
  limits.open_ns = kSecond / 2;
  const auto said = outcome_with("hang", FETTLE_CUDA_STAND_IN, limits);
  EXPECT_NE(said.find("dies as soon as it starts"), std::string::npos) << said;
}

}  // namespace
}  // namespace fettle::agent
