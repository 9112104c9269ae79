// The CPU's executor with functions of this program as entry points: what it passes them.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <functional>

#include "runtime/cpu/cpu_executor.h"
#include "runtime/cpu/cpu_image.h"
#include "runtime/cpu/guarded_memory.h"

namespace fettle::runtime {
namespace {

class Function final : public LoadedImage {
 public:
  explicit Function(CpuEntry function) : function_(reinterpret_cast<const void*>(function)) {}
  const void* entry(std::uint32_t) const override { return function_; }
  AddressRange code() const override { return {}; }

 private:
  const void* function_;
};

// What the scalars of the last call were.
struct Scalars {
  std::int32_t int32;
  std::int64_t int64;
  float float32;
  double float64;
} scalars;

void take_scalars(void* const* args, std::int32_t, std::int32_t, std::int32_t) {
  std::memcpy(&scalars.int32, args[0], sizeof(std::int32_t));
  std::memcpy(&scalars.int64, args[1], sizeof(std::int64_t));
  std::memcpy(&scalars.float32, args[2], sizeof(float));
  std::memcpy(&scalars.float64, args[3], sizeof(double));
}

TEST(CpuExecutor, ScalarsHaveTheirWidth) {
  using wire::Arg;
  using wire::ArgKind;
  CpuExecutor executor({0});
  const Function image(take_scalars);
  for (const bool first_names : {false, true}) {
    wire::LaunchT launch;
    launch.args = {Arg(ArgKind::Int32, 0, 0, -7, 0),
                   Arg(first_names ? ArgKind::Int : ArgKind::Int64, 0, 0, -(1ll << 40), 0),
                   Arg(ArgKind::Float32, 0, 0, 0, 1.5),
                   Arg(first_names ? ArgKind::Real : ArgKind::Float64, 0, 0, 0, 0.1)};
    auto series = executor.make_series();
    ASSERT_TRUE(series->add(launch, image, {}).ok());
    scalars = {};
    ASSERT_TRUE(series->run(1, {}).ok());
    EXPECT_EQ(scalars.int32, -7);
    EXPECT_EQ(scalars.int64, -(1ll << 40));
    EXPECT_EQ(scalars.float32, 1.5f);
    EXPECT_EQ(scalars.float64, 0.1);
  }
}

TEST(GuardedMemory, SharesWhatIsOnlyRead) {
  GuardedMemory memory(1 << 20);
  const BlobLookup no_blobs = [](const wire::Hash&) { return ByteView(); };
  wire::BufferT input;
  input.bytes = 64;
  auto first = memory.take(input, no_blobs), second = memory.take(input, no_blobs);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ((*first)->data().data(), (*second)->data().data());
  EXPECT_TRUE((*first)->read_only());

  wire::BufferT output = {};
  output.bytes = 64;
  output.role = wire::BufferRole::Output;
  auto own = memory.take(output, no_blobs), other = memory.take(output, no_blobs);
  ASSERT_TRUE(own.ok() && other.ok());
  EXPECT_NE((*own)->data().data(), (*other)->data().data());
  EXPECT_EQ((*own)->data()[0], unwritten_byte(wire::ScalarType::Float32));
}

#ifndef __SANITIZE_THREAD__  // which refuses threads in a child of a process that had some
// What `done` says in a child that may map only so many bytes more.
bool in_a_child_with(std::uint64_t bytes, const std::function<bool()>& done, bool threads = true) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    if (!threads && geteuid() == 0 && setuid(65534) != 0) _exit(4);  // root would get them
    const rlimit one{1, 1};
    if (!threads && setrlimit(RLIMIT_NPROC, &one) != 0) _exit(5);
    unsigned long pages = 0;
    FILE* statm = fopen("/proc/self/statm", "r");
    if (!statm || fscanf(statm, "%lu", &pages) != 1) _exit(2);
    const rlim_t all = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + bytes;
    const rlimit limit{all, RLIM_INFINITY};
    if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(3);
    _exit(done() ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) < 2) << status;
  return status == 0;
}

