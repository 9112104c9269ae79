// Evil candidates in a real worker: each ends as the failure it deserves, and the
// next candidate is measured as if nothing had been.
#include <gtest/gtest.h>
#include <csignal>
#include <cstring>

#include "tests/fault/candidate_station.h"
#include "tests/support/kernel_sandbox.h"

namespace fettle {
namespace {

using test::candidate_program;
using test::candidate_request;
using test::kMemoryLimit;
using test::said;
using Station = test::CandidateStation;

class WorkerFault : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (test::have_candidates()) station = new Station;
  }
  static void TearDownTestSuite() {
    delete station;
    station = nullptr;
  }
  void SetUp() override {
    if (!station) GTEST_SKIP() << "no candidates for this architecture";
  }
  void TearDown() override {
    if (IsSkipped()) return;
    const auto outcome = station->measure(kGood);
    EXPECT_TRUE(outcome.body.AsMeasurement()) << said(outcome);
  }
  static void expect_failure(CandidateKind kind, ErrorCode code, wire::Stage stage,
                             const std::string& words) {
    expect_failure(station->measure(kind), code, stage, words);
  }
  static void expect_failure(const wire::OutcomeT& outcome, ErrorCode code, wire::Stage stage,
                             const std::string& words) {
    const auto* failure = outcome.body.AsFailure();
    ASSERT_TRUE(failure) << "it was measured";
    EXPECT_EQ(failure->error->code, code) << said(outcome);
    EXPECT_EQ(failure->stage, stage) << said(outcome);
    EXPECT_NE(failure->error->message.find(words), std::string::npos) << said(outcome);
    std::printf("             %s\n", said(outcome).c_str());
  }
  static Station* station;
};
Station* WorkerFault::station = nullptr;

TEST_F(WorkerFault, GoodIsMeasured) {
  const auto outcome = station->measure(kGood);
  const auto* measured = outcome.body.AsMeasurement();
  ASSERT_TRUE(measured) << said(outcome);
  EXPECT_GE(measured->samples.size(), 3u);
  EXPECT_GT(measured->median, 10);  // 1001 elements cannot take 10 ns
  EXPECT_LT(measured->median, 1e6);
  EXPECT_LE(measured->interval_low, measured->median);
  EXPECT_GE(measured->interval_high, measured->median);
  EXPECT_GT(outcome.times->run_ns, 1'000'000u);
  EXPECT_GE(outcome.times->total_ns, outcome.times->run_ns);
}

// What the agent says of its sandbox is what this kernel can hold.
TEST_F(WorkerFault, ItsSandboxIsAsStrictAsTheKernelAllows) {
  EXPECT_EQ(station->queue().info().sandbox == wire::Sandbox::Strict,
            test::why_not_strict().empty())
      << wire::EnumNameSandbox(station->queue().info().sandbox) << "; " << test::why_not_strict();
}

