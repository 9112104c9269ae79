// The suite of every kind of device (device_conformance.h).
#include "tests/conformance/device_conformance.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "agent/platform/cpu_facts.h"

namespace fettle::agent {

void Conformance::SetUp() {
  if (const std::string missing = GetParam().missing(); !missing.empty()) GTEST_SKIP() << missing;
  // As they were at first: a device of threads keeps the one that opens it on its own core.
  static const std::vector<std::uint32_t> cores = usable_cores();
  DeviceConfig config;
  config.key = "conformance";
  config.cores = cores;
  config.memory_limit_bytes = std::uint64_t{32} << 20;
  const DeviceRow* row = find_device_row(GetParam().kind);
  ASSERT_TRUE(row);
  config.settings = GetParam().settings;
  const WorkerRow& worker =
      GetParam().worker ? *GetParam().worker : std::get<WorkerRow>(row->worker);
  auto opened = worker.open(row->describe(config, SystemRoot()));
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  device = std::move(*opened);
}

Result<std::uint64_t> Conformance::prepare(const wire::ProgramT& program, std::uint32_t threads) {
  return device->prepare(program, {threads}, [this](const wire::Hash&) { return ByteView(blob); });
}

std::vector<float> Conformance::output(std::uint32_t buffer) {
  auto bytes = device->read(buffer);
  EXPECT_TRUE(bytes.ok());
  std::vector<float> values(bytes->size() / sizeof(float));
  std::memcpy(values.data(), bytes->data(), bytes->size());
  return values;
}

std::uint32_t Conformance::threads() const {
  return device->info().cpu ? static_cast<std::uint32_t>(device->info().cpu->cores.size()) : 1;
}

namespace {

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
  ASSERT_TRUE(prepare(program_of(kGood)).ok());
  ASSERT_TRUE(device->run(1).ok());
  device->reset();
  EXPECT_FALSE(device->run(1).ok());
}

TEST_P(Conformance, SampleSaysItsClock) {
  ASSERT_TRUE(prepare(program_of(kGood)).ok());
  const auto sample = device->run(3);
  ASSERT_TRUE(sample.ok());
  EXPECT_GT(sample->ticks, 0u);
  EXPECT_EQ(sample->clock, device->info().clock);
  EXPECT_EQ(sample->ticks_per_second, device->info().clock_hz);
}

TEST_P(Conformance, ReadGivesWholeBuffers) {
  ASSERT_TRUE(prepare(program_of(kGood)).ok());
  ASSERT_TRUE(device->run(1).ok());
  EXPECT_EQ(output().size(), std::size_t{kElements});
  EXPECT_FALSE(device->read(2).ok());
}

TEST_P(Conformance, PreparesAgainAndAgain) {
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(prepare(program_of(kGood)).ok());
    ASSERT_TRUE(device->run(1).ok());
  }
}

TEST_P(Conformance, TooMuchMemoryIsOutOfMemory) {
  auto program = program_of(kGood);
  program.buffers[1]->bytes = std::uint64_t{33} << 20;
  const auto prepared = prepare(program);
  ASSERT_FALSE(prepared.ok());
  EXPECT_EQ(prepared.error().code, ErrorCode::OutOfMemory) << prepared.error().text();
  EXPECT_TRUE(prepare(program_of(kGood)).ok()) << "and it goes on";
}

TEST_P(Conformance, MissingBlobIsSaid) {
  auto program = program_of(kGood);
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
  auto program = program_of(kGood);
  program.buffers[0]->fill->kind = wire::FillKind::Blob;
  program.buffers[0]->fill->blob = std::make_unique<wire::Hash>();
  ASSERT_TRUE(prepare(program).ok());
  EXPECT_EQ(output(0)[1], 3);
}

TEST_P(Conformance, OutputsStartUnwritten) {
  ASSERT_TRUE(prepare(program_of(kGood)).ok());
  const auto bytes = device->read(1);
  ASSERT_TRUE(bytes.ok());
  for (const std::uint8_t byte : *bytes) {
    ASSERT_EQ(byte, device->unwritten_byte(wire::ScalarType::Float32));
  }
}