TEST(GuardedMemory, WhatItKeepsGivesWay) {
  const BlobLookup no_blobs = [](const wire::Hash&) { return ByteView(); };
  constexpr std::uint64_t kLarge = std::uint64_t{96} << 20;
  GuardedMemory memory(std::uint64_t{1} << 30);
  wire::BufferT scratch, input;
  scratch.role = wire::BufferRole::Scratch;
  scratch.bytes = input.bytes = kLarge;
  for (const wire::BufferT* buffer : {&scratch, &input}) {
    auto taken = memory.take(*buffer, no_blobs);
    ASSERT_TRUE(taken.ok());
    memory.give_back(std::move(*taken));
  }
  EXPECT_TRUE(in_a_child_with(std::uint64_t{16} << 20, [&] {
    wire::BufferT larger;
    larger.role = wire::BufferRole::Scratch;
    larger.bytes = 2 * kLarge;
    auto taken = memory.take(larger, no_blobs);
    if (!taken.ok()) return false;
    larger.bytes = 4 * kLarge;
    const auto none = memory.take(larger, no_blobs);
    return !none.ok() && none.error().code == ErrorCode::OutOfMemory;
  }));
}

std::atomic<int> iterations = 0;
void count_iterations(void* const*, std::int32_t begin, std::int32_t end, std::int32_t) {
  iterations += end - begin;
}

// A child of fork() has none of the threads, and may get none.
TEST(CpuExecutor, FewerThreadsDoAllOfTheWork) {
  CpuExecutor executor({}, 3);
  executor.use_threads(3);
  const Function image(count_iterations);
  auto series = executor.make_series();
  wire::LaunchT launch;
  launch.parallel_extent = 6;
  ASSERT_TRUE(series->add(launch, image, {}).ok());
  for (const bool all : {true, false}) {
    EXPECT_TRUE(in_a_child_with(
        std::uint64_t{1} << 30,
        [&] {
          iterations = 0;
          return series->run(2, {}).ok() && iterations == 12;
        },
        all))
        << all;
  }
}
#endif

TEST(GuardedMemory, CopiesHoldTheSameAndAreGuarded) {
  GuardedMemory memory(1 << 20);
  const Bytes contents = {1, 2, 3, 4, 5};
  const BlobLookup blobs = [&](const wire::Hash&) { return ByteView(contents); };
  wire::BufferT constant;
  constant.bytes = contents.size();
  constant.role = wire::BufferRole::Constant;
  constant.fill = std::make_unique<wire::FillT>();
  constant.fill->kind = wire::FillKind::Blob;
  constant.fill->blob = std::make_unique<wire::Hash>();
  auto weights = memory.take_copies(constant, blobs, 3),
       again = memory.take_copies(constant, blobs, 3);
  ASSERT_TRUE(weights.ok() && again.ok());
  EXPECT_EQ((*weights)->copies(), 3u);
  for (std::uint32_t i = 0; i < 3; ++i) {
    const std::uint8_t* copy = (*weights)->copy(i);
    EXPECT_EQ(Bytes(copy, copy + contents.size()), contents) << i;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(copy) % 64, 0u) << i;
    EXPECT_EQ(copy, (*again)->copy(i)) << "what is only read is shared";
    for (std::uint32_t j = 0; j < i; ++j) EXPECT_NE(copy, (*weights)->copy(j));
  }
  EXPECT_EQ((*weights)->copy(0), (*weights)->data().data());

  wire::BufferT scratch;
  scratch.bytes = 60;
  scratch.role = wire::BufferRole::Scratch;
  auto packed = memory.take_copies(scratch, blobs, 4);
  ASSERT_TRUE(packed.ok());
  EXPECT_EQ(*(*packed)->damage(), "");
  for (const std::uint32_t edge : {0u, 3u}) {
    (*packed)->copy(edge)[60] ^= 1;
    EXPECT_NE(*(*packed)->damage(), "") << "behind copy " << edge;
    (*packed)->mend();
    EXPECT_EQ(*(*packed)->damage(), "");
  }
  (*packed)->copy(2)[7] = 0;
  const auto* first = (*packed)->copy(0);
  const auto* third = (*packed)->copy(2);
  memory.give_back(std::move(*packed));
  auto next = memory.take_copies(scratch, blobs, 4);
  ASSERT_TRUE(next.ok());
  EXPECT_EQ((*next)->copy(0), first) << "mappings are used again";
  EXPECT_EQ((*next)->copy(2), third);
  EXPECT_EQ((*next)->copy(2)[7], unwritten_byte(wire::ScalarType::Float32));
}

std::vector<const void*> seen;
void note_first(void* const* args, std::int32_t, std::int32_t, std::int32_t thread) {
  if (thread == 0) seen.push_back(args[0]);
}

