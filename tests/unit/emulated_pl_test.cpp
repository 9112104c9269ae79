// The emulated programmable logic, driven as a board's agent does it: by a bitstream and the
// register maps' own tables.
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <thread>

#include "fpga/bitstream/bitstream.h"
#include "fpga/config/register_map.h"
#include "fpga/qemu/emulated_bitstream.h"
#include "fpga/qemu/emulated_pl.h"
#include "tests/support/vta_stream.h"

namespace fettle::vta {
namespace {

using testing::VtaStream;

// As Linux' driver sends it.
Bytes words_of_pcap(const std::string& design) {
  const auto file = parse_bitstream(make_emulated_bitstream(*find_design(design)));
  EXPECT_TRUE(file) << file.error().text();
  return *to_bin(*file);
}

class EmulatedPlTest : public ::testing::TestWithParam<const char*> {
 protected:
  EmulatedPlTest() : stream(*find_design(GetParam())), map(register_map(stream.design.core)) {
    std::mt19937 random(1);
    for (std::uint8_t& byte : image) byte = static_cast<std::uint8_t>(random());
    put(VtaStream::kUops, stream.uops);
    worker = std::thread([this] { pl.work(); });
  }
  ~EmulatedPlTest() override {
    pl.end();
    worker.join();
  }

  void put(std::uint64_t address, const Bytes& bytes) {
    std::copy(bytes.begin(), bytes.end(), image.begin() + static_cast<std::ptrdiff_t>(address));
  }
  void configure(const std::string& design) {
    const Bytes words = words_of_pcap(design);
    for (std::size_t at = 0; at < words.size(); at += 1024) {
      pl.configure(ByteView(words).subspan(at, std::min<std::size_t>(1024, words.size() - at)));
    }
  }
  void launch() {
    put(kCode, bytes_of(stream.words()));
    for (const RegisterWrite& each : map.launch) {
      pl.write(each.offset,
               register_value(each.value, static_cast<std::uint32_t>(stream.instructions.size()),
                              kCode));
    }
  }
  bool holds(const RegisterTest& test) { return (pl.read(test.offset) & test.mask) == test.value; }
  bool done_within(std::chrono::milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (!holds(map.done)) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }
  std::uint64_t cycles() {
    const std::uint64_t low = pl.read(*map.cycles_low);
    return low | std::uint64_t{pl.read(*map.cycles_high)} << 32;
  }
  ByteView outputs() const {
    return ByteView(image).subspan(VtaStream::kOutput,
                                   4 * stream.design.element_bytes(Memory::Output));
  }

  static constexpr std::uint32_t kCode = 0xc000;
  static constexpr std::chrono::milliseconds kLong{10000}, kShort{100};
  VtaStream stream;
  const RegisterMap& map;
  Bytes image = Bytes(0x10000);
  DramImage memory{0, image};
  EmulatedPl pl{memory};
  std::thread worker;
};

TEST_P(EmulatedPlTest, AnswersOnlyWhileConfiguredAndRunsStreams) {
  EXPECT_FALSE(pl.configured());
  launch();
  EXPECT_FALSE(done_within(kShort));
  configure(GetParam());
  EXPECT_TRUE(pl.configured());
  if (map.identification) {
    EXPECT_TRUE(holds(*map.identification));
    const wire::Hash identity = stream.design.identity();
    for (std::uint32_t i = 0; i < 32; i += 4) {
      EXPECT_EQ(pl.read(*map.identity + i) & 0xff, (*identity.bytes())[i]);
    }
  }
  EXPECT_FALSE(holds(map.done));

  Bytes expected = image;
  put(kCode, bytes_of(stream.words()));
  std::copy_n(image.begin() + kCode, 0x1000, expected.begin() + kCode);
  DramImage reference(0, expected);
  auto run = Simulator::create(stream.design)
                 ->run(reference, kCode, static_cast<std::uint32_t>(stream.instructions.size()));
  ASSERT_TRUE(run);
  for (int i = 0; i < 3; ++i) {
    std::fill_n(image.begin() + VtaStream::kOutput, outputs().size(), std::uint8_t{0x5a});
    launch();
    ASSERT_TRUE(done_within(kLong));
    EXPECT_EQ(image, expected);
    if (map.cycles_low) {
      EXPECT_EQ(cycles(), run->cycles);
      EXPECT_TRUE(holds(*map.healthy));
    }
  }
  pl.erase();
  EXPECT_FALSE(pl.configured());
  EXPECT_FALSE(holds(map.done));
}

TEST_P(EmulatedPlTest, AHangingStreamIsEndedByStopOrConfiguration) {
  configure(GetParam());
  pl.hang(true);
  launch();
  EXPECT_FALSE(done_within(kShort));
  if (map.stop) {
    pl.write(map.stop->first, map.stop->second);
    for (int i = 0; i < 1000 && !holds(*map.stopped); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_TRUE(holds(*map.stopped));
  } else {
    pl.erase();
    configure(GetParam());
  }
  EXPECT_FALSE(done_within(kShort));
  pl.hang(false);
  launch();
  EXPECT_TRUE(done_within(kLong));
}

TEST_P(EmulatedPlTest, WhatIsErasedOrResetInMidRunIsNotDone) {
  configure(GetParam());
  for (const bool erased : {false, true}) {
    pl.hang(true);
    launch();
    EXPECT_FALSE(done_within(kShort));
    if (erased) {
      pl.erase();
    } else {
      pl.reset();
    }
    EXPECT_EQ(pl.configured(), !erased);
    pl.hang(false);
    EXPECT_FALSE(done_within(kShort));
  }
}

TEST_P(EmulatedPlTest, StreamsThatGoWrongNeverEnd) {
  configure(GetParam());
  stream.body<Load>(1).dram_base = 0x100000;  // beyond the memory
  launch();
  EXPECT_FALSE(done_within(kShort));
  if (map.healthy) {
    EXPECT_FALSE(holds(*map.healthy));
  }
}

TEST_P(EmulatedPlTest, OtherDataDoNotConfigure) {
  Bytes words = words_of_pcap(GetParam());
  pl.configure(ByteView(words).first(words.size() - 1024));  // cut off
  EXPECT_FALSE(pl.configured());
  pl.erase();
  Bytes other = words;
  // The IDCODE's word, behind the header of its packet.
  const std::uint8_t header[] = {0x01, 0x80, 0x01, 0x30};
  const auto at = std::search(other.begin(), other.end(), std::begin(header), std::end(header));
  ASSERT_NE(at, other.end());
  at[5] ^= 0x20;
  pl.configure(other);
  EXPECT_FALSE(pl.configured());
  // Padding before it, and another design after it without PROG_B.
  pl.configure(Bytes(64 * 1024, 0xff));
  configure("vta-stock");
  configure("pynq");
  EXPECT_TRUE(pl.configured());
  EXPECT_EQ(pl.read(0x3c), 0x46544c31u);
}

INSTANTIATE_TEST_SUITE_P(Designs, EmulatedPlTest, ::testing::Values("pynq", "vta-stock"),
                         [](const auto& info) {
                           return std::string(info.param) == "pynq" ? "Ours" : "Stock";
                         });

}  // namespace
}  // namespace fettle::vta