TEST_P(Conformance, ComputesTheAnswer) {
  if (!GetParam().computes) GTEST_SKIP() << "this device computes nothing";
  const Bytes want = GetParam().answer();
  for (std::uint32_t n = 1; n <= threads(); ++n) {
    ASSERT_TRUE(prepare(program_of(kGood), n).ok());
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
      ASSERT_TRUE(prepare(program_of(kCount, extent), n).ok());
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
  auto program = program_of(kCount);
  auto second = program_of(kGood);
  program.launches.push_back(std::move(second.launches[0]));
  for (std::uint32_t n = 1; n <= threads(); ++n) {
    ASSERT_TRUE(prepare(program, n).ok());
    ASSERT_TRUE(device->run(100).ok());
    const Bytes want = GetParam().answer();
    const auto got = device->read(1);
    ASSERT_TRUE(got.ok());
    EXPECT_EQ(std::memcmp(got->data(), want.data(), want.size()), 0);
  }
}

TEST_P(Conformance, LaunchesTellTheirTicks) {
  auto program = program_of(kGood);
  for (const CandidateKind kind : {kSlow, kGood}) {
    program.launches.push_back(std::move(program_of(kind).launches[0]));
  }
  for (std::uint32_t n = 1; n <= threads(); ++n) {
    ASSERT_TRUE(prepare(program, n).ok());
    EXPECT_TRUE(device->run(3)->launch_ticks.empty()) << "nobody asked";
    // Another process may stop any launch for longer than the slow one takes: the least counts.
    std::array<std::uint64_t, 3> least;
    least.fill(std::numeric_limits<std::uint64_t>::max());
    double covered = 0;
    for (int round = 0; round < 20; ++round) {
      const auto sample = device->run(3, true);
      ASSERT_TRUE(sample.ok());
      if (sample->launch_ticks.empty() && !GetParam().computes) break;  // it cannot tell
      ASSERT_EQ(sample->launch_ticks.size(), least.size());
      std::uint64_t sum = 0;
      for (std::size_t i = 0; i < least.size(); ++i) {
        least[i] = std::min<std::uint64_t>(least[i], sample->launch_ticks[i]);
        sum += sample->launch_ticks[i];
      }
      ASSERT_LE(sum, sample->ticks);
      covered = std::max(covered, static_cast<double>(sum) / static_cast<double>(sample->ticks));
    }
    if (covered == 0 && !GetParam().computes) continue;
    EXPECT_GT(least[1], least[0]) << "a million steps";
    EXPECT_GT(least[1], least[2]);
    EXPECT_GE(covered, 0.5) << "of a sample's ticks";
  }
}

TEST_P(Conformance, PrepareLaunchesRunOnceAndUntimed) {
  if (!GetParam().computes) GTEST_SKIP() << "this device computes nothing";
  auto program = program_of(kCount);
  program.launches[0]->phase = wire::Phase::Prepare;
  auto timed = program_of(kCount, 1);
  program.launches.push_back(std::move(timed.launches[0]));
  ASSERT_TRUE(prepare(program).ok());
  ASSERT_TRUE(device->run(7).ok());
  const auto values = output();
  EXPECT_EQ(values[0], 8);
  for (std::uint32_t i = 1; i < kElements; ++i) ASSERT_EQ(values[i], 1);
}

TEST_P(Conformance, ScratchWithoutFillHoldsNothingOfBefore) {
  if (!GetParam().computes) GTEST_SKIP() << "this device computes nothing";
  auto program = program_of(kGood);
  program.buffers[1]->role = wire::BufferRole::Scratch;
  ASSERT_TRUE(prepare(program).ok());
  ASSERT_TRUE(device->run(1).ok());
  ASSERT_TRUE(prepare(program).ok());
  for (float value : output()) ASSERT_TRUE(std::isnan(value));
}

TEST_P(Conformance, StrayWriteIsSeen) {
  if (!GetParam().computes) GTEST_SKIP() << "this device computes nothing";
  ASSERT_TRUE(prepare(program_of(kWriteBehind)).ok());
  ASSERT_TRUE(device->run(1).ok());
  const auto checked = device->check_surroundings();
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().code, ErrorCode::StrayWrite);
}

// Buffers are used again: neither the second one hit nor one that nobody looked at
// may be held against the next program.
TEST_P(Conformance, StrayWritesAreNotBlamedOnTheNextProgram) {
  if (!GetParam().computes) GTEST_SKIP() << "this device computes nothing";
  auto into_two = [this](CandidateKind kind) {
    auto program = program_of(kind);
    auto scratch = std::make_unique<wire::BufferT>();
    scratch->name = "scratch";
    scratch->bytes = program.buffers[1]->bytes;
    scratch->role = wire::BufferRole::Scratch;
    program.buffers.push_back(std::move(scratch));
    auto second = program_of(kind);
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
  auto program = program_of(kGood);
  program.images[0]->kind = wire::ImageKind::Bitstream;
  const auto prepared = prepare(program);
  ASSERT_FALSE(prepared.ok());
  EXPECT_EQ(prepared.error().code, ErrorCode::Unsupported);
}

TEST_P(Conformance, AlignmentIsKept) {
  if (!GetParam().computes) GTEST_SKIP() << "this device computes nothing";
  for (const std::uint32_t alignment : {1u, 4u, 64u, 4096u, 65536u, 1u << 21}) {
    auto program = program_of(kGood);
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
  const auto prepared = prepare(program_of(kGood), threads() + 1);
  ASSERT_FALSE(prepared.ok());
  EXPECT_EQ(prepared.error().code, ErrorCode::InvalidArgument);
}

TEST_P(Conformance, MoreThreadsThanTheProgramWasMadeForIsRefused) {
  if (!GetParam().computes) GTEST_SKIP() << "this device computes nothing";
  if (threads() < 2) GTEST_SKIP() << "one core";
  auto program = program_of(kGood);
  program.max_threads = 1;
  EXPECT_TRUE(prepare(program, 1).ok());
  const auto prepared = prepare(program, 2);
  ASSERT_FALSE(prepared.ok());
  EXPECT_EQ(prepared.error().code, ErrorCode::InvalidArgument);
}

}  // namespace
}  // namespace fettle::agent
