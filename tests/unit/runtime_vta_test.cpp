// Programs of streams on an accelerator: where their buffers lie, how addresses get into
// instructions, what is refused before anything runs, and what a core that goes astray leaves.
#include <gtest/gtest.h>

#include <algorithm>

#include "fpga/isa/disassemble.h"
#include "runtime/vta/bound_stream.h"
#include "runtime/vta/simulated_accelerator.h"
#include "tests/support/vta_board.h"
#include "tests/support/vta_candidates.h"

namespace fettle::runtime {
namespace {

using namespace test;
using vta::Memory;

constexpr std::uint64_t kMemoryBytes = std::uint64_t{4} << 20;

vta::Design pynq() { return *vta::find_design("pynq"); }

// Runs nothing: notes what it is asked, and may scribble.
class FakeCore final : public Accelerator {
 public:
  explicit FakeCore(const vta::Design& design) : design_(design), bytes_(kMemoryBytes) {
    memory_ = {0x1000'0000, bytes_};
  }
  const vta::Design& design() const override { return design_; }
  const ContiguousMemory& memory() const override { return memory_; }
  bool exact() const override { return false; }
  Result<std::uint64_t> run(std::uint64_t address, std::uint32_t count,
                            std::uint64_t limit) override {
    asked = {address, count, limit};
    if (scribble_at) bytes_[scribble_at - memory_.address] ^= 1;
    return std::uint64_t{7};
  }
  std::uint64_t scribble_at = 0;
  struct {
    std::uint64_t address = 0;
    std::uint32_t count = 0;
    std::uint64_t limit = 0;
  } asked;

 private:
  vta::Design design_;
  Bytes bytes_;
  ContiguousMemory memory_;
};

struct Board : testing::VtaBoard {
  explicit Board(std::unique_ptr<Accelerator> core) : VtaBoard(std::move(core)) {}
  Board() : Board(*make_simulated_accelerator(pynq(), kMemoryBytes)) {}

