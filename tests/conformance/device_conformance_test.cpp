// One suite for every kind of device: what style and measuring rely on. A new
// device adds a row to kKinds; what it cannot do yet is an expectation with a reason.
#include <gtest/gtest.h>
#include <cmath>
#include <cstring>

#include "agent/device/registry.h"
#include "tests/support/agent_candidates.h"
#ifdef FETTLE_CUDA_STAND_IN
#include "agent/device/cuda/cuda_device.h"
#include "tests/support/cuda_candidates.h"
#endif
#ifdef FETTLE_HAS_OPENCL
#include "agent/device/opencl/opencl_device.h"
#include "tests/support/opencl_candidates.h"
#endif

namespace fettle::agent {
namespace {

struct Kind {
  const char* name;
  wire::DeviceKind kind;
  bool computes;             // runs the candidates of tests/support
  std::string (*why_not)();  // it cannot be had here; "": it can
  wire::ProgramT (*candidate)(CandidateKind, std::uint32_t extent);
  // Of one that is executed, not forked: what its worker program does for it, and its driver.
  const WorkerRow* worker = nullptr;
  const char* library = "";
};

std::string why_no_candidates() {
  return test::have_candidates() ? "" : "no candidates for this architecture";
}
wire::ProgramT cpu_candidate(CandidateKind kind, std::uint32_t extent) {
  return test::candidate_program(kind, extent);
}
#ifdef FETTLE_CUDA_STAND_IN
std::string never() { return ""; }
constexpr WorkerRow kCudaWorker = {wire::DeviceKind::Cuda, open_cuda, cuda_sandbox};
#endif

#ifdef FETTLE_HAS_OPENCL
constexpr WorkerRow kOpenClWorker = {wire::DeviceKind::OpenCl, open_opencl, opencl_sandbox};
#endif

const Kind kKinds[] = {
    {"Cpu", wire::DeviceKind::Cpu, true, why_no_candidates, cpu_candidate},
    {"Null", wire::DeviceKind::Null, false, why_no_candidates, cpu_candidate},
#ifdef FETTLE_CUDA_STAND_IN
    {"CudaStandIn", wire::DeviceKind::Cuda, true, never, test::cuda_candidate_program, &kCudaWorker,
     FETTLE_CUDA_STAND_IN},
    {"Cuda", wire::DeviceKind::Cuda, true, test::why_no_cuda, test::cuda_candidate_program,
     &kCudaWorker, "libcuda.so.1"},
#endif
#ifdef FETTLE_HAS_OPENCL
    {"OpenCl", wire::DeviceKind::OpenCl, true, test::why_no_opencl, test::opencl_candidate_program,
     &kOpenClWorker, ""},
#endif
};

class Conformance : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    if (const std::string why = GetParam().why_not(); !why.empty()) GTEST_SKIP() << why;
    DeviceConfig config;
    config.key = "conformance";
    config.memory_limit_bytes = std::uint64_t{32} << 20;
    const DeviceRow* row = find_device_row(GetParam().kind);
    ASSERT_TRUE(row);
    if (*GetParam().library) config.extra["cuda-library"] = GetParam().library;
    const WorkerRow& worker =
        GetParam().worker ? *GetParam().worker : std::get<WorkerRow>(row->worker);
    auto opened = worker.open(row->describe(config, SystemRoot()));
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    device = std::move(*opened);
  }
  static wire::ProgramT candidate(CandidateKind kind, std::uint32_t extent = kElements) {
    return GetParam().candidate(kind, extent);
  }
  Result<std::uint64_t> prepare(const wire::ProgramT& program, std::uint32_t threads = 1) {
    return device->prepare(program, {threads},
                           [this](const wire::Hash&) { return ByteView(blob); });
  }
  std::vector<float> output(std::uint32_t buffer = 1) {
    auto bytes = device->read(buffer);
    EXPECT_TRUE(bytes.ok());
    std::vector<float> values(bytes->size() / sizeof(float));
    std::memcpy(values.data(), bytes->data(), bytes->size());
    return values;
  }
  std::uint32_t threads() const {
    return device->info().cpu ? static_cast<std::uint32_t>(device->info().cpu->cores.size()) : 1;
  }
  Bytes blob;
  std::unique_ptr<Device> device;
};

