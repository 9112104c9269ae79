// Programs of launches of two kinds: each is loaded and run by its own, in the program's
// order; and what becomes of their memory.
#include <gtest/gtest.h>

#include "runtime/loaded_program.h"
#include "runtime/weights.h"

namespace fettle::runtime {
namespace {

class PlainBlock final : public BufferMemory {
 public:
  explicit PlainBlock(std::uint64_t bytes) : bytes_(bytes) {}
  std::span<std::uint8_t> data() const override { return bytes_; }
  bool read_only() const override { return false; }
  AddressRange reserved() const override { return {}; }
  Result<std::string> damage() const override { return std::string(); }
  void mend() override {}

 private:
  mutable Bytes bytes_;
};

class PlainMemory final : public Memory {
 public:
  Result<std::unique_ptr<BufferMemory>> take(const wire::BufferT& buffer,
                                             const BlobLookup&) override {
    if (out == most) return Error{ErrorCode::OutOfMemory, "no more"};
    ++out;
    return std::unique_ptr<BufferMemory>(new PlainBlock(buffer.bytes));
  }
  Result<std::unique_ptr<BufferMemory>> take_copies(const wire::BufferT& buffer,
                                                    const BlobLookup& blobs,
                                                    std::uint32_t copies) override {
    return keeps_copies ? take(buffer, blobs) : Memory::take_copies(buffer, blobs, copies);
  }
  void give_back(std::unique_ptr<BufferMemory>) override { --out; }
  int out = 0, most = 100;
  bool keeps_copies = false;
};

class NamedImage final : public LoadedImage {
 public:
  const void* entry(std::uint32_t) const override { return this; }
  AddressRange code() const override { return {}; }
};

class NamedLoader final : public Loader {
 public:
  Result<std::unique_ptr<LoadedImage>> load(const wire::ImageT&, ByteView) override {
    return std::unique_ptr<LoadedImage>(new NamedImage);
  }
};

// Writes down "c0" for the launch of kind c whose first argument is buffer 0.
class Scribe final : public Executor {
 public:
  Scribe(char kind, std::string& said) : kind_(kind), said_(said) {}
  std::unique_ptr<LaunchSeries> make_series() override { return std::make_unique<Series>(*this); }

 private:
  struct Series final : LaunchSeries {
    explicit Series(Scribe& scribe) : of(scribe) {}
    Result<void> add(const wire::LaunchT& launch, const LoadedImage&,
                     std::span<const std::unique_ptr<BufferMemory>> buffers) override {
      EXPECT_LT(launch.args[0].buffer(), buffers.size());
      words.push_back(of.kind_ + std::to_string(launch.args[0].buffer()) + " ");
      return {};
    }
    Result<std::uint64_t> run(std::uint32_t times, std::span<std::uint64_t> launch_ticks) override {
      for (std::uint32_t i = 0; i < times; ++i) {
        for (std::size_t n = 0; n < words.size(); ++n) {
          of.said_ += words[n];
          if (!launch_ticks.empty()) launch_ticks[n] += words[n].front() == 'c' ? 10 : 1;
        }
      }
      return words.size() * times;
    }
    Scribe& of;
    std::vector<std::string> words;
  };
  char kind_;
  std::string& said_;
};

struct Machine {
  std::string said;
  PlainMemory memory;
  NamedLoader loader;
  Scribe cpu{'c', said}, vta{'v', said};
  Kind kinds[2] = {{wire::ImageKind::CpuImage, loader, cpu},
                   {wire::ImageKind::VtaStream, loader, vta}};

