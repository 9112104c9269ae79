// The simulator's estimate of cycles against what follows from a core's rates.
#include <gtest/gtest.h>

#include "fpga/sim/simulator.h"

namespace fettle::vta {
namespace {

constexpr std::uint64_t kStream = 0x100000;

struct Estimate {
  std::uint64_t cycles;
  std::vector<Span> spans;
};

// `instructions` and a FINISH, over a megabyte of zeros.
Estimate estimate(std::vector<Instruction> instructions, Timing timing) {
  const Design design = *find_design("pynq");
  const Encoding encoding(design);
  instructions.push_back({{}, Finish{}});
  std::vector<Word> words;
  for (const Instruction& each : instructions) words.push_back(*encoding.encode(each));
  Bytes image = bytes_of(words);
  image.insert(image.begin(), kStream, 0);
  DramImage dram(0, image);
  auto simulator = Simulator::create(design, timing);
  Estimate out;
  const auto run = simulator->run(dram, kStream, static_cast<std::uint32_t>(words.size()),
                                  ~std::uint64_t{0}, &out.spans);
  EXPECT_TRUE(run) << run.error().text();
  out.cycles = run ? run->cycles : 0;
  return out;
}

Timing pynq() { return timing_of(*find_design("pynq")); }

Instruction gemm(std::uint16_t out, std::uint16_t in, Tokens tokens = {}) {
  return {tokens, Gemm{{0, 1, out, in}, true}};
}
// 16 bytes each.
Instruction inputs(std::uint16_t rows, std::uint16_t columns, Tokens tokens = {}) {
  return {tokens, Load{{Memory::Input, 0, 0, rows, columns, columns}}};
}

TEST(VtaTiming, AStepACycle) {
  const std::uint64_t nothing = estimate({}, pynq()).cycles;
  EXPECT_LT(nothing, 100u);
  EXPECT_EQ(estimate({gemm(100, 100)}, pynq()).cycles - nothing, 10'000u);
  // One after the other without a gap; fetching them is hidden.
  EXPECT_EQ(estimate(std::vector<Instruction>(20, gemm(10, 10)), pynq()).cycles - nothing, 2'000u);
  const Instruction imm{{}, Alu{{0, 1, 100, 10}, AluOp::Max, true, 0}};
  const Instruction two{{}, Alu{{0, 1, 100, 10}, AluOp::Max, false, 0}};
  EXPECT_EQ(estimate({imm}, pynq()).cycles - nothing, 1'000u);
  EXPECT_EQ(estimate({two}, pynq()).cycles - nothing, 2'000u);
}

TEST(VtaTiming, ABeatACycle) {
  // 2,048 elements of 16 bytes are 4,096 beats.
  const Instruction wait{{.pop_prev = true}, Load{{Memory::Uop}}};
  const auto loaded = [&](Instruction load, Timing timing) {
    return estimate({load, wait}, timing).cycles - estimate({}, timing).cycles;
  };
  const Tokens push{.push_next = true};
  const std::uint64_t whole = loaded(inputs(1, 2048, push), pynq());
  EXPECT_GT(whole, 4096u);
  EXPECT_LT(whole, 4096u + 80);
  // One burst of 16 beats at a time: each waits for a latency of 40.
  Timing one = pynq();
  one.outstanding_reads = 1;
  EXPECT_NEAR(static_cast<double>(loaded(inputs(1, 2048, push), one)), 256 * (16 + 40), 400);
  // Rows of two elements are bursts of 4 beats: 8 under way hide less of the latency.
  EXPECT_NEAR(static_cast<double>(loaded(inputs(512, 2, push), pynq())), 512 / 8 * (40 + 4), 150);
  // Padding takes a cycle an element, but no beats.
  Load padded{{Memory::Input, 0, 0, 1, 16, 16}, 15, 15, 15, 15};
  EXPECT_NEAR(static_cast<double>(loaded({push, padded}, pynq())), 31 * 46 - 16 + 32 + 50, 60);
}

TEST(VtaTiming, DirectionsShareThePort) {
  const Instruction store{{.pop_prev = true, .push_prev = true},
                          Store{{Memory::Output, 0, 0x1000, 1, 2048, 2048}}};
  const Instruction load = inputs(1, 2048, {.push_next = true});
  const Instruction give{{.push_next = true}, Load{{Memory::Uop}}};
  const Instruction take{{.pop_prev = true, .pop_next = true}, Load{{Memory::Uop}}};
  Timing apart = pynq();
  apart.shared_beat = false;
  EXPECT_LT(estimate({give, load, store, take}, apart).cycles, 4096u + 250);
  const std::uint64_t shared = estimate({give, load, store, take}, pynq()).cycles;
  EXPECT_GT(shared, 8192u);
  EXPECT_LT(shared, 8192u + 300);
}

// A store's beats take turns with those of loads that were asked for before it.
TEST(VtaTiming, StoresDoNotWaitForLoads) {
  const Instruction store{{.pop_prev = true, .push_prev = true},
                          Store{{Memory::Output, 0, 0x1000, 1, 256, 256}}};
  const Instruction give = gemm(1, 100, {.push_next = true});
  const Instruction take{{.pop_prev = true, .pop_next = true}, Load{{Memory::Uop}}};
  const auto store_of = [&](std::vector<Instruction> stream) {
    for (const Span& span : estimate(stream, pynq()).spans) {
      if (span.unit == Unit::Store) return span.to - span.from;
    }
    return std::uint64_t{0};
  };
  const std::uint64_t alone = store_of({give, store, {{.pop_next = true}, Load{{Memory::Uop}}}});
  EXPECT_NEAR(static_cast<double>(alone), 512 + 20, 20);
  const std::uint64_t beside = store_of({give, inputs(1, 2048, {.push_next = true}), store, take});
  EXPECT_NEAR(static_cast<double>(beside), 2 * 512 + 20, 60);
}

// Twice the same: load, compute, store; the loads one ahead, or each after the work before.
TEST(VtaTiming, LoadsHideBehindWork) {
  const auto stream = [](bool ahead) {
    std::vector<Instruction> out;
    for (int i = 0; i < 8; ++i) {
      const bool waits = i >= (ahead ? 2 : 1);
      out.push_back(inputs(1, 512, {.pop_next = waits, .push_next = true}));
      out.push_back(gemm(32, 32, {.pop_prev = true, .push_prev = i + (ahead ? 2 : 1) < 8}));
    }
    return out;
  };
  const std::uint64_t after = estimate(stream(false), pynq()).cycles;
  const std::uint64_t ahead = estimate(stream(true), pynq()).cycles;
  EXPECT_GT(after, 8u * (1024 + 1024));
  EXPECT_LT(ahead, 9u * 1024 + 600);
}

TEST(VtaTiming, SpansFollowTheTokens) {
  const Estimate run = estimate(
      {inputs(1, 64, {.push_next = true}),
       gemm(10, 10, {.pop_prev = true, .push_next = true}),
       {{.pop_prev = true, .push_prev = true}, Store{{Memory::Output, 0, 0x1000, 1, 64, 64}}},
       {{.pop_next = true}, Load{{Memory::Uop}}}},
      pynq());
  ASSERT_EQ(run.spans.size(), 5u);
  const Unit units[] = {Unit::Load, Unit::Compute, Unit::Store, Unit::Compute, Unit::Compute};
  for (std::uint32_t i = 0; i < 5; ++i) {
    EXPECT_EQ(run.spans[i].instruction, i);
    EXPECT_EQ(run.spans[i].unit, units[i]);
    EXPECT_LT(run.spans[i].from, run.spans[i].to);
    if (i == 0 || i == 4) continue;
    EXPECT_GT(run.spans[i].from, run.spans[i - 1].to);
  }
  EXPECT_EQ(run.spans[1].to - run.spans[1].from, 100u + pynq().step_latency);
  EXPECT_EQ(run.cycles, run.spans[4].to);
}

// The stock cores overlap nothing within a unit.
TEST(VtaTiming, StockCoresAreSlower) {
  const Timing stock = timing_of(*find_design("vta-stock"));
  const std::vector<Instruction> many(20, gemm(2, 5));
  EXPECT_GT(estimate(many, stock).cycles, estimate(many, pynq()).cycles + 20 * 20 - 50);
}

}  // namespace
}  // namespace fettle::vta