TEST_F(WorkerFault, Crash) { expect_failure(kCrash, ErrorCode::Crash, wire::Stage::Run, "0x10"); }
TEST_F(WorkerFault, EndlessLoop) {
  expect_failure(kLoop, ErrorCode::RunTimeout, wire::Stage::Run, "300 ms");
}
TEST_F(WorkerFault, AllocatesWithoutEnd) {
  if (const auto why = test::why_no_memory_limit(); !why.empty()) GTEST_SKIP() << why;
  expect_failure(kAllocate, ErrorCode::OutOfMemory, wire::Stage::Run, "by itself");
}
TEST_F(WorkerFault, AllocatesAndReturns) {
  if (const auto why = test::why_no_memory_limit(); !why.empty()) GTEST_SKIP() << why;
  expect_failure(kAllocateAndReturn, ErrorCode::OutOfMemory, wire::Stage::Run, "64 MiB");
}
TEST_F(WorkerFault, WritesBehindItsOutput) {
  expect_failure(kWriteBehind, ErrorCode::StrayWrite, wire::Stage::Run, "8 bytes behind");
}
TEST_F(WorkerFault, WritesBeforeItsOutput) {
  expect_failure(kWriteBefore, ErrorCode::StrayWrite, wire::Stage::Run, "before it");
}
TEST_F(WorkerFault, WritesFarBehindItsOutput) {
  expect_failure(kWriteFar, ErrorCode::StrayWrite, wire::Stage::Run,
                 "behind output buffer 'result'");
}
// So far off that only the last look of a trial sees it: in front of a large buffer, which ends
// where a huge page ends.
TEST_F(WorkerFault, WritesFarBeforeALargeBuffer) {
  if (sizeof(void*) == 4) GTEST_SKIP() << "32-bit boards have no huge pages";
  auto request = candidate_request(kWriteFarBefore, station->answer());
  auto large = std::make_unique<wire::BufferT>();
  large->name = "large";
  large->bytes = 300 << 10;
  large->role = wire::BufferRole::Scratch;
  request.program->buffers.push_back(std::move(large));
  request.program->launches[0]->args.emplace_back(wire::ArgKind::Buffer, 2, 0, 0, 0);
  const auto outcome = station->wait_for(station->submit(request));
  ASSERT_TRUE(outcome);
  expect_failure(*outcome, ErrorCode::StrayWrite, wire::Stage::Run, "bytes before it");
}
TEST_F(WorkerFault, LeavesPartUnwritten) {
  expect_failure(kLeavePart, ErrorCode::UnwrittenOutput, wire::Stage::Check, "10 of 1001");
}
TEST_F(WorkerFault, WrongByOneElement) {
  expect_failure(kOneWrong, ErrorCode::WrongAnswer, wire::Stage::Check,
                 "1 of 1001 elements are wrong; element 7");
}
TEST_F(WorkerFault, ForbiddenSystemCall) {
  if (const auto why = test::why_not_strict(); !why.empty()) GTEST_SKIP() << why;
  expect_failure(kForbiddenCall, ErrorCode::SandboxViolation, wire::Stage::Run, "getuid");
}
TEST_F(WorkerFault, OpensFile) {
  if (const auto why = test::why_not_strict(); !why.empty()) GTEST_SKIP() << why;
  expect_failure(kOpenFile, ErrorCode::SandboxViolation, wire::Stage::Run, "openat");
}
TEST_F(WorkerFault, OpensPhysicalMemory) {
  if (const auto why = test::why_not_strict(); !why.empty()) GTEST_SKIP() << why;
  expect_failure(kOpenMemory, ErrorCode::SandboxViolation, wire::Stage::Run, "openat");
}
TEST_F(WorkerFault, MakesASocket) {
  if (const auto why = test::why_not_strict(); !why.empty()) GTEST_SKIP() << why;
  expect_failure(kMakeSocket, ErrorCode::SandboxViolation, wire::Stage::Run, "socket");
}
TEST_F(WorkerFault, SignalsAnotherProcess) {
  if (const auto why = test::why_not_strict(); !why.empty()) GTEST_SKIP() << why;
  expect_failure(kSignalProcess, ErrorCode::SandboxViolation, wire::Stage::Run, "tgkill");
}
TEST_F(WorkerFault, SendsADescriptorsSignals) {
  if (const auto why = test::why_not_strict(); !why.empty()) GTEST_SKIP() << why;
  expect_failure(kOwnSignals, ErrorCode::SandboxViolation, wire::Stage::Run, "fcntl");
}
TEST_F(WorkerFault, Aborts) {
  expect_failure(kAbort, ErrorCode::Crash, wire::Stage::Run, "aborted");
}
TEST_F(WorkerFault, JumpsNowhere) {
  expect_failure(kJumpNowhere, ErrorCode::Crash, wire::Stage::Run, "0xdead000");
}
TEST_F(WorkerFault, WritesItsInput) {
  expect_failure(kWriteInput, ErrorCode::StrayWrite, wire::Stage::Run,
                 "read-only input buffer 'data' at byte 12");
}
TEST_F(WorkerFault, EndsTheProcess) {
  expect_failure(kEndProcess, ErrorCode::Crash, wire::Stage::Run, "ended the worker");
}
TEST_F(WorkerFault, OverflowsItsStack) {
  expect_failure(kRecurse, ErrorCode::Crash, wire::Stage::Run, "out of stack");
}
TEST_F(WorkerFault, IllegalInstruction) {
  expect_failure(kTrap, ErrorCode::Crash, wire::Stage::Run, "illegal instruction");
}
TEST_F(WorkerFault, RightOnlyOnce) {
  expect_failure(kRightOnlyOnce, ErrorCode::WrongAfterTiming, wire::Stage::Recheck, "element 0");
}
// It would be the fastest of all: its output stays right while it does nothing.
TEST_F(WorkerFault, IdlesAfterItsFirstRun) {
  auto request = candidate_request(kIdle, station->answer());
  auto done = std::make_unique<wire::BufferT>();
  done->bytes = kElements * sizeof(std::int32_t);
  done->role = wire::BufferRole::Scratch;
  done->fill = std::make_unique<wire::FillT>();  // zeros
  request.program->buffers.push_back(std::move(done));
  request.program->launches[0]->args.emplace_back(wire::ArgKind::Buffer, 2, 0, 0, 0);
  const auto outcome = station->wait_for(station->submit(request));
  ASSERT_TRUE(outcome);
  expect_failure(*outcome, ErrorCode::WrongAfterTiming, wire::Stage::Recheck,
                 "1001 of 1001 elements were never written");
}
// One launch works in place on what the one before it wrote, and one output is a Prepare launch's
// alone: no run writes that again.
TEST_F(WorkerFault, InPlaceAndPreparedOutputsAreMeasured) {
  auto request = candidate_request(kGood, station->answer());
  auto prepared = candidate_program(kGood), counted = candidate_program(kCount);
  prepared.launches[0]->phase = wire::Phase::Prepare;
  prepared.launches[0]->args[1] = wire::Arg(wire::ArgKind::Buffer, 2, 0, 0, 0);
  request.program->buffers.push_back(std::move(prepared.buffers[1]));
  request.program->launches.push_back(std::move(prepared.launches[0]));
  request.program->launches.push_back(std::move(counted.launches[0]));
  request.expected.push_back(std::make_unique<wire::ExpectedOutputT>(*request.expected[0]));
  request.expected[1]->buffer = 2;
  Bytes one_more = test::candidate_answer();
  for (std::size_t at = 0; at < one_more.size(); at += sizeof(float)) {
    float value;
    std::memcpy(&value, &one_more[at], sizeof value);
    value += 1;
    std::memcpy(&one_more[at], &value, sizeof value);
  }
  request.expected[0]->blob = std::make_unique<wire::Hash>(station->put(one_more));
  const auto outcome = station->wait_for(station->submit(request));
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->body.AsMeasurement()) << said(*outcome);
}
TEST_F(WorkerFault, WritesItsCode) {
  expect_failure(kWriteCode, ErrorCode::StrayWrite, wire::Stage::Run, "its own image");
}

