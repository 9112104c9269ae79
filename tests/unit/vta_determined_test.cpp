// Races between units, and what was on the chip before: what tokens order passes, what they do not
// is named with both sides.
#include <gtest/gtest.h>

#include <functional>

#include "fpga/isa/determined.h"
#include "tests/support/vta_conv.h"
#include "tests/support/vta_stream.h"

namespace fettle::vta {
namespace {

using testing::VtaStream;

Instruction input(std::uint16_t sram, Tokens tokens) {
  return {tokens, Load{{Memory::Input, sram, VtaStream::kInput / 16, 1, 6, 6}}};
}
Instruction wait(Tokens tokens) { return {tokens, Load{{Memory::Uop}}}; }

std::string checked(const std::function<void(std::vector<Instruction>&)>& how) {
  VtaStream stream;
  how(stream.instructions);
  const std::vector<Word> words = stream.words();
  const auto facts = verify(stream.design, words, stream.regions);
  EXPECT_TRUE(facts) << facts.error().text();  // which sees nothing of it
  const auto result = check_determined(stream.design, words, stream.regions);
  return result ? "" : result.error().message;
}

TEST(VtaDetermined, TokensOrder) {
  EXPECT_EQ(checked([](auto&) {}), "");
  // A second load elsewhere, and one that waits for GEMM.
  const auto behind = [](Instruction load, bool gives) {
    return [load, gives](std::vector<Instruction>& s) {
      s[4].tokens.push_prev = gives;
      s.insert(s.begin() + 5, load);
      s[9].tokens.pop_prev = true;
    };
  };
  EXPECT_EQ(checked(behind(input(6, {.push_next = true}), false)), "");
  EXPECT_EQ(checked(behind(input(0, {.pop_next = true, .push_next = true}), true)), "");
  EXPECT_EQ(
      checked(behind(input(5, {.push_next = true}), false)),
      "instructions 4 (GEMM pop_prev uop 0..4 iter 1x3 dst 0/0 src 0/1 wgt 0/1) and 5 (LOAD INP "
      "push_next sram 5 dram 0x200 1x6 stride 6) may overlap, and share INP entry 5");
}

TEST(VtaDetermined, OutputsAndWeights) {
  // The clip again, before the store has ended: OUT; after it, all is well.
  const auto clip = [](std::size_t at) {
    return [at](std::vector<Instruction>& s) {
      const Instruction again{{}, s[6].body};
      s.insert(s.begin() + static_cast<std::ptrdiff_t>(at), again);
    };
  };
  EXPECT_NE(checked(clip(8)).find("share OUT entry 0"), std::string::npos) << checked(clip(8));
  EXPECT_EQ(checked(clip(9)), "");
  const auto weights = [](std::vector<Instruction>& s) {
    Instruction again{{.push_next = true}, s[2].body};
    s.insert(s.begin() + 5, again);
    s[9].tokens.pop_prev = true;
  };
  EXPECT_NE(checked(weights).find("share WGT entry 0"), std::string::npos) << checked(weights);
  // A reset reads no weights.
  EXPECT_EQ(checked([&](std::vector<Instruction>& s) {
              std::get<Gemm>(s[4].body).reset = true;
              weights(s);
            }),
            "");
}

TEST(VtaDetermined, Dram) {
  const auto load_back = [](bool waits) {
    return [waits](std::vector<Instruction>& s) {
      const Load load{{Memory::Input, 64, VtaStream::kOutput / 16, 1, 1, 1}};
      s[8].tokens.push_prev = waits;
      s.insert(s.begin() + 9, {{.pop_next = waits, .push_next = true}, load});
      s.insert(s.begin() + 10, wait({.pop_prev = true}));
    };
  };
  EXPECT_EQ(checked(load_back(true)), "");
  EXPECT_NE(checked(load_back(false)).find("share byte 0 of output"), std::string::npos)
      << checked(load_back(false));
}

TEST(VtaDetermined, WhatNothingWrote) {
  const struct {
    const char* why;
    std::function<void(std::vector<Instruction>&)> how;
  } rows[] = {
      {"instruction 4 (GEMM pop_prev uop 0..4 iter 1x3 dst 0/0 src 0/1 wgt 0/1) reads INP entry 5, "
       "which has no value: nothing before it wrote one",
       [](auto& s) { std::get<Load>(s[1].body).x_size = 5; }},
      {"reads WGT entry 2", [](auto& s) { std::get<Load>(s[2].body).x_size = 2; }},
      {"instruction 4 (GEMM pop_prev uop 0..4 iter 1x3 dst 0/0 src 0/1 wgt 0/1) reads ACC entry 3",
       [](auto& s) { std::get<Load>(s[3].body).x_size = 3; }},
      {"instruction 5 (ALU SHR imm 4 uop 0..1 iter 1x5 dst 0/1 src 0/1) reads ACC entry 4",
       [](auto& s) { std::get<Alu>(s[5].body).iter_in = 5; }},
      {"reads ACC entry 4",
       [](auto& s) { s[5].body = Alu{{0, 1, 1, 3, 0, 1, 0, 2}, AluOp::Add, false, 0}; }},
      {"(STORE OUT pop_prev push_prev sram 1 dram 0x800 1x4 stride 4) reads OUT entry 4",
       [](auto& s) { std::get<Store>(s[7].body).sram_base = 1; }},
  };
  for (const auto& row : rows) {
    const std::string said = checked(row.how);
    EXPECT_NE(said.find(row.why), std::string::npos) << said << "\nexpected: " << row.why;
  }
  // Padding is a value; a reset needs none.
  const auto padded = [](auto& s) {
    std::get<Load>(s[1].body).x_size = 5;
    std::get<Load>(s[1].body).x_pad_right = 1;
  };
  EXPECT_EQ(checked(padded), "");
  EXPECT_EQ(checked([](auto& s) { s[3] = {{}, Gemm{{0, 4, 1, 1}, true}}; }), "");
}

// The HLS core's OUT holds something else then.
TEST(VtaDetermined, ResetsLeaveOutToTheCore) {
  for (const Design& design : designs()) {
    VtaStream stream(design);
    stream.instructions[6].body = Gemm{{0, 4, 1, 1}, true};
    const auto result = check_determined(design, stream.words(), stream.regions);
    EXPECT_EQ(result.ok(), design.core == Core::Fettle);
    if (result) continue;
    EXPECT_NE(result.error().message.find("reads OUT entry 0, which has no value"),
              std::string::npos)
        << result.error().message;
  }
}

TEST(VtaDetermined, GeneratedStreamsAre) {
  for (const Design& design : designs()) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      const testing::VtaProgram program = testing::random_vta_program(design, seed);
      const auto result = check_determined(design, program.words, program.regions());
      ASSERT_TRUE(result) << "seed " << seed << ": " << result.error().text();
    }
    const testing::VtaProgram conv = testing::vta_conv_program(design, {14, 14, 4, 4, 3, 1, 1}, 1);
    const auto result = check_determined(design, conv.words, conv.regions());
    EXPECT_TRUE(result) << result.error().text();
  }
}

}  // namespace
}  // namespace fettle::vta