TEST(CpuExecutor, RunsTakeTurnsWithCopies) {
  GuardedMemory memory(1 << 20);
  wire::BufferT scratch;
  scratch.bytes = 64;
  scratch.role = wire::BufferRole::Scratch;
  std::vector<std::unique_ptr<BufferMemory>> buffers;
  for (const std::uint32_t copies : {3u, 1u}) {
    auto taken = memory.take_copies(scratch, [](const wire::Hash&) { return ByteView(); }, copies);
    ASSERT_TRUE(taken.ok());
    buffers.push_back(std::move(*taken));
  }
  for (const std::uint32_t threads : {1u, 2u}) {
    CpuExecutor executor({}, threads);
    executor.use_threads(threads);
    const Function image(note_first);
    auto series = executor.make_series();
    for (const std::uint32_t buffer : {0u, 1u}) {
      wire::LaunchT launch;
      launch.args = {wire::Arg(wire::ArgKind::Buffer, buffer, 8, 0, 0)};
      launch.parallel_extent = 2;
      ASSERT_TRUE(series->add(launch, image, buffers).ok());
    }
    seen.clear();
    ASSERT_TRUE(series->run(2, {}).ok());
    ASSERT_TRUE(series->run(2, {}).ok());
    std::vector<const void*> wanted;
    for (const std::uint32_t round : {0u, 1u, 2u, 0u}) {
      wanted.push_back(buffers[0]->copy(round) + 8);
      wanted.push_back(buffers[1]->data().data() + 8);
    }
    EXPECT_EQ(seen, wanted) << threads << " threads";
  }
}

// Candidates of one task want scratch of ever other sizes: those take pages that are there already.
TEST(GuardedMemory, PagesOfALargerBufferAreUsedAgain) {
  GuardedMemory memory(64 << 20);
  const BlobLookup no_blobs = [](const wire::Hash&) { return ByteView(); };
  wire::BufferT scratch;
  scratch.alignment = 64;
  scratch.role = wire::BufferRole::Scratch;
  const auto take = [&](std::uint64_t bytes) {
    scratch.bytes = bytes;
    auto taken = memory.take(scratch, no_blobs);
    EXPECT_TRUE(taken.ok());
    return std::move(*taken);
  };
  constexpr std::uint64_t kLarge = 9 << 20, kSmall = 5 << 20;
  auto large = take(kLarge);
  const auto* const end = large->data().data() + large->data().size();
  const AddressRange reserved = large->reserved();
  memory.give_back(std::move(large));

  auto small = take(kSmall);
  ASSERT_EQ(small->data().size(), kSmall);
  EXPECT_EQ(small->data().data() + kSmall, end) << "the same mapping, which ends where it ended";
  EXPECT_EQ(small->reserved().begin, reserved.begin);
  EXPECT_EQ(*small->damage(), "");
  for (const std::uint64_t at : {std::uint64_t{0}, kSmall - 1}) {
    EXPECT_EQ(small->data()[at], unwritten_byte(wire::ScalarType::Float32)) << "nothing is left";
  }
  small->data().data()[-1] ^= 1;
  EXPECT_NE(*small->damage(), "") << "its own sentinels stand around it";
  small->mend();
  // More than two pages in front of it is what the larger one had: a guard now.
  EXPECT_DEATH(*(small->data().data() - (3 << 20)) = 1, "");
  memory.give_back(std::move(small));

  auto again = take(kLarge);
  EXPECT_EQ(again->data().data() + kLarge, end) << "and it grows back";
  again->data()[0] = 1;
  EXPECT_EQ(*again->damage(), "");
  memory.give_back(std::move(again));
  // Not pages many times too large, nor small ones for what wants large ones.
  EXPECT_NE(take(1 << 20)->reserved().begin, reserved.begin);
  EXPECT_NE(take(4096)->reserved().begin, reserved.begin);
  EXPECT_NE(take(kLarge + (4 << 20))->reserved().begin, reserved.begin);
}

TEST(GuardedMemory, TellsAndMendsDamage) {
  GuardedMemory memory(1 << 20);
  wire::BufferT output;
  output.bytes = 63;
  output.alignment = 64;
  output.role = wire::BufferRole::Output;
  const BlobLookup no_blobs = [](const wire::Hash&) { return ByteView(); };
  auto taken = memory.take(output, no_blobs);
  ASSERT_TRUE(taken.ok());
  EXPECT_EQ(*(*taken)->damage(), "");
  (*taken)->data().data()[63] ^= 1;
  EXPECT_NE(*(*taken)->damage(), "");
  (*taken)->mend();
  EXPECT_EQ(*(*taken)->damage(), "");
  const auto* before = (*taken)->data().data();
  memory.give_back(std::move(*taken));
  auto again = memory.take(output, no_blobs);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ((*again)->data().data(), before) << "a mapping is used again";
}

}  // namespace
}  // namespace fettle::runtime