TEST_F(WorkerFault, DeclaresTooMuchMemory) {
  auto request = candidate_request(kGood, station->answer());
  request.program->buffers[0]->bytes = kMemoryLimit + 1;
  const auto outcome = station->wait_for(station->submit(request));
  ASSERT_TRUE(outcome && outcome->body.AsFailure());
  EXPECT_EQ(outcome->body.AsFailure()->error->code, ErrorCode::OutOfMemory) << said(*outcome);
  EXPECT_EQ(outcome->body.AsFailure()->stage, wire::Stage::Load);
}

TEST_F(WorkerFault, ImageForAnotherCpu) {
  auto request = candidate_request(kGood, station->answer());
  request.program->images[0]->cpu->arch = "armv7";
  const auto outcome = station->wait_for(station->submit(request));
  ASSERT_TRUE(outcome && outcome->body.AsFailure());
  EXPECT_EQ(outcome->body.AsFailure()->error->code, ErrorCode::LoadError) << said(*outcome);
}

// The one behind a crash is not lost, and runs once.
TEST_F(WorkerFault, NextInLineSurvivesACrash) {
  const auto bad = station->submit(candidate_request(kCrash, station->answer()));
  const auto good = station->submit(candidate_request(kGood, station->answer()));
  const auto first = station->wait_for(bad), second = station->wait_for(good);
  ASSERT_TRUE(first && second);
  EXPECT_TRUE(first->body.AsFailure());
  EXPECT_TRUE(second->body.AsMeasurement()) << said(*second);
}