TEST_P(Conformance, SaysWhatItIs) {
  const wire::DeviceInfoT& info = device->info();
  EXPECT_EQ(info.key, "conformance");
  EXPECT_EQ(info.kind, GetParam().kind);
  EXPECT_FALSE(info.name.empty());
  EXPECT_GT(info.memory_limit_bytes, 0u);
  EXPECT_EQ(info.queue_depth, 2u);
}

TEST_P(Conformance, RunBeforePrepareIsAnError) {
  const auto sample = device->run(1);
  ASSERT_FALSE(sample.ok());
  EXPECT_EQ(sample.error().code, ErrorCode::InvalidArgument);
}

TEST_P(Conformance, RunAfterResetIsAnError) {
  ASSERT_TRUE(prepare(candidate(kGood)).ok());
  ASSERT_TRUE(device->run(1).ok());
  device->reset();
  EXPECT_FALSE(device->run(1).ok());
}

TEST_P(Conformance, SampleSaysItsClock) {
  ASSERT_TRUE(prepare(candidate(kGood)).ok());
  const auto sample = device->run(3);
  ASSERT_TRUE(sample.ok());
  EXPECT_GT(sample->ticks, 0u);
  EXPECT_EQ(sample->clock, device->info().clock);
  EXPECT_EQ(sample->ticks_per_second, device->info().clock_hz);
}

TEST_P(Conformance, ReadGivesWholeBuffers) {
  ASSERT_TRUE(prepare(candidate(kGood)).ok());
  ASSERT_TRUE(device->run(1).ok());
  EXPECT_EQ(output().size(), std::size_t{kElements});
  EXPECT_FALSE(device->read(2).ok());
}

TEST_P(Conformance, PreparesAgainAndAgain) {
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(prepare(candidate(kGood)).ok());
    ASSERT_TRUE(device->run(1).ok());
  }
}

TEST_P(Conformance, TooMuchMemoryIsOutOfMemory) {
  auto program = candidate(kGood);
  program.buffers[1]->bytes = std::uint64_t{33} << 20;
  const auto prepared = prepare(program);
  ASSERT_FALSE(prepared.ok());
  EXPECT_EQ(prepared.error().code, ErrorCode::OutOfMemory) << prepared.error().text();
  EXPECT_TRUE(prepare(candidate(kGood)).ok()) << "and it goes on";
}

TEST_P(Conformance, MissingBlobIsSaid) {
  auto program = candidate(kGood);
  program.buffers[0]->fill->kind = wire::FillKind::Blob;
  program.buffers[0]->fill->blob = std::make_unique<wire::Hash>();
  const auto prepared = prepare(program);
  ASSERT_FALSE(prepared.ok());
  EXPECT_EQ(prepared.error().code, ErrorCode::MissingBlob) << prepared.error().text();
}

TEST_P(Conformance, BlobFillsABuffer) {
  blob.assign(kElements * sizeof(float), 0);
  const float three = 3;
  std::memcpy(blob.data() + 4, &three, 4);
  auto program = candidate(kGood);
  program.buffers[0]->fill->kind = wire::FillKind::Blob;
  program.buffers[0]->fill->blob = std::make_unique<wire::Hash>();
  ASSERT_TRUE(prepare(program).ok());
  EXPECT_EQ(output(0)[1], 3);
}

TEST_P(Conformance, OutputsStartUnwritten) {
  ASSERT_TRUE(prepare(candidate(kGood)).ok());
  const auto bytes = device->read(1);
  ASSERT_TRUE(bytes.ok());
  for (const std::uint8_t byte : *bytes) {
    ASSERT_EQ(byte, device->unwritten_byte(wire::ScalarType::Float32));
  }
}

