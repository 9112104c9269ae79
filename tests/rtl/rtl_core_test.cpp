// The Verilated core, driven through its registers: a program whose result a formula gives, cycles
// of the loops, and what must not hang or pass unseen.
#include "fpga/rtl/device/rtl_core.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "fpga/config/register_map.h"
#include "tests/support/vta_stream.h"

namespace fettle::vta {
namespace {

using testing::VtaStream;

constexpr std::uint64_t kProgram = 0xc000;  // beyond the stream's buffers

// A memory at address 0.
struct Dram {
  std::vector<std::byte> bytes = std::vector<std::byte>(0x10000);
  void put(std::uint64_t at, const void* data, std::size_t size) {
    std::memcpy(bytes.data() + at, data, size);
  }
  template <typename T>
  T get(std::uint64_t at) const {
    T out;
    std::memcpy(&out, bytes.data() + at, sizeof out);
    return out;
  }
};

Result<RtlRun> run(RtlCore& core, Dram& dram, const std::vector<Word>& words,
                   std::uint32_t disorder = 0, std::uint64_t limit = 200000) {
  const Bytes program = bytes_of(words);
  dram.put(kProgram, program.data(), program.size());
  return core.run(dram.bytes, 0, kProgram, static_cast<std::uint32_t>(words.size()), Timing{},
                  limit, disorder);
}

RtlCore pynq() {
  Result<RtlCore> core = RtlCore::create(*find_design("pynq"));
  if (!core) ADD_FAILURE() << core.error().text();
  return std::move(core).value();
}

// The stream's data at random, and what it computes.
struct Filled {
  VtaStream stream;
  Dram dram;
  std::int32_t sums[4][16] = {};  // of a row of output, without its bias
  std::vector<std::int8_t> expected;

