// Every field of a launch has its bounds, by the kind of its image.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "schemas/wire/limits.h"
#include "tests/protocol/wire_samples.h"

namespace fettle {
namespace {

// Launches of sample_program: of a CPU, of PTX, of VTA.
enum { kCpu, kGpu, kVta };

using Change = std::function<void(wire::ProgramT&)>;
using Launch = std::function<void(wire::LaunchT&)>;

Result<wire::ProgramT> after(const Change& change) {
  wire::ProgramT program = sample_program();
  change(program);
  return decode_program(encode(program));
}
Change of(int launch, Launch change) {
  return [=](wire::ProgramT& program) { change(*program.launches[launch]); };
}
Change arg(wire::Arg made) {
  return of(kCpu, [=](wire::LaunchT& launch) { launch.args[0] = made; });
}

TEST(ProgramCheck, TheSampleIsFine) {
  const auto decoded = after([](wire::ProgramT&) {});
  EXPECT_TRUE(decoded.ok()) << decoded.error().text();
}

TEST(ProgramCheck, WhatMeansNothingForAKindIsRefused) {
  using wire::Dim3;
  const std::pair<const char*, Change> breaks[] = {
      {"grid on a CPU", of(kCpu, [](auto& l) { l.grid = std::make_unique<Dim3>(1, 1, 1); })},
      {"empty grid on a CPU", of(kCpu, [](auto& l) { l.grid = std::make_unique<Dim3>(0, 0, 0); })},
      {"block on a CPU", of(kCpu, [](auto& l) { l.block = std::make_unique<Dim3>(1, 1, 1); })},
      {"shared memory on a CPU", of(kCpu, [](auto& l) { l.shared_bytes = 1; })},
      {"relocation on a CPU", of(kCpu, [](auto& l) { l.relocations = {{0, 0, 0}}; })},
      {"parallel loop on a GPU", of(kGpu, [](auto& l) { l.parallel_extent = 2; })},
      {"relocation on a GPU", of(kGpu, [](auto& l) { l.relocations = {{0, 0, 0}}; })},
      {"grid on VTA", of(kVta, [](auto& l) { l.grid = std::make_unique<Dim3>(1, 1, 1); })},
      {"parallel loop on VTA", of(kVta, [](auto& l) { l.parallel_extent = 2; })},
      {"shared memory on VTA", of(kVta, [](auto& l) { l.shared_bytes = 1; })},
      {"argument of VTA",
       of(kVta, [](auto& l) { l.args = {wire::Arg(wire::ArgKind::Buffer, 1, 0, 0, 0)}; })},
      {"VTA without a configuration", [](auto& p) { p.images[2]->configuration.clear(); }},
      {"CPU layout of VTA",
       [](auto& p) { p.images[2]->cpu = std::make_unique<wire::CpuLayoutT>(); }},
      {"build options of VTA", [](auto& p) { p.images[2]->build_options = "-O3"; }},
      {"CPU layout of PTX",
       [](auto& p) { p.images[1]->cpu = std::make_unique<wire::CpuLayoutT>(); }},
      {"build options of PTX", [](auto& p) { p.images[1]->build_options = "-O3"; }},
      {"configuration of PTX", [](auto& p) { p.images[1]->configuration = "vta"; }},
      {"offset of a kernel", [](auto& p) { p.images[1]->entries[0]->offset = 4; }},
      {"kernel without a name", [](auto& p) { p.images[1]->entries[0]->name.clear(); }},
      {"zero in PTX", [](auto& p) { p.images[1]->bytes[5] = 0; }},
      {"launch of a bitstream",
       [](auto& p) {
         p.images[2]->kind = wire::ImageKind::Bitstream;
         p.launches[kVta]->relocations.clear();
       }},
  };
  for (const auto& [name, change] : breaks) EXPECT_FALSE(after(change).ok()) << name;
}

TEST(ProgramCheck, GridsAndBlocksAreInRange) {
  using wire::Dim3;
  const auto grid = [](std::uint32_t x, std::uint32_t y, std::uint32_t z) {
    return of(kGpu, [=](auto& l) { l.grid = std::make_unique<Dim3>(x, y, z); });
  };
  const auto block = [](std::uint32_t x, std::uint32_t y, std::uint32_t z) {
    return of(kGpu, [=](auto& l) { l.block = std::make_unique<Dim3>(x, y, z); });
  };
  EXPECT_TRUE(after(grid(limits::kGridExtent, 1, 1)).ok());
  EXPECT_TRUE(after(block(limits::kBlockThreads, 1, 1)).ok());
  EXPECT_TRUE(after(block(16, limits::kBlockThreads / 16, 1)).ok());
  for (const auto& change :
       {grid(0, 1, 1), grid(1, 0, 1), grid(1, 1, 0), grid(limits::kGridExtent + 1, 1, 1),
        block(0, 1, 1), block(1, 1, 0), block(limits::kBlockThreads + 1, 1, 1), block(64, 64, 64),
        block(1u << 16, 1u << 16, 1)}) {
    EXPECT_FALSE(after(change).ok());
  }
  EXPECT_FALSE(after(of(kGpu, [](auto& l) { l.grid = nullptr; })).ok());
  EXPECT_FALSE(after(of(kGpu, [](auto& l) { l.block = nullptr; })).ok());
  EXPECT_FALSE(after(of(kGpu, [](auto& l) { l.shared_bytes = limits::kSharedBytes + 1; })).ok());
}

TEST(ProgramCheck, RelocationsNameAnInstruction) {
  const auto at = [](std::uint32_t instruction, std::uint32_t buffer, std::uint64_t offset) {
    return of(kVta, [=](auto& l) { l.relocations = {{instruction, buffer, offset}}; });
  };
  EXPECT_TRUE(after(at(3, 1, 4095)).ok()) << "four instructions of 16 bytes";
  EXPECT_FALSE(after(at(4, 1, 0)).ok());
  EXPECT_FALSE(after(at(~0u, 1, 0)).ok());
  EXPECT_FALSE(after(at(0, 2, 0)).ok());
  EXPECT_FALSE(after(at(0, 1, 4096)).ok());
}

TEST(ProgramCheck, RelocationsAreInOrderAndOneEach) {
  const auto two = [](std::uint32_t first, std::uint32_t second) {
    return of(kVta, [=](auto& l) { l.relocations = {{first, 0, 0}, {second, 1, 0}}; });
  };
  EXPECT_TRUE(after(two(0, 3)).ok());
  EXPECT_FALSE(after(two(3, 0)).ok());
  EXPECT_FALSE(after(two(1, 1)).ok());
}

// Four instructions: streams that begin at these offsets.
TEST(ProgramCheck, StreamsOfAnImageFollowOneAnother) {
  const auto entries = [](std::vector<std::uint64_t> offsets, std::size_t bytes = 64) {
    return [=](wire::ProgramT& program) {
      wire::ImageT& image = *program.images[2];
      image.bytes.resize(bytes);
      image.entries.clear();
      for (const std::uint64_t offset : offsets) {
        image.entries.push_back(std::make_unique<wire::EntryPointT>());
        image.entries.back()->name = "stream";
        image.entries.back()->offset = offset;
      }
      program.launches[kVta]->relocations.clear();
    };
  };
  EXPECT_TRUE(after(entries({0})).ok());
  EXPECT_TRUE(after(entries({0, 16, 48})).ok());
  EXPECT_FALSE(after(entries({16})).ok()) << "not the first instruction";
  EXPECT_FALSE(after(entries({0, 8})).ok()) << "within an instruction";
  EXPECT_FALSE(after(entries({0, 32, 16})).ok()) << "not ascending";
  EXPECT_FALSE(after(entries({0, 0})).ok()) << "an empty stream";
  EXPECT_FALSE(after(entries({0, 64})).ok()) << "beyond the image";
  EXPECT_FALSE(after(entries({0}, 56)).ok()) << "half an instruction";
}

TEST(ProgramCheck, RelocationsKeepToTheirStream) {
  const auto at = [](std::uint32_t entry, std::uint32_t instruction) {
    return [=](wire::ProgramT& program) {
      wire::ImageT& image = *program.images[2];
      image.entries.push_back(std::make_unique<wire::EntryPointT>());
      image.entries[1]->name = "second";
      image.entries[1]->offset = 16;
      program.launches[kVta]->entry = entry;
      program.launches[kVta]->relocations = {{instruction, 0, 0}};
    };
  };
  EXPECT_TRUE(after(at(0, 0)).ok());
  EXPECT_FALSE(after(at(0, 1)).ok()) << "the next stream's";
  EXPECT_TRUE(after(at(1, 2)).ok());
  EXPECT_FALSE(after(at(1, 3)).ok());
}

TEST(ProgramCheck, ScalarsFitTheirWidth) {
  using wire::Arg;
  using wire::ArgKind;
  const double infinity = std::numeric_limits<double>::infinity();
  for (const Arg& good :
       {Arg(ArgKind::Int32, 0, 0, 2147483647, 0), Arg(ArgKind::Int64, 0, 0, -(1ll << 62), 0),
        Arg(ArgKind::Float32, 0, 0, 0, -3.4e38), Arg(ArgKind::Float32, 0, 0, 0, infinity),
        Arg(ArgKind::Float32, 0, 0, 0, std::nan("")), Arg(ArgKind::Float64, 0, 0, 0, 1e300),
        Arg(ArgKind::Int, 0, 0, 1ll << 40, 0), Arg(ArgKind::Real, 0, 0, 0, 1e300)}) {
    EXPECT_TRUE(after(arg(good)).ok()) << wire::EnumNameArgKind(good.kind());
  }
  for (const Arg& evil :
       {Arg(ArgKind::Int32, 0, 0, 2147483648, 0), Arg(ArgKind::Int32, 0, 0, -2147483649, 0),
        Arg(ArgKind::Float32, 0, 0, 0, 3.5e38), Arg(ArgKind::Float64, 0, 0, 1, 1),
        Arg(ArgKind::Int64, 0, 0, 1, 1), Arg(ArgKind::Int32, 1, 0, 1, 0),
        Arg(ArgKind::Float32, 0, 8, 0, 1), Arg(ArgKind::Buffer, 0, 0, 1, 0),
        Arg(ArgKind::Buffer, 0, 0, 0, std::nan("")), Arg(static_cast<ArgKind>(7), 0, 0, 0, 0)}) {
    EXPECT_FALSE(after(arg(evil)).ok()) << wire::EnumNameArgKind(evil.kind());
  }
}

TEST(ProgramCheck, UnknownEnumsAreRefused) {
  const std::pair<const char*, Change> breaks[] = {
      {"phase", of(kCpu, [](auto& l) { l.phase = static_cast<wire::Phase>(2); })},
      {"role", [](auto& p) { p.buffers[0]->role = static_cast<wire::BufferRole>(4); }},
      {"fill", [](auto& p) { p.buffers[0]->fill->kind = static_cast<wire::FillKind>(9); }},
      {"type of a fill",
       [](auto& p) { p.buffers[0]->fill->dtype = static_cast<wire::ScalarType>(99); }},
      {"kind of image", [](auto& p) { p.images[1]->kind = static_cast<wire::ImageKind>(77); }},
  };
  for (const auto& [name, change] : breaks) EXPECT_FALSE(after(change).ok()) << name;
  auto request = sample_request();
  request.expected[0]->dtype = static_cast<wire::ScalarType>(99);
  EXPECT_FALSE(decode_request(encode(request)).ok());
}

}  // namespace
}  // namespace fettle
