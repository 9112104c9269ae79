// VTA's bits: golden vectors that were packed by a C compiler's bit-fields from the published
// layout, round trips for other designs, and random bits.
#include <gtest/gtest.h>

#include <random>

#include "fpga/isa/disassemble.h"

namespace fettle::vta {
namespace {

const Design& pynq() {
  static const Design design = *find_design("pynq");
  return design;
}

struct Golden {
  Instruction instruction;
  Word word;
  std::string text;
};

const std::vector<Golden>& golden() {
  static const std::vector<Golden> all = {
      {{{.pop_next = true, .push_next = true},
        Load{{Memory::Input, 0, 0x1000000, 4, 4, 16}, 1, 1, 1, 1}},
       {0x0004000000000150, 0x1111001000040004},
       "LOAD INP pop_next push_next sram 0 dram 0x1000000 4x4 stride 16 pad 1,1,1,1"},
      {{{.push_next = true}, Load{{Memory::Weight, 5, 0x100100, 1, 9, 9}}},
       {0x00004004000014c0, 0x0000000900090001},
       "LOAD WGT push_next sram 5 dram 0x100100 1x9 stride 9"},
      {{{.pop_prev = true, .push_prev = true}, Gemm{{2, 5, 14, 7, 14, 1, 16, 2}, false, 9, 3}},
       {0x000e007000a0022a, 0x00c090040400080e},
       "GEMM pop_prev push_prev uop 2..5 iter 14x7 dst 14/1 src 16/2 wgt 9/3"},
      {{{.push_next = true}, Alu{{0, 1, 1, 196, 0, 1, 0, 1}, AluOp::ShiftRight, true, 8}},
       {0x0188000800200044, 0x0008b00200000800},
       "ALU SHR imm 8 push_next uop 0..1 iter 1x196 dst 0/1 src 0/1"},
      {{{}, Alu{{0, 1, 1, 1, 0, 0, 0, 0}, AluOp::Max, true, -5}},
       {0x0002000800200004, 0xfffb900000000000},
       "ALU MAX imm -5 uop 0..1 iter 1x1 dst 0/0 src 0/0"},
      {{{.pop_prev = true, .push_prev = true}, Store{{Memory::Output, 0, 0x1002000, 14, 14, 14}}},
       {0x0004008000000229, 0x0000000e000e000e},
       "STORE OUT pop_prev push_prev sram 0 dram 0x1002000 14x14 stride 14"},
      {{{}, Finish{}}, {3, 0}, "FINISH"},
  };
  return all;
}

TEST(VtaEncoding, GoldenVectors) {
  const Encoding encoding(pynq());
  for (const Golden& row : golden()) {
    const auto word = encoding.encode(row.instruction);
    ASSERT_TRUE(word) << row.text << ": " << word.error().text();
    EXPECT_EQ(word->low, row.word.low) << row.text;
    EXPECT_EQ(word->high, row.word.high) << row.text;
    const auto back = encoding.decode(row.word);
    ASSERT_TRUE(back) << row.text << ": " << back.error().text();
    EXPECT_EQ(*back, row.instruction) << row.text;
    EXPECT_EQ(disassemble(row.instruction), row.text);
  }
  EXPECT_EQ(*encoding.encode(MicroOp{3, 7, 9}), 0x02403803u);
  EXPECT_EQ(encoding.decode(0x02403803), (MicroOp{3, 7, 9}));
  EXPECT_EQ(disassemble(MicroOp{3, 7, 9}), "dst 3 src 7 wgt 9");
}

TEST(VtaEncoding, BytesAreLittleEndian) {
  const std::vector<Word> words = {{0x0706050403020100, 0x0f0e0d0c0b0a0908}};
  const Bytes bytes = bytes_of(words);
  ASSERT_EQ(bytes.size(), 16u);
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(bytes[i], i);
  EXPECT_EQ(*words_of(bytes), words);
  EXPECT_EQ(words_of(ByteView(bytes).first(15)).error().message,
            "a stream of 15 bytes, which are no whole instructions");
}

TEST(VtaEncoding, ListingNumbersLinesAndTellsWhatIsNone) {
  const std::vector<Word> words = {golden()[1].word, {7, 0}, golden()[6].word};
  EXPECT_EQ(disassemble(pynq(), words),
            "0: LOAD WGT push_next sram 5 dram 0x100100 1x9 stride 9\n"
            "1: ? unknown opcode 7\n"
            "2: FINISH\n");
}

TEST(VtaEncoding, AddressesAreSetInElements) {
  Word load = golden()[0].word, weights = golden()[1].word, store = golden()[5].word;
  ASSERT_TRUE(set_dram_address(pynq(), load, 0x12340));
  Load expected = std::get<Load>(golden()[0].instruction.body);
  expected.dram_base = 0x1234;
  EXPECT_EQ(*Encoding(pynq()).decode(load),
            (Instruction{golden()[0].instruction.tokens, expected}));
  ASSERT_TRUE(set_dram_address(pynq(), store, 0xffffffff0));
  EXPECT_EQ(std::get<Store>(Encoding(pynq()).decode(store)->body).dram_base, 0xffffffffu);
  EXPECT_EQ(set_dram_address(pynq(), weights, 0x12340).error().message,
            "no address of WGT elements of 256 bytes: 74560");
  EXPECT_EQ(weights, golden()[1].word);
  EXPECT_FALSE(set_dram_address(pynq(), load, 0x1000000000));
  Word gemm = golden()[2].word;
  EXPECT_EQ(set_dram_address(pynq(), gemm, 0).error().message,
            "only LOAD and STORE have an address in DRAM");
}

// Another shape has other widths: 4x8 outputs of 8 inputs, small memories.
Design small() {
  Design design = pynq();
  design.name = "small";
  design.batch = 4;
  design.block_in = design.block_out = 8;
  design.memory_bytes = {4096, 4096, 8192, 65536, 16384};
  const auto read = parse_design(design.text(), "small");
  EXPECT_TRUE(read) << read.error().text();
  return *read;
}

TEST(VtaEncoding, WidthsFollowTheDesign) {
  const Encoding encoding(small());
  EXPECT_EQ(small().index_bits(Memory::Uop), 10u);
  EXPECT_EQ(small().index_bits(Memory::Weight), 6u);
  EXPECT_EQ(small().index_bits(Memory::Input), 8u);
  EXPECT_EQ(small().index_bits(Memory::Accumulator), 9u);
  const Gemm gemm{{1, 2, 3, 4, 5, 6, 7, 8}, true, 9, 10};
  const auto word = encoding.encode(Instruction{{}, gemm});
  ASSERT_TRUE(word);
  EXPECT_EQ(word->low, 2ull | 1ull << 7 | 1ull << 8 | 2ull << 18 | 3ull << 29 | 4ull << 43);
  EXPECT_EQ(word->high, 5ull | 6ull << 9 | 7ull << 18 | 8ull << 26 | 9ull << 34 | 10ull << 40);
  EXPECT_EQ(*encoding.decode(*word), (Instruction{{}, gemm}));
  EXPECT_EQ(*encoding.encode(MicroOp{5, 6, 7}), 5u | 6u << 9 | 7u << 18);
}

TEST(VtaEncoding, WhatDoesNotFitIsNamed) {
  const Encoding encoding(pynq());
  EXPECT_EQ(encoding.encode(Instruction{{}, Gemm{{0, 1, 16384, 1}}}).error().message,
            "iter_out 16384 needs more than 14 bits");
  EXPECT_EQ(encoding.encode(Instruction{{}, Gemm{{0, 1, 1, 1}, false, 1024, 0}}).error().message,
            "wgt_factor_out 1024 needs more than 10 bits");
  EXPECT_EQ(encoding.encode(Instruction{{}, Load{{}, 16, 0, 0, 0}}).error().message,
            "y_pad_top 16 needs more than 4 bits");
  EXPECT_EQ(encoding.encode(MicroOp{2048, 0, 0}).error().message,
            "dst 2048 needs more than 11 bits");
}

TEST(VtaEncoding, BitsThatAreNoInstruction) {
  const Encoding encoding(pynq());
  const struct {
    Word word;
    const char* why;
  } rows[] = {
      {{5, 0}, "unknown opcode 5"},
      {{0 | 4ull << 7, 0}, "LOAD to memory 4, which takes none"},
      {{0 | 5ull << 7, 0}, "LOAD to memory 5, which takes none"},
      {{1 | 3ull << 7, 0}, "STORE from memory 3: only OUT (4) is stored"},
      {{4 | 1ull << 7, 0}, "ALU with bit 7, GEMM's reset"},
      {{4, 4ull << 44}, "ALU operation 4, which no core has"},
      {{3 | 1ull << 7, 0}, "bits are set where the instruction encodes nothing"},
      {{3, 1}, "bits are set where the instruction encodes nothing"},
      {{2 | 1ull << 63, 0}, "bits are set where the instruction encodes nothing"},
      {{0 | 1ull << 58, 0}, "bits are set where the instruction encodes nothing"},
      {{1 | 4ull << 7, 1ull << 48}, "bits are set where the instruction encodes nothing"},
  };
  for (const auto& row : rows) {
    const auto instruction = encoding.decode(row.word);
    ASSERT_FALSE(instruction) << row.why;
    EXPECT_EQ(instruction.error().code, ErrorCode::Malformed);
    EXPECT_EQ(instruction.error().message, row.why);
  }
}

TEST(VtaEncoding, WhatDecodesEncodesToTheSameBits) {
  const std::uint64_t seed = std::random_device{}();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);
  for (const Design& design : {pynq(), small()}) {
    const Encoding encoding(design);
    int decoded = 0;
    for (int run = 0; run < 200'000; ++run) {
      // Zeros are frequent in instructions: a plain random word has bits where none may be.
      const Word word{random() & random() & (~0ull >> (random() % 64)),
                      random() & (~0ull >> (random() % 64))};
      const auto instruction = encoding.decode(word);
      if (!instruction) continue;
      ++decoded;
      ASSERT_EQ(*encoding.encode(*instruction), word) << disassemble(*instruction);
    }
    EXPECT_GT(decoded, 10'000);
  }
}

}  // namespace
}  // namespace fettle::vta
