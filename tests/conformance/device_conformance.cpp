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

double counted_float(const std::uint8_t* element) {
  float value;
  std::memcpy(&value, element, sizeof value);
  return std::isnan(value) ? 0 : value;
}

Result<std::uint64_t> Conformance::prepare(const wire::ProgramT& program, std::uint32_t threads) {
  return device->prepare(program, {threads}, [this](const wire::Hash& hash) {
    const ByteView known = GetParam().blob ? GetParam().blob(hash) : ByteView();
    return known.empty() ? ByteView(blob) : known;
  });
}

Bytes Conformance::bytes_of(std::uint32_t buffer) {
  auto bytes = device->read(buffer);
  EXPECT_TRUE(bytes.ok());
  return bytes ? Bytes(bytes->begin(), bytes->end()) : Bytes();
}

std::vector<double> Conformance::counts() {
  const Bytes bytes = bytes_of(1);
  std::vector<double> out;
  for (std::size_t i = 0; i < bytes.size(); i += 4) {
    out.push_back(GetParam().counted(bytes.data() + i));
  }
  return out;
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
  EXPECT_EQ(bytes_of(1).size(), std::size_t{GetParam().elements} * 4);
  const auto buffers = static_cast<std::uint32_t>(program_of(kGood).buffers.size());
  EXPECT_FALSE(device->read(buffers).ok());
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
  blob.assign(GetParam().elements * sizeof(float), 0);
  blob[4] = 3;
  auto program = program_of(kGood);
  program.buffers[0]->fill->kind = wire::FillKind::Blob;
  program.buffers[0]->fill->blob = std::make_unique<wire::Hash>();
  ASSERT_TRUE(prepare(program).ok());
  EXPECT_EQ(bytes_of(0), blob);
}

TEST_P(Conformance, OutputsStartUnwritten) {
  ASSERT_TRUE(prepare(program_of(kGood)).ok());
  const auto bytes = device->read(1);
  ASSERT_TRUE(bytes.ok());
  for (const std::uint8_t byte : *bytes) {
    ASSERT_EQ(byte, device->unwritten_byte(wire::ScalarType::Float32));
  }
}

TEST_P(Conformance, PoisonedOutputsAreUnwrittenAgain) {
  EXPECT_FALSE(device->poison_outputs().ok()) << "of no program";
  ASSERT_TRUE(prepare(program_of(kGood)).ok());
  ASSERT_TRUE(device->run(1).ok());
  const Bytes input = bytes_of(0), output = bytes_of(1);
  const auto poisoned = device->poison_outputs();
  ASSERT_TRUE(poisoned.ok()) << poisoned.error().text();
  EXPECT_EQ(bytes_of(0), input);
  EXPECT_EQ(bytes_of(1), Bytes(output.size(), device->unwritten_byte(wire::ScalarType::Float32)));
  const auto intact = device->check_surroundings();
  EXPECT_TRUE(intact.ok()) << intact.error().text();
  ASSERT_TRUE(device->run(1).ok());
  EXPECT_EQ(bytes_of(1), output);
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
    const std::uint32_t all = GetParam().elements;
    for (const std::uint32_t extent : {1u, 2u, 3u, all - 1, all}) {
      ASSERT_TRUE(prepare(counting(extent), n).ok());
      // Also where many short runs are started in another way than few.
      ASSERT_TRUE(device->run(5).ok());
      ASSERT_TRUE(device->run(150).ok());
      ASSERT_TRUE(device->run(1).ok());
      const std::vector<double> counted = counts();
      for (std::uint32_t i = 0; i < all; ++i) {
        ASSERT_EQ(counted[i], i < whole(extent) ? 156 : 0)
            << i << " of " << extent << ", " << n << " threads";
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
    const int rounds = device->exact() ? 1 : 20;
    for (int round = 0; round < rounds; ++round) {
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
  auto timed = counting(1);
  program.launches.push_back(std::move(timed.launches[0]));
  ASSERT_TRUE(prepare(program).ok());
  ASSERT_TRUE(device->run(7).ok());
  const std::vector<double> counted = counts();
  for (std::uint32_t i = 0; i < GetParam().elements; ++i) {
    ASSERT_EQ(counted[i], i < whole(1) ? 8 : 1) << i;
  }
}

TEST_P(Conformance, ScratchWithoutFillHoldsNothingOfBefore) {
  if (!GetParam().computes) GTEST_SKIP() << "this device computes nothing";
  auto program = program_of(kGood);
  program.buffers[1]->role = wire::BufferRole::Scratch;
  ASSERT_TRUE(prepare(program).ok());
  ASSERT_TRUE(device->run(1).ok());
  ASSERT_TRUE(prepare(program).ok());
  for (const std::uint8_t byte : bytes_of(1)) {
    ASSERT_EQ(byte, device->unwritten_byte(wire::ScalarType::Float32));
  }
}

TEST_P(Conformance, StrayWriteIsSeen) {
  if (!GetParam().computes) GTEST_SKIP() << "this device computes nothing";
  const auto prepared = prepare(program_of(kWriteBehind));
  if (GetParam().verifies) {
    ASSERT_FALSE(prepared.ok());
    EXPECT_EQ(prepared.error().code, ErrorCode::Malformed) << prepared.error().text();
    EXPECT_FALSE(device->run(1).ok()) << "nothing of it is there";
    return;
  }
  ASSERT_TRUE(prepared.ok());
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
    const auto added = static_cast<std::uint32_t>(program.buffers.size());
    program.buffers.push_back(std::move(scratch));
    auto second = program_of(kind);
    wire::LaunchT& launch = *second.launches[0];
    if (!launch.args.empty()) launch.args[1] = wire::Arg(wire::ArgKind::Buffer, added, 0, 0, 0);
    for (wire::Relocation& each : launch.relocations) {
      if (each.buffer() == 1) each = wire::Relocation(each.instruction(), added, each.offset());
    }
    program.launches.push_back(std::move(second.launches[0]));
    return program;
  };
  for (const bool looked : {true, false}) {
    const auto prepared = prepare(into_two(kWriteBehind));
    ASSERT_EQ(prepared.ok(), !GetParam().verifies);
    if (prepared) {
      ASSERT_TRUE(device->run(1).ok());
    }
    if (prepared && looked) {
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
