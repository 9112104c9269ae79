// The simulator: what instructions do, against a plain interpreter of the same rules; where
// published models of VTA differ, what this one does; and its errors.
#include <gtest/gtest.h>

#include <random>

#include "fpga/isa/disassemble.h"
#include "fpga/sim/simulator.h"
#include "tests/support/vta_conv.h"
#include "tests/support/vta_random.h"
#include "tests/support/vta_stream.h"

namespace fettle::vta {
namespace {

using testing::VtaProgram;
using testing::VtaStream;

// Instructions one after the other on arrays of numbers, lane by lane, as the facts state them.
class Plain {
 public:
  Plain(const Design& design, std::uint64_t base, Bytes image)
      : d_(design), base_(base), image_(std::move(image)) {}

  void run(std::span<const Word> words) {
    const Encoding encoding(d_);
    std::vector<Instruction> all;
    std::vector<Command> commands;
    for (const Word& word : words) {
      all.push_back(*encoding.decode(word));
      commands.push_back(command_of(all.back()));
    }
    Queues queues(d_, commands);
    while (!queues.done()) {
      while (queues.fetch()) {
      }
      for (const Unit unit : {Unit::Store, Unit::Compute, Unit::Load}) {
        if (const auto number = queues.startable(unit)) {
          queues.start(unit);
          execute(all[*number]);
          queues.end(unit);
        }
      }
    }
  }
  const Bytes& image() const { return image_; }

 private:
  using Lanes = std::vector<std::int64_t>;  // of an element

  std::int64_t number(std::uint64_t address, unsigned bytes) const {
    std::uint64_t value = 0;
    for (unsigned k = 0; k < bytes; ++k) {
      value |= std::uint64_t{image_.at(address - base_ + k)} << (8 * k);
    }
    const unsigned up = 64 - 8 * bytes;
    return static_cast<std::int64_t>(value << up) >> up;
  }
  static std::int64_t wrapped(std::int64_t value) { return static_cast<std::int32_t>(value); }
  Lanes& at(Memory memory, std::size_t index) {
    Lanes& lanes = memories_[static_cast<std::size_t>(memory)][index];
    const unsigned width = memory == Memory::Accumulator || memory == Memory::Uop ? 4 : 1;
    lanes.resize(d_.element_bytes(memory) / width);
    return lanes;
  }

  void execute(const Instruction& instruction) {
    if (const Load* load = std::get_if<Load>(&instruction.body)) {
      if (load->x_size == 0) return;
      const unsigned width =
          load->memory == Memory::Accumulator || load->memory == Memory::Uop ? 4 : 1;
      std::size_t index = load->sram_base;
      for (int y = -load->y_pad_top; y < load->y_size + load->y_pad_bottom; ++y) {
        for (int x = -load->x_pad_left; x < load->x_size + load->x_pad_right; ++x, ++index) {
          const bool inside = y >= 0 && y < load->y_size && x >= 0 && x < load->x_size;
          Lanes& lanes = at(load->memory, index);
          for (std::size_t i = 0; i < lanes.size(); ++i) {
            const std::int64_t element = std::int64_t{load->dram_base} + y * load->x_stride + x;
            lanes[i] =
                inside ? number(element * d_.element_bytes(load->memory) + i * width, width) : 0;
          }
        }
      }
    } else if (const Store* store = std::get_if<Store>(&instruction.body)) {
      std::size_t index = store->sram_base;
      for (int y = 0; y < store->y_size; ++y) {
        for (int x = 0; x < store->x_size; ++x, ++index) {
          const std::uint64_t element = std::uint64_t{store->dram_base} + y * store->x_stride + x;
          const Lanes& lanes = at(Memory::Output, index);
          for (std::size_t i = 0; i < lanes.size(); ++i) {
            image_.at(element * lanes.size() + i - base_) = static_cast<std::uint8_t>(lanes[i]);
          }
        }
      }
    } else if (const Gemm* gemm = std::get_if<Gemm>(&instruction.body)) {
      steps(*gemm, gemm->wgt_factor_out, gemm->wgt_factor_in, [&](auto dst, auto src, auto wgt) {
        Lanes& sums = at(Memory::Accumulator, dst);
        for (std::size_t b = 0; b < d_.batch; ++b) {
          for (std::size_t oc = 0; oc < d_.block_out; ++oc) {
            std::int64_t& sum = sums[b * d_.block_out + oc];
            for (std::size_t ic = 0; ic < d_.block_in && !gemm->reset; ++ic) {
              sum += at(Memory::Input, src)[b * d_.block_in + ic] *
                     at(Memory::Weight, wgt)[oc * d_.block_in + ic];
            }
            sum = gemm->reset ? 0 : wrapped(sum);
          }
        }
        at(Memory::Output, dst) = sums;
      });
    } else if (const Alu* alu = std::get_if<Alu>(&instruction.body)) {
      steps(*alu, 0, 0, [&](auto dst, auto src, auto) {
        const Lanes operands = at(Memory::Accumulator, src);
        Lanes& lanes = at(Memory::Accumulator, dst);
        for (std::size_t i = 0; i < lanes.size(); ++i) {
          const std::int64_t operand = alu->use_imm ? alu->imm : operands[i];
          std::int64_t by = operand & 31;
          if (by >= 16) by -= 32;
          switch (alu->op) {
            case AluOp::Min:
              lanes[i] = std::min(lanes[i], operand);
              break;
            case AluOp::Max:
              lanes[i] = std::max(lanes[i], operand);
              break;
            case AluOp::Add:
              lanes[i] = wrapped(lanes[i] + operand);
              break;
            case AluOp::ShiftRight:
              lanes[i] = by >= 0 ? lanes[i] >> by : wrapped(lanes[i] * (std::int64_t{1} << -by));
              break;
          }
        }
        at(Memory::Output, dst) = lanes;
      });
    }
  }