TEST_P(Conformance, ComputesTheAnswer) {
  if (!GetParam().computes) GTEST_SKIP() << "this device computes nothing";
  const Bytes want = test::candidate_answer();
  for (std::uint32_t n = 1; n <= threads(); ++n) {
    ASSERT_TRUE(prepare(candidate(kGood), n).ok());
    ASSERT_TRUE(device->run(1).ok());
    const auto got = device->read(1);
    ASSERT_TRUE(got.ok());
    ASSERT_EQ(got->size(), want.size());
    EXPECT_EQ(std::memcmp(got->data(), want.data(), want.size()), 0) << n << " threads";
    EXPECT_TRUE(device->check_surroundings().ok());
  }
}

TEST_P(Conformance, EveryIterationRunsOnce) {
  if (!GetParam().computes) GTEST_SKIP() << "this device computes nothing";
  for (std::uint32_t n = 1; n <= threads(); ++n) {
    for (const std::uint32_t extent : {1u, 2u, 3u, 1000u, std::uint32_t{kElements}}) {
      ASSERT_TRUE(prepare(candidate(kCount, extent), n).ok());
      // Also where many short runs are started in another way than few.
      ASSERT_TRUE(device->run(5).ok());
      ASSERT_TRUE(device->run(150).ok());
      ASSERT_TRUE(device->run(1).ok());
      const auto values = output();
      for (std::uint32_t i = 0; i < kElements; ++i) {
        if (i < extent)
          ASSERT_EQ(values[i], 156) << i << " of " << extent << ", " << n << " threads";
        else
          ASSERT_TRUE(std::isnan(values[i])) << i;
      }
    }
  }
}

TEST_P(Conformance, LaunchesRunInOrder) {
  if (!GetParam().computes) GTEST_SKIP() << "this device computes nothing";
  // count, then twice the input: the second decides, whichever thread did the first.
  auto program = candidate(kCount);
  auto second = candidate(kGood);
  program.launches.push_back(std::move(second.launches[0]));
  for (std::uint32_t n = 1; n <= threads(); ++n) {
    ASSERT_TRUE(prepare(program, n).ok());
    ASSERT_TRUE(device->run(100).ok());
    const Bytes want = test::candidate_answer();
    const auto got = device->read(1);
    ASSERT_TRUE(got.ok());
    EXPECT_EQ(std::memcmp(got->data(), want.data(), want.size()), 0);
  }
}

TEST_P(Conformance, LaunchesTellTheirTicks) {
  auto program = candidate(kGood);
  for (const CandidateKind kind : {kSlow, kGood}) {
    program.launches.push_back(std::move(candidate(kind).launches[0]));
  }
  for (std::uint32_t n = 1; n <= threads(); ++n) {
    ASSERT_TRUE(prepare(program, n).ok());
    EXPECT_TRUE(device->run(3)->launch_ticks.empty()) << "nobody asked";
    const auto sample = device->run(3, true);
    ASSERT_TRUE(sample.ok());
    if (sample->launch_ticks.empty() && !GetParam().computes) continue;  // it cannot tell
    ASSERT_EQ(sample->launch_ticks.size(), 3u);
    EXPECT_GT(sample->launch_ticks[1], sample->launch_ticks[0]) << "a million steps";
    EXPECT_GT(sample->launch_ticks[1], sample->launch_ticks[2]);
    const auto sum = sample->launch_ticks[0] + sample->launch_ticks[1] + sample->launch_ticks[2];
    EXPECT_LE(sum, sample->ticks);
    EXPECT_GE(sum, sample->ticks / 2);
  }
}

TEST_P(Conformance, PrepareLaunchesRunOnceAndUntimed) {
  if (!GetParam().computes) GTEST_SKIP() << "this device computes nothing";
  auto program = candidate(kCount);
  program.launches[0]->phase = wire::Phase::Prepare;
  auto timed = candidate(kCount, 1);
  program.launches.push_back(std::move(timed.launches[0]));
  ASSERT_TRUE(prepare(program).ok());
  ASSERT_TRUE(device->run(7).ok());
  const auto values = output();
  EXPECT_EQ(values[0], 8);
  for (std::uint32_t i = 1; i < kElements; ++i) ASSERT_EQ(values[i], 1);
}

