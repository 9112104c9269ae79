// Tokens put into streams that had none: random streams are right and determined with them, compute
// what they did with their own, and no token is one too many.
#include <gtest/gtest.h>

#include "fpga/isa/determined.h"
#include "fpga/isa/disassemble.h"
#include "fpga/isa/queues.h"
#include "fpga/sim/simulator.h"
#include "host/backend/vta/tokens.h"
#include "tests/support/vta_random.h"
#include "tests/support/vta_stream.h"

namespace fettle::vta::host {
namespace {

using testing::VtaStream;

// An order in which the units may go on, one instruction after the other: without tokens, and
// without what carries tokens only.
std::vector<Instruction> stripped(const Design& design, std::span<const Word> words) {
  const Encoding encoding(design);
  std::vector<Instruction> all, out;
  std::vector<Command> commands;
  for (const Word& word : words) {
    all.push_back(encoding.decode(word).value());
    commands.push_back(command_of(all.back()));
  }
  Queues queues(design, commands);
  for (bool moved = true; moved;) {
    moved = queues.fetch();
    for (const Unit unit : {Unit::Load, Unit::Compute, Unit::Store}) {
      const auto at = queues.startable(unit);
      if (!at) continue;
      queues.start(unit);
      queues.end(unit);
      moved = true;
      Instruction& instruction = all[*at];
      const auto* load = std::get_if<Load>(&instruction.body);
      const auto* store = std::get_if<Store>(&instruction.body);
      if (std::holds_alternative<Finish>(instruction.body) || (load && load->x_size == 0) ||
          (store && store->x_size == 0)) {
        continue;
      }
      instruction.tokens = {};
      out.push_back(instruction);
    }
  }
  return out;
}

std::vector<Word> encoded(std::span<const Instruction> instructions, const Encoding& encoding) {
  std::vector<Word> words;
  for (const Instruction& each : instructions) words.push_back(encoding.encode(each).value());
  return words;
}

Result<void> passes(const Design& design, std::span<const Instruction> instructions,
                    std::span<const Region> regions) {
  const std::vector<Word> words = encoded(instructions, Encoding(design));
  if (auto verified = verify(design, words, regions); !verified) {
    return std::move(verified).error();
  }
  return check_determined(design, words, regions);
}

// Every stream without one token: the instructions' bits by queue, in their order.
std::vector<std::vector<Instruction>> without_one(const std::vector<Instruction>& stream) {
  using Bit = bool Tokens::*;
  struct Place {
    std::size_t at;
    Bit bit;
  };
  std::vector<Place> pushes[kTokenQueues], pops[kTokenQueues];
  for (std::size_t at = 0; at < stream.size(); ++at) {
    const Tokens& tokens = stream[at].tokens;
    const Neighbours near = neighbours_of(unit_of(stream[at]));
    const auto note = [&](auto& to, bool set, const std::optional<TokenQueue>& queue, Bit bit) {
      if (set) to[static_cast<std::size_t>(*queue)].push_back({at, bit});
    };
    note(pops, tokens.pop_prev, near.pop_prev, &Tokens::pop_prev);
    note(pops, tokens.pop_next, near.pop_next, &Tokens::pop_next);
    note(pushes, tokens.push_prev, near.push_prev, &Tokens::push_prev);
    note(pushes, tokens.push_next, near.push_next, &Tokens::push_next);
  }
  std::vector<std::vector<Instruction>> all;
  for (std::size_t queue = 0; queue < kTokenQueues; ++queue) {
    EXPECT_EQ(pushes[queue].size(), pops[queue].size());
    for (std::size_t i = 0; i < pushes[queue].size(); ++i) {
      std::vector<Instruction>& less = all.emplace_back(stream);
      less[pushes[queue][i].at].tokens.*pushes[queue][i].bit = false;
      less[pops[queue][i].at].tokens.*pops[queue][i].bit = false;
    }
  }
  return all;
}

TEST(VtaTokens, AStreamsOwnTokensAreFound) {
  VtaStream stream;
  const auto ordered =
      with_tokens(stream.design, stripped(stream.design, stream.words()), stream.regions);
  ASSERT_TRUE(ordered) << ordered.error().text();
  EXPECT_EQ(*ordered, stream.instructions);
}

TEST(VtaTokens, RandomStreams) {
  std::size_t tokens = 0;
  for (const char* name : {"pynq", "vta-stock"}) {
    const Design design = find_design(name).value();
    const Encoding encoding(design);
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      SCOPED_TRACE(std::string(name) + " seed " + std::to_string(seed));
      const testing::VtaProgram program = testing::random_vta_program(design, seed, 50);
      const std::vector<Region> regions = program.regions();
      const std::vector<Instruction> plain = stripped(design, program.words);
      const auto ordered = with_tokens(design, plain, regions);
      ASSERT_TRUE(ordered) << ordered.error().text();
      const auto right = passes(design, *ordered, regions);
      ASSERT_TRUE(right) << right.error().text();

      // The same memory as with its own tokens; the new stream lies behind the image.
      Bytes with_own = program.image, with_ours = program.image;
      DramImage own(program.base, with_own);
      ASSERT_TRUE(Simulator::create(design)->run(own, program.stream,
                                                 static_cast<std::uint32_t>(program.words.size())));
      const Bytes bytes = bytes_of(encoded(*ordered, encoding));
      with_ours.insert(with_ours.end(), bytes.begin(), bytes.end());
      DramImage ours(program.base, with_ours);
      ASSERT_TRUE(Simulator::create(design)->run(ours, program.base + program.image.size(),
                                                 static_cast<std::uint32_t>(ordered->size())));
      with_ours.resize(with_own.size());
      EXPECT_TRUE(with_own == with_ours);

      for (const std::vector<Instruction>& less : without_one(*ordered)) {
        EXPECT_FALSE(passes(design, less, regions));
        ++tokens;
      }
    }
  }
  EXPECT_GT(tokens, 1000u);
}

// Loads that run ahead of stores, which only compute is between.
TEST(VtaTokens, LoadsWaitForStoresByWayOfCompute) {
  VtaStream stream;
  std::vector<Instruction> plain = stripped(stream.design, stream.words());
  plain.push_back({{}, Load{{Memory::Input, 64, VtaStream::kOutput / 16, 1, 1, 1}}});
  const auto ordered = with_tokens(stream.design, plain, stream.regions);
  ASSERT_TRUE(ordered) << ordered.error().text();
  EXPECT_TRUE(passes(stream.design, *ordered, stream.regions));
  const std::size_t count = ordered->size();
  EXPECT_EQ(disassemble((*ordered)[count - 4]),
            disassemble({{.pop_next = true, .push_prev = true}, Load{{Memory::Uop}}}));
  EXPECT_EQ((*ordered)[count - 3].tokens, (Tokens{.pop_next = true, .push_next = true}));
}

TEST(VtaTokens, MoreTokensThanAQueueHoldsAreRefused) {
  VtaStream stream;
  stream.design.token_queue_depth = 1;
  // Two loads to other places, and then what needs each of them.
  const auto& input = stream.body<Load>(1);
  std::vector<Instruction> plain{{{}, stream.body<Load>(0)}, {{}, stream.body<Load>(2)}};
  Load there = input;
  there.sram_base = 100;
  plain.push_back({{}, input});
  plain.push_back({{}, there});
  Gemm first = stream.body<Gemm>(4), second = first;
  second.iter_in = 1;
  stream.set_uops({{0, 0, 0}, {1, 1, 0}, {2, 2, 0}, {3, 100, 0}});
  plain.push_back({{}, Gemm{{0, 4, 1, 1}, true}});
  first.uop_end = 1;
  second.uop_begin = 3;
  plain.push_back({{}, first});
  plain.push_back({{}, second});
  std::get<Load>(plain[0].body).x_size = 4;
  EXPECT_FALSE(with_tokens(stream.design, plain, stream.regions));
  stream.design.token_queue_depth = 2;
  EXPECT_TRUE(with_tokens(stream.design, plain, stream.regions));
}

}  // namespace
}  // namespace fettle::vta::host