  template <typename Body>
  void steps(const Loops& loops, std::size_t wgt_out, std::size_t wgt_in, Body body) {
    const Encoding encoding(d_);
    for (std::size_t o = 0; o < loops.iter_out; ++o) {
      for (std::size_t i = 0; i < loops.iter_in; ++i) {
        for (std::size_t u = loops.uop_begin; u < loops.uop_end; ++u) {
          const MicroOp uop = encoding.decode(static_cast<std::uint32_t>(at(Memory::Uop, u)[0]));
          body(uop.dst + o * loops.dst_factor_out + i * loops.dst_factor_in,
               uop.src + o * loops.src_factor_out + i * loops.src_factor_in,
               uop.wgt + o * wgt_out + i * wgt_in);
        }
      }
    }
  }

  const Design& d_;
  std::uint64_t base_;
  Bytes image_;
  std::array<std::map<std::size_t, Lanes>, kMemories> memories_;
};

Design with_shape(std::uint32_t batch, std::uint32_t in, std::uint32_t out,
                  std::array<std::uint32_t, kMemories> bytes) {
  Design design = *find_design("pynq");
  design.batch = batch, design.block_in = in, design.block_out = out;
  design.memory_bytes = bytes;
  const auto read = parse_design(design.text(), "shape");
  EXPECT_TRUE(read) << read.error().text();
  return *read;
}

std::vector<Design> shapes() {
  return {*find_design("pynq"),
          *find_design("vta-stock"),
          with_shape(4, 8, 8, {4096, 4096, 8192, 65536, 16384}),
          with_shape(2, 32, 16, {4096, 65536, 16384, 65536, 16384}),
          with_shape(1, 1, 4, {1024, 512, 256, 4096, 1024}),
          with_shape(2, 16, 32, {4096, 65536, 8192, 65536, 16384})};
}

TEST(VtaSim, RandomStreamsAgreeWithThePlainInterpreterAtAnySpeed) {
  const std::uint64_t seed = std::random_device{}();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);
  const std::vector<Design> designs = shapes();
  for (int run = 0; run < 120; ++run) {
    const Design& design = designs[static_cast<std::size_t>(run) % designs.size()];
    const VtaProgram program = testing::random_vta_program(design, random(), 40);
    Plain plain(design, program.base, program.image);
    plain.run(program.words);
    ASSERT_NE(plain.image(), program.image) << "nothing was stored";
    for (int speed = 0; speed < 3; ++speed) {
      Timing timing = timing_of(design);
      if (speed > 0) {
        timing.read_latency = static_cast<std::uint32_t>(random() % 200);
        timing.write_latency = static_cast<std::uint32_t>(random() % 200);
        timing.outstanding_reads = 1 + static_cast<std::uint32_t>(random() % 8);
        timing.outstanding_writes = 1 + static_cast<std::uint32_t>(random() % 8);
        timing.shared_beat = random() % 2;
        timing.overlap = random() % 2;
        timing.step_latency = static_cast<std::uint32_t>(random() % 300);
        timing.command_cycles = static_cast<std::uint32_t>(random() % 100);
      }
      auto simulator = Simulator::create(design, timing);
      ASSERT_TRUE(simulator) << simulator.error().text();
      Bytes image = program.image;
      DramImage dram(program.base, image);
      std::vector<Span> spans;
      const auto done =
          simulator->run(dram, program.stream, static_cast<std::uint32_t>(program.words.size()),
                         10'000'000, &spans);
      ASSERT_TRUE(done) << done.error().text();
      ASSERT_EQ(image, plain.image()) << "run " << run << "\n"
                                      << disassemble(design, program.words);
      ASSERT_EQ(spans.size(), program.words.size());
      ASSERT_EQ(done->cycles, spans.back().to);
    }
  }
}

// Against sums that are no instructions' at all.
TEST(VtaSim, Convolutions) {
  for (const Design& design : designs()) {
    for (const testing::VtaConv& conv :
         {testing::VtaConv{9, 7, 3, 2, 3, 1, 1}, testing::VtaConv{12, 11, 2, 3, 3, 2, 1},
          testing::VtaConv{14, 14, 4, 4, 1, 2, 0}}) {
      const VtaProgram program = testing::vta_conv_program(design, conv, 5);
      const auto facts = verify(design, program.words, program.regions());
      ASSERT_TRUE(facts) << facts.error().text();
      Bytes image = program.image;
      DramImage dram(program.base, image);
      const auto run = Simulator::create(design)->run(
          dram, program.stream, static_cast<std::uint32_t>(program.words.size()));
      ASSERT_TRUE(run) << run.error().text();
      const Bytes expected = testing::vta_conv_expected(program, conv);
      const ByteView output = testing::vta_part(program, image, "output");
      ASSERT_TRUE(std::equal(output.begin(), output.end(), expected.begin(), expected.end()))
          << design.name;
      const auto inside =
          std::count_if(expected.begin(), expected.end(), [](auto v) { return v > 0 && v < 127; });
      EXPECT_GT(inside, static_cast<std::ptrdiff_t>(expected.size() / 4)) << "can show an error";
    }
  }
}

// What the stream of VtaStream does, with one instruction after the clip changed at will.
struct SmallRun {
  VtaStream stream;
  Bytes image;
  std::vector<std::int8_t> output;  // 4 elements of 16