TEST_P(Conformance, ScratchWithoutFillHoldsNothingOfBefore) {
  if (!GetParam().computes) GTEST_SKIP() << "this device computes nothing";
  auto program = candidate(kGood);
  program.buffers[1]->role = wire::BufferRole::Scratch;
  ASSERT_TRUE(prepare(program).ok());
  ASSERT_TRUE(device->run(1).ok());
  ASSERT_TRUE(prepare(program).ok());
  for (float value : output()) ASSERT_TRUE(std::isnan(value));
}

TEST_P(Conformance, StrayWriteIsSeen) {
  if (!GetParam().computes) GTEST_SKIP() << "this device computes nothing";
  ASSERT_TRUE(prepare(candidate(kWriteBehind)).ok());
  ASSERT_TRUE(device->run(1).ok());
  const auto checked = device->check_surroundings();
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().code, ErrorCode::StrayWrite);
}

// Buffers are used again: neither the second one hit nor one that nobody looked at
// may be held against the next program.
TEST_P(Conformance, StrayWritesAreNotBlamedOnTheNextProgram) {
  if (!GetParam().computes) GTEST_SKIP() << "this device computes nothing";
  auto into_two = [](CandidateKind kind) {
    auto program = candidate(kind);
    auto scratch = std::make_unique<wire::BufferT>();
    scratch->name = "scratch";
    scratch->bytes = program.buffers[1]->bytes;
    scratch->role = wire::BufferRole::Scratch;
    program.buffers.push_back(std::move(scratch));
    auto second = candidate(kind);
    second.launches[0]->args[1] = wire::Arg(wire::ArgKind::Buffer, 2, 0, 0, 0);
    program.launches.push_back(std::move(second.launches[0]));
    return program;
  };
  for (const bool looked : {true, false}) {
    ASSERT_TRUE(prepare(into_two(kWriteBehind)).ok());
    ASSERT_TRUE(device->run(1).ok());
    if (looked) {
      ASSERT_FALSE(device->check_surroundings().ok());
    }
    ASSERT_TRUE(prepare(into_two(kGood)).ok());
    const auto checked = device->check_surroundings();
    EXPECT_TRUE(checked.ok()) << checked.error().text();
    ASSERT_TRUE(device->run(1).ok());
    EXPECT_TRUE(device->check_surroundings().ok());
  }
}

TEST_P(Conformance, ImageOfAnotherKindIsUnsupported) {
  if (!GetParam().computes) GTEST_SKIP() << "this device computes nothing";
  auto program = candidate(kGood);
  program.images[0]->kind = wire::ImageKind::Bitstream;
  const auto prepared = prepare(program);
  ASSERT_FALSE(prepared.ok());
  EXPECT_EQ(prepared.error().code, ErrorCode::Unsupported);
}

TEST_P(Conformance, AlignmentIsKept) {
  if (!GetParam().computes) GTEST_SKIP() << "this device computes nothing";
  for (const std::uint32_t alignment : {1u, 4u, 64u, 4096u, 65536u, 1u << 21}) {
    auto program = candidate(kGood);
    program.buffers[1]->alignment = alignment;
    ASSERT_TRUE(prepare(program).ok());
    const auto bytes = device->read(1);
    ASSERT_TRUE(bytes.ok());
    if (GetParam().worker) continue;  // these bytes are a copy
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes->data()) % alignment, 0u);
  }
}

TEST_P(Conformance, MoreThreadsThanItHasIsRefused) {
  if (!GetParam().computes) GTEST_SKIP() << "this device computes nothing";
  const auto prepared = prepare(candidate(kGood), threads() + 1);
  ASSERT_FALSE(prepared.ok());
  EXPECT_EQ(prepared.error().code, ErrorCode::InvalidArgument);
}

TEST_P(Conformance, MoreThreadsThanTheProgramWasMadeForIsRefused) {
  if (!GetParam().computes) GTEST_SKIP() << "this device computes nothing";
  if (threads() < 2) GTEST_SKIP() << "one core";
  auto program = candidate(kGood);
  program.max_threads = 1;
  EXPECT_TRUE(prepare(program, 1).ok());
  const auto prepared = prepare(program, 2);
  ASSERT_FALSE(prepared.ok());
  EXPECT_EQ(prepared.error().code, ErrorCode::InvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(, Conformance, testing::ValuesIn(kKinds),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace fettle::agent