TEST_F(WorkerFault, WorkerKilledInATrial) {
  const auto lease = station->submit(candidate_request(kLoop, station->answer()));
  station->pump([&] { return false; }, 0);
  usleep(50'000);
  ASSERT_EQ(kill(station->queue().worker_pid(), SIGKILL), 0);
  const auto outcome = station->wait_for(lease);
  ASSERT_TRUE(outcome && outcome->body.AsFailure());
  EXPECT_EQ(outcome->body.AsFailure()->error->code, ErrorCode::WorkerLost) << said(*outcome);
}

TEST_F(WorkerFault, WorkerKilledWhileIdle) {
  const auto before = station->queue().worker_pid();
  ASSERT_EQ(kill(before, SIGKILL), 0);
  EXPECT_TRUE(station->pump([&] {
    return station->queue().worker_pid() != before && station->queue().worker_pid() > 0;
  }));
}

// Its client has gone: the board is free at once, not when the candidate pleases.
TEST_F(WorkerFault, AReleasedTrialEndsWithItsWorker) {
  auto endless = candidate_request(kLoop, station->answer());
  endless.options->timeout_ms = 15'000;
  const auto lease = station->submit(endless);
  station->pump([] { return false; }, 1);
  const auto before = station->queue().worker_pid();
  const auto start = agent::StatusPage::monotonic_ns();
  station->queue().release(lease);
  const auto next = station->wait_for(station->submit(candidate_request(kGood, station->answer())));
  ASSERT_TRUE(next) << "it was still waiting for the other";
  EXPECT_TRUE(next->body.AsMeasurement()) << said(*next);
  EXPECT_LT(agent::StatusPage::monotonic_ns() - start, 8'000'000'000u);
  EXPECT_NE(station->queue().worker_pid(), before);
  EXPECT_TRUE(station->queue().leases().empty());
}

TEST_F(WorkerFault, AnotherClientsTrialMeetsAnotherProcess) {
  const auto pid_after = [](std::uint64_t session) {
    const auto outcome =
        station->wait_for(station->submit(candidate_request(kGood, station->answer()), session));
    EXPECT_TRUE(outcome && outcome->body.AsMeasurement());
    return station->queue().worker_pid();
  };
  const auto first = pid_after(1);
  EXPECT_EQ(pid_after(1), first);
  const auto second = pid_after(2);
  EXPECT_NE(second, first);
  EXPECT_EQ(pid_after(2), second);
  EXPECT_NE(pid_after(1), second);
}

// A bad candidate costs one short run.
TEST_F(WorkerFault, HopelessCandidateIsCensoredSoon) {
  auto request = candidate_request(kSlow, station->answer());
  request.options->min_repeat_ms = 100;
  request.options->racing_bound_ns = 1000;
  request.options->timeout_ms = 4000;
  const auto outcome = station->wait_for(station->submit(request));
  ASSERT_TRUE(outcome);
  const auto* measured = outcome->body.AsMeasurement();
  ASSERT_TRUE(measured) << said(*outcome);
  EXPECT_TRUE(measured->censored);
  EXPECT_LT(outcome->times->run_ns, 50'000'000u);
  EXPECT_GT(measured->interval_low, 1000);
}

TEST_F(WorkerFault, MissingBlobIsNamed) {
  wire::Hash unknown = station->answer();
  reinterpret_cast<std::uint8_t*>(&unknown)[0] ^= 1;
  const auto missing =
      station->queue().accept(1'000'000, 1, encode(candidate_request(kGood, unknown)));
  ASSERT_EQ(missing.size(), 1u);
  EXPECT_EQ(to_hex(missing[0]), to_hex(unknown));
  station->queue().release(1'000'000);
  EXPECT_TRUE(station->queue().idle());
}

}  // namespace
}  // namespace fettle