  Result<SimulatedRun> run(std::vector<Span>* spans = nullptr) {
    constexpr std::uint64_t kBase = 0x1000, kStream = 0xc000;
    image.assign(0x10000, 0);
    const auto put = [&](std::uint64_t address, ByteView bytes) {
      std::copy(bytes.begin(), bytes.end(),
                image.begin() + static_cast<std::ptrdiff_t>(address - kBase));
    };
    for (std::size_t i = 0; i < image.size(); ++i)
      image[i] = static_cast<std::uint8_t>(i * 37 + i / 256);
    put(VtaStream::kUops, stream.uops);
    put(kStream, bytes_of(stream.words()));
    auto simulator = Simulator::create(stream.design);
    DramImage dram(kBase, image);
    auto done = simulator->run(
        dram, kStream, static_cast<std::uint32_t>(stream.instructions.size()), 100'000, spans);
    const std::uint8_t* out = image.data() + (VtaStream::kOutput - kBase);
    output.assign(out, out + 64);
    return done;
  }
  std::int32_t bias(std::size_t lane) const {
    std::uint32_t bits = 0;
    for (unsigned k = 0; k < 4; ++k) {
      bits |= std::uint32_t{image[VtaStream::kBias - 0x1000 + 4 * lane + k]} << (8 * k);
    }
    return static_cast<std::int32_t>(bits);
  }
};

TEST(VtaSim, ResetClearsOutToo) {
  SmallRun small;
  ASSERT_TRUE(small.run());
  EXPECT_NE(small.output, std::vector<std::int8_t>(64, 0));
  small.stream.instructions[6].body = Gemm{{0, 4, 1, 1}, true};
  ASSERT_TRUE(small.run());
  EXPECT_EQ(small.output, std::vector<std::int8_t>(64, 0));
}

// STORE takes OUT, which only GEMM and ALU write: a LOAD of ACC behind them is not seen.
TEST(VtaSim, LoadsOfAccDoNotReachOut) {
  SmallRun small, loaded;
  ASSERT_TRUE(small.run());
  const Instruction again = loaded.stream.instructions[3];
  loaded.stream.instructions[6].tokens = {};
  loaded.stream.instructions.insert(loaded.stream.instructions.begin() + 7, again);
  loaded.stream.instructions[7].tokens.push_next = true;
  ASSERT_TRUE(loaded.run());
  EXPECT_EQ(loaded.output, small.output);
}

TEST(VtaSim, ShiftsByTheLowFiveBitsSigned) {
  for (const int imm : {0, 1, 15, 16, 17, 31, 32, 33, -1, -5, -16, -17, -32}) {
    SmallRun small;
    small.stream.instructions[4].body = Load{{Memory::Uop}};  // no GEMM
    small.stream.body<Alu>(5).imm = static_cast<std::int16_t>(imm);
    small.stream.body<Alu>(6) = {{0, 1, 1, 4, 0, 1, 0, 1}, AluOp::Add, true, 0};
    ASSERT_TRUE(small.run());
    for (std::size_t lane = 0; lane < 64; ++lane) {
      const int by = ((imm + 16) & 31) - 16;
      const std::int64_t value = small.bias(lane);
      const std::int64_t shifted = by >= 0 ? value >> by : value * (std::int64_t{1} << -by);
      ASSERT_EQ(small.output[lane], static_cast<std::int8_t>(shifted)) << imm << " lane " << lane;
    }
  }
}

TEST(VtaSim, ADeadlockIsExplained) {
  SmallRun small;
  small.stream.instructions[2].tokens.push_next = false;
  const auto done = small.run();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::RunTimeout);
  EXPECT_EQ(done.error().message,
            "the units wait for each other forever: load has ended its instructions; compute waits "
            "at instruction 4 for a token load to compute (none was ever given); store waits at "
            "instruction 7 for a token compute to store (none was ever given)");
}

TEST(VtaSim, WhatCannotBeDone) {
  const struct {
    const char* why;
    std::function<void(VtaStream&)> how;
  } rows[] = {
      {"instruction 1 (LOAD INP sram 2043", [](VtaStream& s) { s.body<Load>(1).sram_base = 2043; }},
      {"writes INP entry 2048 of 2048", [](VtaStream& s) { s.body<Load>(1).sram_base = 2043; }},
      {"reads OUT entry 2048 of 2048", [](VtaStream& s) { s.body<Store>(7).sram_base = 2045; }},
      {"uses WGT entry 1024 of 1024", [](VtaStream& s) { s.body<Gemm>(4).wgt_factor_in = 512; }},
      {"uses ACC entry 2049 of 2048", [](VtaStream& s) { s.body<Alu>(5).dst_factor_in = 683; }},
      {"reads UOP entry 8192 of 8192", [](VtaStream& s) { s.body<Gemm>(4).uop_end = 8193; }},
      {"no memory answers at 1099511627520",
       [](VtaStream& s) { s.body<Load>(2).dram_base = 0xffffffff; }},
      {"no memory answers at 0", [](VtaStream& s) { s.body<Store>(7).dram_base = 0; }},
      {"it never says that it is done", [](VtaStream& s) { s.instructions.pop_back(); }},
      {"still at instruction 4 after 100000 cycles",
       [](VtaStream& s) { s.body<Gemm>(4) = {{0, 4, 16383, 16383}, true}; }},
  };
  for (const auto& row : rows) {
    SmallRun small;
    row.how(small.stream);
    const auto done = small.run();
    ASSERT_FALSE(done) << row.why;
    EXPECT_NE(done.error().message.find(row.why), std::string::npos) << done.error().message;
  }
  auto simulator = Simulator::create(*find_design("pynq"));
  Bytes image(64);
  DramImage dram(0x1000, image);
  EXPECT_EQ(simulator->run(dram, 0x1008, 1).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(simulator->run(dram, 0x1000, 5).error().message,
            "no memory where the instructions are to be");
  EXPECT_EQ(simulator->run(dram, 0x1000, 1u << 30).error().code, ErrorCode::TooLarge);
  image[0] = 7;
  EXPECT_EQ(simulator->run(dram, 0x1000, 1).error().message, "instruction 0: unknown opcode 7");
  Design wide = *find_design("pynq");
  wide.input_bits = 16;
  wide.memory_bytes[static_cast<std::size_t>(Memory::Input)] *= 2;
  EXPECT_EQ(Simulator::create(wide).error().code, ErrorCode::Unsupported);
}

TEST(VtaSim, WhatIsOnTheChipStays) {
  SmallRun small;
  ASSERT_TRUE(small.run());
  auto simulator = Simulator::create(small.stream.design);
  DramImage dram(0x1000, small.image);
  ASSERT_TRUE(simulator->run(dram, 0xc000, 10, 100'000));
  const Bytes first = small.image;
  // The same, but for its loads: they move nothing.
  for (const std::size_t i : {0, 1, 2}) small.stream.body<Load>(i).x_size = 0;
  const Bytes words = bytes_of(small.stream.words());
  std::copy(words.begin(), words.end(), small.image.begin() + 0xb000);
  std::fill_n(small.image.begin() + 0x7000, 64, std::uint8_t{0});
  ASSERT_TRUE(simulator->run(dram, 0xc000, 10, 100'000));
  EXPECT_TRUE(std::equal(first.begin(), first.begin() + 0xb000, small.image.begin()));
}

}  // namespace
}  // namespace fettle::vta