  Result<LoadedProgram> load(const wire::ProgramT& program, std::size_t count = 2) {
    return LoadedProgram::load(program, memory, std::span(kinds, count),
                               [](const wire::Hash&) { return ByteView(); });
  }
};

// Image 0 is of a CPU, 1 of VTA; two buffers. A launch "p1" prepares with image 1.
wire::ProgramT program_of(const std::vector<std::string>& launches) {
  wire::ProgramT program;
  for (const auto kind : {wire::ImageKind::CpuImage, wire::ImageKind::VtaStream}) {
    program.images.push_back(std::make_unique<wire::ImageT>());
    program.images.back()->kind = kind;
    program.images.back()->bytes = {1};
    program.images.back()->entries.push_back(std::make_unique<wire::EntryPointT>());
  }
  for (int i = 0; i < 2; ++i) {
    program.buffers.push_back(std::make_unique<wire::BufferT>());
    program.buffers.back()->bytes = 4;
  }
  for (const std::string& words : launches) {
    auto launch = std::make_unique<wire::LaunchT>();
    launch->phase = words[0] == 'p' ? wire::Phase::Prepare : wire::Phase::Run;
    launch->image = words[1] == '1' ? 1 : 0;
    launch->args = {wire::Arg(wire::ArgKind::Buffer, words[2] == '1' ? 1 : 0, 0, 0, 0)};
    program.launches.push_back(std::move(launch));
  }
  return program;
}

TEST(LoadedProgram, RunsLaunchesOfTwoKindsInOrder) {
  Machine machine;
  auto loaded = machine.load(program_of({"p10", "r00", "r01", "r10", "p01", "r11", "r00"}));
  ASSERT_TRUE(loaded.ok()) << loaded.error().text();
  EXPECT_TRUE(loaded->has_prepare_launches());
  EXPECT_EQ(*loaded->prepare(), 2u);
  EXPECT_EQ(machine.said, "v0 c1 ");
  machine.said.clear();
  EXPECT_EQ(loaded->run_launches(), 5u);
  EXPECT_EQ(*loaded->run(2), 10u);
  EXPECT_EQ(machine.said, "c0 c1 v0 v1 c0 c0 c1 v0 v1 c0 ");
}

TEST(LoadedProgram, TicksOfALaunchStandAtItsPlace) {
  Machine machine;
  auto loaded = machine.load(program_of({"r00", "r10", "p00", "r11", "r01"}));
  ASSERT_TRUE(loaded.ok()) << loaded.error().text();
  std::vector<std::uint64_t> ticks(loaded->run_launches());
  ASSERT_TRUE(loaded->run(3, ticks).ok());
  EXPECT_EQ(ticks, (std::vector<std::uint64_t>{30, 3, 3, 30}));
}

TEST(LoadedProgram, WeightsAreWhatRunsReadOfConstantsAndOfWhatWasPrepared) {
  wire::ProgramT program = program_of({"p00", "p01", "r01", "r02", "r03", "r04"});
  program.buffers.clear();
  // 0: a constant that is only packed; 1: packed; 2: a constant; 3: between launches; 4: an output.
  for (const auto role :
       {wire::BufferRole::Constant, wire::BufferRole::Scratch, wire::BufferRole::Constant,
        wire::BufferRole::Scratch, wire::BufferRole::Output}) {
    program.buffers.push_back(std::make_unique<wire::BufferT>());
    program.buffers.back()->role = role;
    program.buffers.back()->bytes = 100;
  }
  for (std::size_t i = 0; i < program.launches.size(); ++i) {
    const std::uint32_t buffers[] = {0, 1, 1, 2, 3, 4};
    program.launches[i]->args = {wire::Arg(wire::ArgKind::Buffer, buffers[i], 0, 0, 0)};
  }
  EXPECT_EQ(weights_of(program), (std::vector<bool>{false, true, true, false, false}));
  EXPECT_EQ(copies_of_weights(program, 0), 1u);
  EXPECT_EQ(copies_of_weights(program, 200), 1u);
  EXPECT_EQ(copies_of_weights(program, 401), 3u);
  EXPECT_EQ(copies_of_weights(program, std::uint64_t{1} << 60), kMostCopies);
  EXPECT_EQ(copies_of_weights(program_of({"r00"}), 1000), 1u) << "there are none";
}

// What a Prepare launch wrote is not written again.
TEST(LoadedProgram, PoisonsTheOutputsOfRunsOnly) {
  Machine machine;
  wire::ProgramT program = program_of({"p00", "r00", "r01", "r10"});
  program.launches[3]->args[0] = wire::Arg(wire::ArgKind::Buffer, 2, 0, 0, 0);
  program.buffers.push_back(std::make_unique<wire::BufferT>());
  for (auto& buffer : program.buffers) {
    buffer->bytes = 4;
    buffer->role = wire::BufferRole::Output;
    buffer->fill = std::make_unique<wire::FillT>();
  }
  program.buffers[1]->fill->dtype = wire::ScalarType::Int8;
  auto loaded = machine.load(program);
  ASSERT_TRUE(loaded.ok()) << loaded.error().text();
  ASSERT_TRUE(loaded->poison_outputs().ok());
  const int holds[] = {0, 0xa5, 0xff};
  for (std::size_t i = 0; i < 3; ++i) {
    for (const std::uint8_t byte : loaded->buffers()[i]->data()) EXPECT_EQ(byte, holds[i]) << i;
  }
}

TEST(LoadedProgram, CopiesOfWeightsAreEachPreparedOrRefused) {
  Machine machine;
  wire::ProgramT program = program_of({"p00", "r00"});
  for (auto& buffer : program.buffers) buffer->role = wire::BufferRole::Scratch;
  const BlobLookup none = [](const wire::Hash&) { return ByteView(); };
  const auto refused = LoadedProgram::load(program, machine.memory, machine.kinds, none, 3);
  ASSERT_FALSE(refused.ok()) << "this memory keeps none";
  EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
  machine.memory.keeps_copies = true;
  auto loaded = LoadedProgram::load(program, machine.memory, machine.kinds, none, 3);
  ASSERT_TRUE(loaded.ok()) << loaded.error().text();
  ASSERT_TRUE(loaded->prepare().ok());
  EXPECT_EQ(machine.said, "c0 c0 c0 ");
}

TEST(LoadedProgram, AnImageOfNoKindHereIsUnsupported) {
  Machine machine;
  const auto loaded = machine.load(program_of({"r00"}), 1);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, ErrorCode::Unsupported);
  EXPECT_EQ(machine.memory.out, 0) << "what it had taken went back";
}

TEST(LoadedProgram, GivesItsMemoryBack) {
  Machine machine;
  {
    auto loaded = machine.load(program_of({"r00"}));
    ASSERT_TRUE(loaded.ok());
    const LoadedProgram moved = std::move(*loaded);
    EXPECT_EQ(machine.memory.out, 2);
  }
  EXPECT_EQ(machine.memory.out, 0);
  machine.memory.most = 1;
  const auto refused = machine.load(program_of({"r00"}));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::OutOfMemory);
  EXPECT_EQ(machine.memory.out, 0);
}

TEST(LoadedProgram, NothingToTimeIsAnError) {
  Machine machine;
  EXPECT_FALSE(machine.load(program_of({"p00"})).ok());
}

}  // namespace
}  // namespace fettle::runtime
