// The verifier: a legal stream passes; each way to break it is refused with its own line. And its
// closed forms against loops that are really run.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "fpga/isa/hazard.h"
#include "fpga/isa/queues.h"
#include "tests/support/vta_stream.h"

namespace fettle::vta {
namespace {

using testing::VtaStream;

TEST(VtaVerify, ALegalStreamIsCounted) {
  for (const Design& design : designs()) {
    const VtaStream stream(design);
    const auto facts = stream.verified();
    ASSERT_TRUE(facts) << facts.error().text();
    EXPECT_EQ(facts->gemm_steps, 12u);
    EXPECT_EQ(facts->reset_steps, 0u);
    EXPECT_EQ(facts->alu_imm_steps, 8u);
    EXPECT_EQ(facts->alu_steps, 0u);
    EXPECT_EQ(facts->loaded_bytes, (std::array<std::uint64_t, kMemories>{16, 768, 96, 256, 0}));
    EXPECT_EQ(facts->stored_bytes, 64u);
  }
}

struct Broken {
  const char* why;  // part of the message
  std::function<void(VtaStream&)> how;
};

// Each is the legal stream with one thing changed.
const std::vector<Broken>& broken() {
  using S = VtaStream;
  static const std::vector<Broken> all = {
      // On-chip indices: one past the end. What is there just fits is tested below.
      {"instruction 1 (LOAD INP sram 2043 dram 0x200 1x6 stride 6): writes INP up to 2049 of 2048 "
       "entries",
       [](S& s) { s.body<Load>(1).sram_base = 2043; }},
      {"writes INP up to 2049 of",
       [](S& s) { s.body<Load>(1).sram_base = 2042, s.body<Load>(1).x_pad_right = 1; }},
      {"writes INP up to 2049 of",
       [](S& s) { s.body<Load>(1).sram_base = 2037, s.body<Load>(1).y_pad_top = 1; }},
      {"writes WGT up to 1025 of 1024", [](S& s) { s.body<Load>(2).sram_base = 1022; }},
      {"writes ACC up to 2049 of 2048", [](S& s) { s.body<Load>(3).sram_base = 2045; }},
      {"writes UOP up to 8193 of 8192", [](S& s) { s.body<Load>(0).sram_base = 8189; }},
      {"reads OUT up to 2049 of 2048", [](S& s) { s.body<Store>(7).sram_base = 2045; }},
      {"reads INP entry 2048 of 2048",
       [](S& s) {
         s.body<Gemm>(4).src_factor_in = 1023,
         s.set_uops({{0, 2, 0}, {1, 0, 0}, {2, 0, 0}, {3, 0, 0}});
       }},
      {"reads WGT entry 1024 of 1024", [](S& s) { s.body<Gemm>(4).wgt_factor_in = 512; }},
      {"writes ACC entry 2048 of 2048",
       [](S& s) { s.body<Gemm>(4).dst_factor_out = 2045, s.body<Gemm>(4).iter_out = 2; }},
      {"writes ACC entry 2049 of 2048", [](S& s) { s.body<Alu>(5).dst_factor_in = 683; }},
      {"reads ACC entry 2049 of 2048",
       [](S& s) { s.body<Alu>(5).use_imm = false, s.body<Alu>(5).src_factor_in = 683; }},
      {"reads UOP up to 8193 of 8192", [](S& s) { s.body<Gemm>(4).uop_end = 8193; }},
      // DRAM.
      {"reads the bytes 8176 to 8272 of DRAM, which lie in none of its buffers",
       [](S& s) { s.body<Load>(1).dram_base -= 1; }},
      {"reads the bytes 8208 to 8304 of DRAM", [](S& s) { s.body<Load>(1).dram_base += 1; }},
      {"reads the bytes 8192 to 8304 of DRAM",
       [](S& s) {
         s.body<Load>(1).y_size = 2, s.body<Load>(1).x_size = 3, s.body<Load>(1).x_stride = 4;
       }},
      {"reads the bytes 1099511627520 to 1099511628288",
       [](S& s) { s.body<Load>(2).dram_base = 0xffffffff; }},
      {"writes the bytes 32784 to 32848", [](S& s) { s.body<Store>(7).dram_base += 1; }},
      {"writes to input, which is only read",
       [](S& s) { s.body<Store>(7).dram_base = S::kInput / 16; }},
      {"writes to uops, which is only read",
       [](S& s) { s.body<Store>(7).dram_base = S::kUops / 16, s.body<Store>(7).x_size = 1; }},
      {"loads micro-ops from input, of which it is not known what it holds",
       [](S& s) { s.body<Load>(0).dram_base = S::kInput / 4; }},
      // Micro-ops.
      {"reads micro-op 3, which was never loaded", [](S& s) { s.body<Load>(0).x_size = 3; }},
      {"reads micro-op 0, which was never loaded", [](S& s) { s.body<Load>(0).sram_base = 1; }},
      {"instruction 0 (GEMM pop_prev uop 0..4",
       [](S& s) { std::swap(s.instructions[0], s.instructions[4]); }},
      // What there is no meaning for.
      {"WGT takes no padding", [](S& s) { s.body<Load>(2).x_pad_left = 1; }},
      {"UOP takes no padding", [](S& s) { s.body<Load>(0).y_pad_top = 1; }},
      {"loads micro-ops in several rows", [](S& s) { s.body<Load>(0).y_size = 2; }},
      {"has columns but no rows", [](S& s) { s.body<Load>(1).y_size = 0; }},
      {"has columns but no rows", [](S& s) { s.body<Store>(7).y_size = 0; }},
      {"pads nothing", [](S& s) { s.body<Load>(8).y_pad_top = 1; }},
      {"computes nothing", [](S& s) { s.body<Gemm>(4).iter_out = 0; }},
      {"computes nothing", [](S& s) { s.body<Gemm>(4).iter_in = 0; }},
      {"computes nothing", [](S& s) { s.body<Gemm>(4).uop_begin = 4; }},
      {"computes nothing", [](S& s) { s.body<Alu>(5).uop_begin = 2; }},
      // Hazards.
      {"needs ACC entry 0 1 step after it was written, by micro-op 1: there must be 2 others "
       "between",
       [](S& s) { s.set_uops({{0, 0, 0}, {0, 1, 0}, {2, 2, 0}, {3, 3, 0}}); }},
      {"needs ACC entry 0 2 steps after it was written, by micro-op 2",
       [](S& s) { s.set_uops({{0, 0, 0}, {1, 1, 0}, {0, 2, 0}, {3, 3, 0}}); }},
      {"needs ACC entry 3 1 step after it was written, by micro-op 0",
       [](S& s) { s.set_uops({{3, 0, 0}, {1, 1, 0}, {2, 2, 0}, {3, 3, 0}}); }},
      {"needs ACC entry 0 2 steps after", [](S& s) { s.body<Gemm>(4).uop_end = 2; }},
      {"needs ACC entry 0 1 step after", [](S& s) { s.body<Gemm>(4).uop_end = 1; }},
      {"needs ACC entry 0 1 step after", [](S& s) { s.body<Alu>(5).dst_factor_in = 0; }},
      {"needs ACC entry 0 2 steps after",
       [](S& s) { s.body<Alu>(5) = {{0, 1, 2, 2, 0, 1, 0, 1}, AluOp::Add, true, 1}; }},
      {"needs ACC entry 1 2 steps after",
       [](S& s) {
         s.body<Alu>(5) = {{0, 4, 1, 1, 0, 0, 0, 0}, AluOp::Add, false, 0};
         s.set_uops({{1, 0, 0}, {0, 0, 0}, {2, 1, 0}, {3, 3, 0}});
       }},
      // Tokens.
      {"the load unit has no previous one to share tokens with",
       [](S& s) { s.instructions[1].tokens.pop_prev = true; }},
      {"the load unit has no previous one",
       [](S& s) { s.instructions[1].tokens.push_prev = true; }},
      {"the store unit has no next one", [](S& s) { s.instructions[7].tokens.pop_next = true; }},
      {"the store unit has no next one", [](S& s) { s.instructions[7].tokens.push_next = true; }},
      {"the units wait for each other forever: load has ended its instructions; compute waits at "
       "instruction 4 for a token load to compute (none was ever given); store waits at "
       "instruction 7 "
       "for a token compute to store (none was ever given)",
       [](S& s) { s.instructions[2].tokens.push_next = false; }},
      {"compute waits at instruction 5 for a token load to compute (1 given, the last by "
       "instruction 2)",
       [](S& s) { s.instructions[5].tokens.pop_prev = true; }},
      {"tokens load to compute are left over at the end: 1",
       [](S& s) { s.instructions[1].tokens.push_next = true; }},
      {"tokens compute to load are left over at the end: 1",
       [](S& s) { s.instructions[4].tokens.push_prev = true; }},
      {"tokens compute to store are left over at the end: 1",
       [](S& s) { s.instructions[5].tokens.push_next = true; }},
      {"tokens store to compute are left over at the end: 1",
       [](S& s) { s.instructions[8].tokens.pop_next = false; }},
      {"FINISH does not wait for the store unit's last instruction, 7",
       [](S& s) {
         s.instructions[7].tokens.push_prev = s.instructions[8].tokens.pop_next = false;
       }},
      {"FINISH does not wait for the load unit's last instruction, 2",
       [](S& s) { std::swap(s.instructions[1].tokens, s.instructions[2].tokens); }},
      {"FINISH carries tokens", [](S& s) { s.instructions[9].tokens.pop_next = true; }},
      {"FINISH carries tokens", [](S& s) { s.instructions[9].tokens.push_prev = true; }},
      {"instruction 0 (FINISH): instructions follow",
       [](S& s) { s.instructions.insert(s.instructions.begin(), {{}, Finish{}}); }},
      {"the last instruction is to be FINISH", [](S& s) { s.instructions.pop_back(); }},
      {"a stream without instructions", [](S& s) { s.instructions.clear(); }},
      // The caller's own mistakes.
      {"buffer uops has contents and can be written", [](S& s) { s.regions[0].writable = true; }},
      {"buffer uops has contents and can be written",
       [](S& s) { s.regions.push_back({"over", S::kUops + 15, 8, true}); }},
      {"buffer uops has contents of another size", [](S& s) { s.regions[0].bytes = 20; }},
      {"buffer input ends beyond all addresses", [](S& s) { s.regions[1].bytes = ~0ull; }},
  };
  return all;
}

TEST(VtaVerify, EachBreakIsRefusedWithItsLine) {
  for (const Broken& each : broken()) {
    VtaStream stream;
    stream.design.hazard_steps = 2;
    each.how(stream);
    const auto facts = stream.verified();
    ASSERT_FALSE(facts) << each.why;
    EXPECT_NE(facts.error().message.find(each.why), std::string::npos)
        << facts.error().message << "\nexpected: " << each.why;
    EXPECT_EQ(facts.error().message.find('\n'), std::string::npos);
  }
}

TEST(VtaVerify, WhatJustFitsPasses) {
  const std::function<void(VtaStream&)> changes[] = {
      [](VtaStream& s) { s.body<Load>(1).sram_base = 2042; },
      [](VtaStream& s) { s.body<Load>(1).sram_base = 2041, s.body<Load>(1).x_pad_left = 1; },
      [](VtaStream& s) { s.body<Load>(2).sram_base = 1021; },
      [](VtaStream& s) { s.body<Store>(7).sram_base = 2044; },
      [](VtaStream& s) { s.body<Gemm>(4).dst_factor_out = 2044, s.body<Gemm>(4).iter_out = 2; },
      [](VtaStream& s) { s.body<Alu>(5).dst_factor_in = 682; },
      // Two rows that end with the buffer, whatever the stride would go on to.
      [](VtaStream& s) {
        s.body<Load>(1).y_size = 2, s.body<Load>(1).x_size = 2, s.body<Load>(1).x_stride = 4;
      },
      // Three apart.
      [](VtaStream& s) { s.body<Gemm>(4).uop_end = 3; },
      [](VtaStream& s) {
        s.set_uops({{0, 0, 0}, {1, 1, 0}, {2, 2, 0}, {0, 3, 0}}), s.body<Gemm>(4).iter_in = 1;
      },
      // A reset reads no accumulator.
      [](VtaStream& s) { s.body<Gemm>(4).uop_end = 1, s.body<Gemm>(4).reset = true; },
      // ALU may read what it writes itself.
      [](VtaStream& s) { s.body<Alu>(5).use_imm = false; },
      [](VtaStream& s) { s.regions.push_back({"beside", VtaStream::kUops + 16, 8, true}); },
  };
  int at = 0;
  for (const auto& change : changes) {
    VtaStream stream;
    stream.design.hazard_steps = 2;
    change(stream);
    const auto facts = stream.verified();
    EXPECT_TRUE(facts) << at << ": " << facts.error().text();
    ++at;
  }
}

TEST(VtaVerify, HazardsAreADesigns) {
  for (const Design& design : designs()) {
    VtaStream stream(design);
    stream.body<Gemm>(4).uop_end = 1;
    EXPECT_EQ(stream.verified().ok(), design.hazard_steps == 0) << design.name;
  }
}

// Queues of the design's own depth: a stream may be too long for them.
TEST(VtaVerify, DeadlockByFullQueues) {
  VtaStream stream;
  stream.design.command_queue_depth = 4;
  stream.design.token_queue_depth = 4;
  const auto loads = [&](int count, bool push) {
    const Instruction nothing{{.push_next = push}, Load{{Memory::Input}}};
    stream.instructions.insert(stream.instructions.begin(), static_cast<std::size_t>(count),
                               nothing);
  };
  // Each wants a token that compute gives only afterwards.
  loads(5, false);
  for (int i = 0; i < 5; ++i)
    stream.instructions[static_cast<std::size_t>(i)].tokens.pop_next = true;
  EXPECT_EQ(
      stream.verified().error().message,
      "the units wait for each other forever: load waits at instruction 0 for a token compute to "
      "load (none was ever given); compute waits for instruction 5 to be fetched; store waits for "
      "instruction 12 to be fetched; fetch waits at instruction 4 for room in the load unit's "
      "command queue (4 are there)");

  // Tokens that nobody takes, as those who would are behind a full queue.
  VtaStream pushing;
  pushing.design.command_queue_depth = 2;
  pushing.design.token_queue_depth = 1;
  const Instruction push{{.push_prev = true}, Load{{Memory::Uop}}};
  const Instruction pop{{.pop_next = true}, Load{{Memory::Input}}};
  pushing.instructions.insert(pushing.instructions.begin(), {push, push, push, push, pop});
  EXPECT_EQ(pushing.verified().error().message,
            "the units wait for each other forever: load waits for instruction 4 to be fetched; "
            "compute waits at instruction 1 for room among the tokens compute to load (1 are "
            "there); store waits for instruction 12 to be fetched; fetch waits at instruction 3 "
            "for room in the compute unit's command queue (2 are there)");
}

// The closed forms of hazards against the loops themselves.
bool hazard_by_running(std::span<const MicroOp> uops, const Loops& loops, bool reads_src,
                       std::size_t distance) {
  std::vector<std::uint32_t> dst, src;
  for (std::uint32_t o = 0; o < loops.iter_out; ++o) {
    for (std::uint32_t i = 0; i < loops.iter_in; ++i) {
      for (const MicroOp& uop : uops) {
        dst.push_back(uop.dst + o * loops.dst_factor_out + i * loops.dst_factor_in);
        src.push_back(uop.src + o * loops.src_factor_out + i * loops.src_factor_in);
      }
    }
  }
  for (std::size_t t = 1; t < dst.size(); ++t) {
    for (std::size_t back = 1; back <= distance && back <= t; ++back) {
      if (dst[t] == dst[t - back] || (reads_src && src[t] == dst[t - back])) return true;
    }
  }
  return false;
}

TEST(VtaHazard, AgreesWithRunningTheLoops) {
  const unsigned seed = std::random_device{}();
  std::printf("seed %u\n", seed);
  std::mt19937 random(seed);
  int with = 0, without = 0;
  for (int run = 0; run < 50'000; ++run) {
    const auto below = [&](unsigned n) { return static_cast<std::uint16_t>(random() % n); };
    std::vector<MicroOp> uops(1 + below(4));
    const unsigned range = 1 + below(12);
    for (MicroOp& uop : uops) uop = {below(range), below(range), 0};
    Loops loops{0, static_cast<std::uint16_t>(uops.size()), below(5), below(5)};
    loops.dst_factor_out = below(7), loops.dst_factor_in = below(7);
    loops.src_factor_out = below(7), loops.src_factor_in = below(7);
    const bool reads_src = below(2);
    const std::uint32_t distance = 1 + below(3);
    const auto found = find_hazard(uops, loops, reads_src, distance);
    ASSERT_EQ(found.has_value(), hazard_by_running(uops, loops, reads_src, distance)) << run;
    ++(found ? with : without);
  }
  EXPECT_GT(with, 5'000);
  EXPECT_GT(without, 5'000);
}

// Loops of 2^28 steps are judged at once: a test that ran them would not end in its time.
TEST(VtaVerify, LongLoopsAreNotRun) {
  VtaStream stream;
  for (int i = 0; i < 2000; ++i) {
    const Instruction gemm{{}, Gemm{{0, 4, 16383, 16383, 0, 0, 0, 0}, false, 0, 0}};
    stream.instructions.insert(stream.instructions.begin() + 5, gemm);
  }
  const auto facts = stream.verified();
  ASSERT_TRUE(facts) << facts.error().text();
  EXPECT_EQ(facts->gemm_steps, 12u + 2000ull * 4 * 16383 * 16383);
}

// Which unit goes on first does not matter to how far they come.
TEST(VtaQueues, OrderDoesNotMatter) {
  std::mt19937 random(7);
  for (int run = 0; run < 2000; ++run) {
    Design design = *find_design("pynq");
    design.command_queue_depth = 1 + random() % 4;
    design.token_queue_depth = 1 + random() % 3;
    std::vector<Command> commands(random() % 24);
    for (Command& each : commands) {
      each.unit = static_cast<Unit>(random() % 3);
      each.tokens = {random() % 3 == 0, random() % 3 == 0, random() % 3 == 0, random() % 3 == 0};
    }
    Queues greedy(design, commands);
    run_without_time(greedy);
    Queues other(design, commands);
    std::array<std::uint32_t, kUnits> started = {};
    for (int still = 0; still < 200; ++still) {
      const Unit unit = static_cast<Unit>(random() % 3);
      bool moved = false;
      switch (random() % 3) {
        case 0:
          moved = other.fetch();
          break;
        case 1:
          moved = other.startable(unit).has_value();
          if (moved) ++started[static_cast<std::size_t>(unit)], other.start(unit);
          break;
        case 2:
          moved = started[static_cast<std::size_t>(unit)] > other.ended(unit);
          if (moved) other.end(unit);
          break;
      }
      if (moved) still = 0;
    }
    for (const Unit unit : {Unit::Load, Unit::Compute, Unit::Store}) {
      ASSERT_EQ(greedy.ended(unit), other.ended(unit)) << run;
    }
    ASSERT_EQ(greedy.explain_deadlock(), other.explain_deadlock()) << run;
  }
}

}  // namespace
}  // namespace fettle::vta