  explicit Filled(std::uint32_t seed) {
    std::mt19937 random(seed);
    const auto fill = [&](std::uint64_t at, std::size_t size) {
      for (std::size_t i = 0; i < size; ++i) dram.bytes[at + i] = std::byte(random() & 0xff);
    };
    fill(VtaStream::kInput, 6 * 16);
    fill(VtaStream::kWeights, 3 * 256);
    for (int i = 0; i < 64; ++i) {
      const std::int32_t bias = static_cast<std::int32_t>(random() % 4096) - 2048;
      dram.put(VtaStream::kBias + 4u * static_cast<unsigned>(i), &bias, 4);
    }
    dram.put(VtaStream::kUops, stream.uops.data(), stream.uops.size());
    for (std::uint64_t row = 0; row < 4; ++row) {
      for (std::uint64_t oc = 0; oc < 16; ++oc) {
        std::int32_t& sum = sums[row][oc];
        for (std::uint64_t tap = 0; tap < 3; ++tap) {
          for (std::uint64_t ic = 0; ic < 16; ++ic) {
            sum += dram.get<std::int8_t>(VtaStream::kInput + 16 * (row + tap) + ic) *
                   dram.get<std::int8_t>(VtaStream::kWeights + 256 * tap + 16 * oc + ic);
          }
        }
        const std::int32_t bias = dram.get<std::int32_t>(VtaStream::kBias + 64 * row + 4 * oc);
        expected.push_back(static_cast<std::int8_t>(std::max((sum + bias) >> 4, 0)));
      }
    }
  }
  bool right() const {
    return std::memcmp(dram.bytes.data() + VtaStream::kOutput, expected.data(), 64) == 0;
  }
};

const RegisterMap& map() { return register_map(Core::Fettle); }

TEST(RtlCore, ToldByItsRegisters) {
  RtlCore core = pynq();
  EXPECT_EQ(core.read(map().identification->offset), map().identification->value);
  const wire::Hash identity = find_design("pynq")->identity();
  std::uint8_t hash[32];
  for (std::uint32_t i = 0; i < 8; ++i) {
    const std::uint32_t part = core.read(*map().identity + 4 * i);
    std::memcpy(hash + 4 * i, &part, 4);
  }
  EXPECT_EQ(std::memcmp(hash, &identity, 32), 0);
  EXPECT_EQ(core.read(0x00), 0u);
}

TEST(RtlCore, AConvolutionIsRight) {
  RtlCore core = pynq();
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    Filled filled(seed);
    const auto ran = run(core, filled.dram, filled.stream.words(), seed);
    ASSERT_TRUE(ran) << ran.error().text();
    EXPECT_TRUE(filled.right()) << "seed " << seed;
    EXPECT_EQ(core.read(0x00), 2u);  // done, and not running
    EXPECT_EQ(ran->written_beats, 8u);
    // Uops, inputs, weights, bias, and the program.
    EXPECT_EQ(ran->read_beats, 2u + 12u + 96u + 32u + 20u);
  }
}

TEST(RtlCore, AStepSeesWhatTheStepsBeforeItWrote) {
  RtlCore core = pynq();
  for (const std::uint16_t apart : {1, 2, 3, 4}) {
    // Micro-op u adds to entry u % apart, so each entry is changed again `apart` steps later.
    Filled filled(9);
    std::vector<MicroOp> uops;
    for (std::uint16_t u = 0; u < 4; ++u)
      uops.push_back({static_cast<std::uint16_t>(u % apart), u, 0});
    filled.stream.set_uops(uops);
    filled.dram.put(VtaStream::kUops, filled.stream.uops.data(), filled.stream.uops.size());
    const auto ran = run(core, filled.dram, filled.stream.words());
    ASSERT_TRUE(ran) << ran.error().text();
    for (std::uint64_t entry = 0; entry < 4; ++entry) {
      for (std::uint64_t oc = 0; oc < 16; ++oc) {
        std::int32_t sum = filled.dram.get<std::int32_t>(VtaStream::kBias + 64 * entry + 4 * oc);
        for (std::uint64_t u = 0; u < 4; ++u) {
          if (u % apart != entry) continue;
          sum += filled.sums[u][oc];
        }
        const std::int8_t expected = static_cast<std::int8_t>(std::max(sum >> 4, 0));
        EXPECT_EQ(filled.dram.get<std::int8_t>(VtaStream::kOutput + 16 * entry + oc), expected)
            << "apart " << apart << ", entry " << entry << ", channel " << oc;
      }
    }
  }
}

// Cycles of the stream with its GEMM, or the first ALU instruction, repeated `iterations` times.
std::uint64_t cycles_of(RtlCore& core, std::uint16_t iterations, bool gemm, bool use_imm) {
  Filled filled(1);
  if (gemm) {
    filled.stream.body<Gemm>(4).iter_out = iterations;
  } else {
    filled.stream.body<Alu>(5).iter_out = iterations;
    filled.stream.body<Alu>(5).use_imm = use_imm;
  }
  const auto ran = run(core, filled.dram, filled.stream.words());
  if (!ran) ADD_FAILURE() << ran.error().text();
  return ran ? ran->cycles : 0;
}

TEST(RtlCore, OneMicroOpACycleTwoWithTwoOperands) {
  RtlCore core = pynq();
  EXPECT_EQ(cycles_of(core, 301, true, true) - cycles_of(core, 1, true, true), 300u * 12);
  EXPECT_EQ(cycles_of(core, 301, false, true) - cycles_of(core, 1, false, true), 300u * 4);
  EXPECT_EQ(cycles_of(core, 301, false, false) - cycles_of(core, 1, false, false), 300u * 8);
}

TEST(RtlCore, InstructionsFollowEachOtherWithoutAGap) {
  RtlCore core = pynq();
  const auto with = [&](std::size_t copies) {
    Filled filled(1);
    const Instruction shift = filled.stream.instructions[5];
    filled.stream.instructions.insert(filled.stream.instructions.begin() + 5, copies, shift);
    const auto ran = run(core, filled.dram, filled.stream.words());
    if (!ran) ADD_FAILURE() << ran.error().text();
    return ran ? ran->cycles : 0;
  };
  // So many that the units' reads are over, and fetch is ahead.
  EXPECT_EQ(with(160) - with(80), 80u * 4);
}

TEST(RtlCore, AProgramThatWaitsForeverIsStoppedAndTheNextOneRuns) {
  RtlCore core = pynq();
  Filled waits(2);
  waits.stream.instructions[6].tokens.push_next = false;  // the store's token never comes
  const auto stuck = run(core, waits.dram, waits.stream.words(), 0, 3000);
  ASSERT_FALSE(stuck);
  EXPECT_EQ(stuck.error().code, ErrorCode::RunTimeout);
  EXPECT_EQ(core.read(0x00), 0u);

  Filled leaves(3);
  leaves.stream.instructions[5].tokens.push_prev = true;  // a token too many
  ASSERT_TRUE(run(core, leaves.dram, leaves.stream.words()));
  // With it left behind, this load would not wait for the token that never comes.
  Filled again(4);
  again.stream.instructions[1].tokens.pop_next = true;
  EXPECT_FALSE(run(core, again.dram, again.stream.words(), 0, 3000));

  Filled good(5);
  ASSERT_TRUE(run(core, good.dram, good.stream.words()));
  EXPECT_TRUE(good.right());
}

TEST(RtlCore, StoppedInTheMidstOfTransfersItLeavesTheBusInOrder) {
  RtlCore core = pynq();
  int stopped = 0;
  for (std::uint64_t limit = 20; limit < 420; limit += 7) {
    Filled cut(6);
    const std::uint32_t disorder = static_cast<std::uint32_t>(limit);
    const auto ran = run(core, cut.dram, cut.stream.words(), disorder, limit);
    if (!ran) {
      ++stopped;
      EXPECT_EQ(ran.error().code, ErrorCode::RunTimeout) << ran.error().text();
    }
    Filled good(7);
    const auto next = run(core, good.dram, good.stream.words(), disorder);
    ASSERT_TRUE(next) << "limit " << limit << ": " << next.error().text();
    EXPECT_TRUE(good.right()) << "limit " << limit;
  }
  std::printf("%d were stopped\n", stopped);
  EXPECT_GE(stopped, 40);
}

TEST(RtlCore, AnAccessBesideTheMemoryIsSeen) {
  RtlCore core = pynq();
  Filled beside(8);
  beside.stream.body<Load>(2).dram_base = 0x10000 / 256;
  const auto ran = run(core, beside.dram, beside.stream.words());
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, ErrorCode::StrayWrite);
  EXPECT_NE(ran.error().message.find("a read at 0x10000"), std::string::npos)
      << ran.error().message;
}

TEST(RtlCore, AnotherDesignIsRefused) {
  Design other = *find_design("pynq");
  other.block_out = 32;
  const auto core = RtlCore::create(other);
  ASSERT_FALSE(core);
  EXPECT_NE(core.error().message.find("block_out 16"), std::string::npos) << core.error().message;
}

}  // namespace
}  // namespace fettle::vta