  Result<LoadedProgram> load(const wire::ProgramT& program) {
    return VtaBoard::load(program, vta_candidate_blob);
  }
  // "Malformed: …", or "" when it loads.
  std::string refusal(const wire::ProgramT& program) {
    const auto loaded = load(program);
    return loaded
               ? ""
               : std::string(fettle::name_of(loaded.error().code)) + ": " + loaded.error().message;
  }
};

std::uint64_t address_of(const LoadedProgram& program, std::size_t buffer) {
  return static_cast<const VtaBuffer&>(*program.buffers()[buffer]).address();
}

void expect_words(const std::string& text, const std::string& words) {
  EXPECT_NE(text.find(words), std::string::npos) << text << "\nexpected: " << words;
}

// A changed stream of the good program.
template <typename Change>
wire::ProgramT changed(Change change) {
  auto stream = vta_good_stream();
  change(stream);
  return vta_program_of(stream);
}

TEST(VtaMemory, BuffersLieAlignedWithGuardsAndEquallyEachTime) {
  Board board;
  std::vector<std::uint64_t> first;
  for (int round = 0; round < 3; ++round) {
    wire::ProgramT program = vta_candidate_program(kGood);
    program.buffers[1]->alignment = 1 << 16;
    {
      const auto loaded = board.load(program);
      ASSERT_TRUE(loaded) << loaded.error().text();
      std::vector<std::uint64_t> addresses;
      for (std::size_t i = 0; i < 4; ++i) addresses.push_back(address_of(*loaded, i));
      for (const std::uint64_t address : addresses) EXPECT_EQ(address % kVtaBufferAlignment, 0u);
      EXPECT_GE(addresses[0], 0x1000'0000u);
      EXPECT_EQ(addresses[1] % (1 << 16), 0u);
      EXPECT_TRUE(std::is_sorted(addresses.begin(), addresses.end()));
      if (round == 0) first = addresses;
      EXPECT_EQ(addresses, first);
    }
    // Another one in between.
    program.buffers[0]->bytes *= 3;
    EXPECT_TRUE(board.load(program));
  }
}

TEST(VtaMemory, HoldsWhatTheFillsSay) {
  Board board;
  const auto loaded = board.load(vta_candidate_program(kGood));
  ASSERT_TRUE(loaded) << loaded.error().text();
  Bytes input = vta_candidate_answer();
  const auto data = loaded->buffers()[0]->data();
  for (std::size_t i = 0; i < input.size(); ++i) {
    ASSERT_EQ(input[i], static_cast<std::uint8_t>(2 * data[i])) << i;
  }
  EXPECT_TRUE(loaded->buffers()[0]->read_only());
  EXPECT_FALSE(loaded->buffers()[1]->read_only());
  for (const std::uint8_t byte : loaded->buffers()[1]->data()) ASSERT_EQ(byte, 0xff);
  EXPECT_EQ(loaded->buffers()[3]->data()[17], 1);
}

TEST(VtaMemory, ACoreThatWritesBesideABufferIsSeen) {
  auto core = std::make_unique<FakeCore>(pynq());
  FakeCore& fake = *core;
  Board board(std::move(core));
  auto loaded = board.load(vta_candidate_program(kGood));
  ASSERT_TRUE(loaded) << loaded.error().text();
  BufferMemory& output = *loaded->buffers()[1];
  const std::uint64_t address = address_of(*loaded, 1);
  const std::pair<std::uint64_t, const char*> places[] = {
      {address + kVtaElements * 4 + 5, "behind it, the nearest 5 bytes off its end"},
      {address - 1, "before it, the nearest 0 bytes off its start"}};
  for (const auto& [place, words] : places) {
    EXPECT_EQ(*output.damage(), "");
    fake.scribble_at = place;
    ASSERT_TRUE(loaded->run(1));
    expect_words(*output.damage(), words);
    output.mend();
  }
  EXPECT_EQ(*output.damage(), "");
}

TEST(VtaExecutor, RunsTheStreamFromItsOwnMemory) {
  auto core = std::make_unique<FakeCore>(pynq());
  FakeCore& fake = *core;
  Board board(std::move(core));
  auto loaded = board.load(vta_candidate_program(kGood));
  ASSERT_TRUE(loaded) << loaded.error().text();
  EXPECT_EQ(*loaded->run(3), 21u);
  EXPECT_EQ(fake.asked.count, vta_good_stream().size());
  EXPECT_EQ(fake.asked.limit, kVtaLongestRun * 100'000'000);
  // Where it was told to look, the instructions name the buffers' addresses.
  const ContiguousMemory& memory = fake.memory();
  const auto words = vta::words_of(memory.bytes.subspan(fake.asked.address - memory.address,
                                                        fake.asked.count * vta::kWordBytes));
  ASSERT_TRUE(words);
  const vta::Encoding encoding(pynq());
  const auto store = std::get<vta::Store>(encoding.decode((*words)[kStore])->body);
  EXPECT_EQ(store.dram_base * std::uint64_t{16}, address_of(*loaded, 1));
  const auto weights = std::get<vta::Load>(encoding.decode((*words)[kLoadWeights])->body);
  EXPECT_EQ(weights.dram_base * std::uint64_t{256}, address_of(*loaded, 3));
}

TEST(VtaExecutor, ComputesAndCountsEquallyEachTime) {
  Board board;
  std::uint64_t cycles = 0;
  for (int round = 0; round < 3; ++round) {
    auto loaded = board.load(vta_candidate_program(kGood));
    ASSERT_TRUE(loaded) << loaded.error().text();
    std::uint64_t of_launch[1] = {};
    const auto ran = loaded->run(2, of_launch);
    ASSERT_TRUE(ran) << ran.error().text();
    EXPECT_EQ(*ran, of_launch[0]);
    if (round == 0) cycles = *ran;
    EXPECT_EQ(*ran, cycles);
    const auto output = loaded->buffers()[1]->data();
    EXPECT_TRUE(std::equal(output.begin(), output.end(), vta_candidate_answer().begin()));
    ASSERT_TRUE(board.load(vta_candidate_program(kCount))->run(1)) << "another one in between";
  }
  EXPECT_GT(cycles, 2 * 3 * 256u) << "each micro-op is a cycle";
}

TEST(VtaLoader, AnotherDesignIsRefusedByName) {
  Board board;
  wire::ProgramT program = vta_candidate_program(kGood);
  program.images[0]->configuration = vta::configuration_of(*vta::find_design("vta-stock"));
  const std::string said = board.refusal(program);
  expect_words(said, "WrongConfiguration: built for the accelerator design 'vta-stock'");
  expect_words(said, "but here is 'pynq'");
}

// As blobs come: their length was not known when the program was checked.
TEST(VtaLoader, TruncatedImagesAreRefused) {
  Board board;
  wire::ProgramT program = vta_program_of(vta_good_stream());
  program.images[0]->bytes.resize(program.images[0]->bytes.size() - 3);
  expect_words(board.refusal(program), "Malformed: a stream of 141 bytes");
  program.images[0]->bytes.resize(128);
  expect_words(board.refusal(program), "the last instruction is to be FINISH");
  program = vta_candidate_program(kGood);
  program.images[0]->bytes.resize(16 * vta_good_stream().size());
  expect_words(board.refusal(program), "the image has 9");
}

TEST(VtaExecutor, RelocationsFitTheirInstructions) {
  Board board;
  const auto relocated = [&](auto change) {
    wire::ProgramT program = vta_program_of(vta_good_stream());
    change(program.launches[0]->relocations);
    return board.refusal(program);
  };
  using Relocations = std::vector<wire::Relocation>;
  EXPECT_EQ(relocated([](Relocations&) {}), "");
  expect_words(relocated([](Relocations& r) { r.erase(r.begin() + 1); }),
               "instruction 1 (LOAD INP");
  expect_words(relocated([](Relocations& r) { r.erase(r.begin() + 1); }), "no relocation");
  expect_words(relocated([](Relocations& r) { r.insert(r.begin() + 3, {kReset, 0, 0}); }),
               "instruction 3 (GEMM");
  expect_words(relocated([](Relocations& r) { r.push_back({kWaitForStore, 2, 0}); }),
               "moves nothing");
  expect_words(relocated([](Relocations& r) { r.push_back({kFinish, 2, 0}); }), "moves nothing");
  expect_words(relocated([](Relocations& r) { r[1] = {kLoadInput, 0, 8}; }),
               "byte 8 of input buffer 'data' is no address of INP elements of 16 bytes");
  // Into its buffer, and with its last row out of it.
  expect_words(relocated([](Relocations& r) { r[1] = {kLoadInput, 0, 16}; }),
               "which lie in none of its buffers");
  expect_words(relocated([](Relocations& r) { r[3] = {kStore, 0, 0}; }),
               "writes to input buffer 'data', which is only read");
  // Whose contents a launch before this one may have made.
  expect_words(relocated([](Relocations& r) { r[0] = {kLoadUop, 1, 0}; }),
               "of which it is not known what it holds");
}

TEST(VtaExecutor, AnAddressOfTheProgramsOwnIsRefused) {
  Board board;
  expect_words(board.refusal(changed([](auto& stream) {
    std::get<vta::Store>(stream[kStore].body).dram_base = 0x1000'4000 / 16;
  })),
               "has an address in DRAM already");
  expect_words(board.refusal(changed([](auto& stream) {
    std::get<vta::Load>(stream[kWaitForStore].body).dram_base = 1;
  })),
               "has an address in DRAM already");
}

TEST(VtaExecutor, WhatWouldHangIsExplainedBefore) {
  Board board;
  const std::string deadlock =
      board.refusal(changed([](auto& stream) { stream[kMultiplyAgain].tokens.push_next = false; }));
  expect_words(deadlock, "Malformed: ");
  expect_words(deadlock, "waits");
  const std::string left =
      board.refusal(changed([](auto& stream) { stream[kLoadInput].tokens.push_next = true; }));
  expect_words(left, "Malformed: ");
  expect_words(left, "token");
  expect_words(board.refusal(changed([](auto& stream) { stream.pop_back(); })),
               "the last instruction is to be FINISH");
}

TEST(VtaExecutor, WhatDependsOnSpeedIsRefused) {
  Board board;
  // The store waits for no token of the last product.
  expect_words(board.refusal(changed([](auto& stream) {
    stream[kReset].tokens.push_next = true;
    stream[kMultiplyAgain].tokens.push_next = false;
  })),
               "Malformed: ");
}

TEST(VtaExecutor, AStreamWithoutEndIsRefusedAtOnce) {
  Board board;
  expect_words(board.refusal(changed([](auto& stream) {
    auto& loops = std::get<vta::Gemm>(stream[kReset].body);
    loops.iter_out = 16383;
    loops.iter_in = 16383;
    loops.dst_factor_in = 0;
    for (int i = 0; i < 6; ++i) stream.insert(stream.begin() + kReset, stream[kReset]);
  })),
               "RunTimeout: the stream has");
}

// Its done flag stands until the next stream's first compute instruction.
TEST(VtaExecutor, StreamsForTheStockCoreBeginWithTheComputeUnit) {
  const vta::Design stock = *vta::find_design("vta-stock");
  Board board(*make_simulated_accelerator(stock, kMemoryBytes));
  wire::ProgramT program = vta_program_of(vta_good_stream());
  program.images[0]->configuration = vta::configuration_of(stock);
  EXPECT_EQ(board.refusal(program), "");
  program = changed([](auto& stream) { std::swap(stream[kLoadUop], stream[kLoadInput]); });
  EXPECT_EQ(Board().refusal(program), "") << "on the design pynq";
  program.images[0]->configuration = vta::configuration_of(stock);
  expect_words(board.refusal(program), "begins with an instruction of the compute unit");
}

TEST(VtaMemory, MoreThanThereIsIsOutOfMemory) {
  Board board;
  wire::ProgramT program = vta_candidate_program(kGood);
  program.buffers[1]->bytes = kMemoryBytes - 1000;
  expect_words(board.refusal(program), "OutOfMemory: ");
  EXPECT_EQ(board.refusal(vta_candidate_program(kGood)), "") << "nothing was left behind";
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{2} << 30}) {
    const auto core = make_simulated_accelerator(pynq(), bytes);
    ASSERT_FALSE(core);
    EXPECT_EQ(core.error().code, ErrorCode::InvalidArgument);
  }
}

}  // namespace
}  // namespace fettle::runtime
