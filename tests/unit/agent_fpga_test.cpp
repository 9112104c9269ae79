// Programmable logic on a played board: what is looked at before it is touched, when it is
// programmed, and how a core is driven by either register map.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "agent/fpga/file_write.h"
#include "fpga/qemu/emulated_bitstream.h"
#include "tests/support/played_board.h"

namespace fettle::agent {
namespace {

using test::PlayedBoard;

constexpr std::uint64_t kShort = 5'000'000;  // cycles: 50 ms
Result<void> nothing() { return {}; }

class Fpga : public ::testing::Test {
 protected:
  Result<ProgrammedLogic> open(const std::string& design) {
    return board.open(board.wanted(design));
  }
  Result<std::uint64_t> run(ProgrammedLogic& logic, std::uint64_t limit = kShort) {
    const std::uint32_t count = test::put_short_stream(board.memory(), logic.wanted().design);
    return logic.run(PlayedBoard::kAddress, count, limit, nothing);
  }
  PlayedBoard board;
};

TEST_F(Fpga, ProgramsOnceInABoot) {
  auto first = open("pynq");
  ASSERT_TRUE(first.ok()) << first.error().text();
  EXPECT_EQ(first->programmings(), 1u);
  EXPECT_EQ(board.root().text(std::string(PlayedBoard::kManager) + "/flags"), "0");
  auto second = open("pynq");
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->programmings(), 0u);
  EXPECT_EQ(board.programmings(), 1u);
  EXPECT_TRUE(run(*second).ok());

  board.put("/proc/sys/kernel/random/boot_id", "another\n");
  ASSERT_TRUE(open("pynq").ok());
  EXPECT_EQ(board.programmings(), 2u) << "what another boot has loaded is gone";
  ASSERT_TRUE(open("vta-stock").ok());
  EXPECT_EQ(board.programmings(), 3u);
  ASSERT_TRUE(open("pynq").ok());
  EXPECT_EQ(board.programmings(), 4u) << "another bitstream came in between";
  board.pl().erase();
  ASSERT_TRUE(open("pynq").ok());
  EXPECT_EQ(board.programmings(), 5u) << "the note says loaded, the hardware does not";
}

// Whoever loads another design, with the same tools or others, writes no note of ours.
TEST_F(Fpga, DoesNotBelieveItsNoteOfACoreThatSaysNothing) {
  ASSERT_TRUE(open("vta-stock").ok());
  ASSERT_TRUE(open("vta-stock").ok());
  EXPECT_EQ(board.programmings(), 2u);
}

TEST_F(Fpga, RunsStreamsOnBothCores) {
  for (const char* design : {"pynq", "vta-stock"}) {
    auto logic = open(design);
    ASSERT_TRUE(logic.ok()) << logic.error().text();
    for (int round = 0; round < 3; ++round) {
      const auto ticks = run(*logic);
      ASSERT_TRUE(ticks.ok()) << design << ": " << ticks.error().text();
      EXPECT_GT(*ticks, 0u);
      EXPECT_LT(*ticks, 50'000'000u);
    }
  }
}

// On the stock core `done` stays from the last stream until the next one's first instruction.
TEST_F(Fpga, DoesNotTakeTheLastStreamsDoneForItsOwn) {
  auto logic = open("vta-stock");
  ASSERT_TRUE(logic.ok());
  ASSERT_TRUE(run(*logic).ok());
  board.pl().hang(true);
  const auto ran = run(*logic);
  ASSERT_FALSE(ran.ok());
  EXPECT_EQ(ran.error().code, ErrorCode::RunTimeout);
}

TEST_F(Fpga, StopsAHungCoreThatCanBe) {
  auto logic = open("pynq");
  ASSERT_TRUE(logic.ok());
  board.pl().hang(true);
  const auto ran = run(*logic);
  ASSERT_FALSE(ran.ok());
  EXPECT_EQ(ran.error().code, ErrorCode::RunTimeout);
  EXPECT_EQ(ran.error().message, "the accelerator was not done after 50 ms; it was stopped");
  board.pl().hang(false);
  EXPECT_TRUE(run(*logic).ok());
  EXPECT_EQ(board.programmings(), 1u);
}

TEST_F(Fpga, ProgramsAHungCoreThatCannotBeStopped) {
  auto logic = open("vta-stock");
  ASSERT_TRUE(logic.ok());
  board.pl().hang(true);
  const auto ran = run(*logic);
  ASSERT_FALSE(ran.ok());
  EXPECT_EQ(
      ran.error().message,
      "the accelerator was not done after 50 ms; the programmable logic was programmed again");
  board.pl().hang(false);
  EXPECT_TRUE(run(*logic).ok());
  EXPECT_EQ(board.programmings(), 2u);
}

TEST_F(Fpga, NoticesAResetInMidRun) {
  auto logic = open("pynq");
  ASSERT_TRUE(logic.ok());
  for (const bool erased : {false, true}) {
    board.pl().hang(true);
    const std::uint32_t count = test::put_short_stream(board.memory(), logic->wanted().design);
    const auto ran = logic->run(PlayedBoard::kAddress, count, 1'000'000'000, [&]() -> Result<void> {
      erased ? board.pl().erase() : board.pl().reset();
      board.pl().hang(false);
      return {};
    });
    ASSERT_FALSE(ran.ok());
    EXPECT_EQ(ran.error().code, ErrorCode::DeviceLost);
    EXPECT_EQ(ran.error().message,
              std::string(erased ? "the programmable logic lost its configuration"
                                 : "the accelerator was reset") +
                  " while a stream ran; the programmable logic was programmed again");
    EXPECT_TRUE(run(*logic).ok());
  }
  EXPECT_EQ(board.programmings(), 3u);
}

TEST_F(Fpga, SaysWhatACoreMet) {
  auto logic = open("pynq");
  ASSERT_TRUE(logic.ok());
  std::fill_n(board.memory().begin(), 32, 0xff);  // no instructions
  const auto ran = logic->run(PlayedBoard::kAddress, 2, kShort, nothing);
  ASSERT_FALSE(ran.ok());
  EXPECT_EQ(
      ran.error().message,
      "the accelerator met an error: its register 0x00000028 reads 0x00000004; it was stopped");
  EXPECT_TRUE(run(*logic).ok());
}

TEST_F(Fpga, TakesMemoryFromWhoeverHasIt) {
  constexpr std::uint64_t kRegisters = 0x43c0'0000, kMost = std::uint64_t{128} << 20;
  const auto found = [&] { return find_contiguous_memory(board.root(), kMost, kRegisters); };
  const auto dma = found();
  ASSERT_TRUE(dma.ok());
  EXPECT_EQ(dma->provider, "u-dma-buf udmabuf0");
  EXPECT_EQ(dma->address, PlayedBoard::kAddress);
  EXPECT_EQ(dma->bytes, PlayedBoard::kBytes);
  EXPECT_TRUE(dma->cached);

  board.remove("/sys/class/u-dma-buf");
  EXPECT_EQ(found().error().code, ErrorCode::NotFound);
  const std::string maps = "/sys/class/uio/uio1/maps/map";
  board.put(maps + "0/addr", "0x43c00000\n");
  board.put(maps + "0/size", "0x4000\n");
  board.put(maps + "1/addr", "0x1c000000\n");
  board.put(maps + "1/size", "0x4000000\n");
  EXPECT_NE(found().error().message.find("/dev/uio1: No such file"), std::string::npos)
      << found().error().message;
  board.put("/dev/uio1", "");
  const auto uio = found();
  ASSERT_TRUE(uio.ok());
  EXPECT_EQ(uio->provider, "UIO uio1");
  EXPECT_EQ(uio->address, 0x1c00'0000u);
  EXPECT_EQ(uio->bytes, std::uint64_t{64} << 20);
  EXPECT_EQ(uio->offset, static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)));
  EXPECT_FALSE(uio->cached);
}

// A driver that gives half of what is asked for.
TEST_F(Fpga, AsksZoclForLessWhenItHasLess) {
  board.put("/dev/dri/renderD128", "");
  const auto taken = allocate_from_zocl(
      board.root().path("/dev/dri/renderD128"), std::uint64_t{64} << 20,
      [](int, unsigned long request, void* argument) {
        auto* words = static_cast<std::uint64_t*>(argument);
        switch (request & 0xff) {
          case 0x00: {  // the driver's name; 3 ints, then the length and a pointer
            char* name;
            std::memcpy(&name, static_cast<char*>(argument) + 16 + sizeof(std::size_t),
                        sizeof name);
            std::strcpy(name, "zocl");
            return 0;
          }
          case 0x40:
            if (words[0] <= std::uint64_t{32} << 20) return 0;
            errno = ENOMEM;
            return -1;
          case 0x43:
            words[1] = 0x123000;
            return 0;
          case 0x45:
            words[2] = 0x1800'0000;
            return 0;
        }
        return -1;
      });
  ASSERT_TRUE(taken.ok()) << taken.error().text();
  EXPECT_EQ(taken->address, 0x1800'0000u);
  EXPECT_EQ(taken->bytes, std::uint64_t{32} << 20);
  EXPECT_EQ(taken->offset, 0x123000u);
  EXPECT_TRUE(taken->cached);
  const auto other = allocate_from_zocl(board.root().path("/dev/dri/renderD128"), 1 << 20,
                                        [](int, unsigned long, void*) { return 0; });
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, ErrorCode::Unsupported);
}

// Where the kernel has no `firmware`, an overlay names the file.
TEST_F(Fpga, ProgramsByAnOverlay) {
  board.remove(std::string(PlayedBoard::kManager) + "/firmware");
  const auto manager = FpgaManager::find(board.root());
  ASSERT_TRUE(manager.ok());
  const Bytes bin(64, 1);
  const auto without = manager->program(bin);
  ASSERT_FALSE(without.ok());
  EXPECT_NE(without.error().message.find("this kernel programs nothing"), std::string::npos);
  const std::string overlays = "/sys/kernel/config/device-tree/overlays";
  ASSERT_TRUE(make_folder(board.root().path(overlays)).ok());
  ASSERT_TRUE(manager->program(bin).ok());
  const auto tree = board.root().text(overlays + "/fettle-fpga/dtbo");
  ASSERT_TRUE(tree);
  EXPECT_EQ(tree->substr(0, 4), "\xd0\x0d\xfe\xed");
  for (const char* words :
       {"target-path", "/fpga-full", "__overlay__", "firmware-name", "fettle-fpga.bin"}) {
    EXPECT_NE(tree->find(words), std::string::npos) << words;
  }
}

TEST_F(Fpga, MapsRegistersByUioElseByMemory) {
  board.put("/sys/class/uio/uio0/maps/map0/addr", "0x43c00000\n");
  board.put("/sys/class/uio/uio0/maps/map0/size", "0x1000\n");
  auto none = map_registers(board.root(), 0x43c0'0000, 0x1000);
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message.find("/dev/uio0: "), std::string::npos);
  EXPECT_NE(none.error().message.find("/dev/mem: "), std::string::npos);
  board.put("/dev/uio0", std::string(0x1000, 'u'));
  auto by_uio = map_registers(board.root(), 0x43c0'0000, 0x1000);
  ASSERT_TRUE(by_uio.ok());
  EXPECT_EQ((*by_uio)->read(0x40), 0x75757575u);
  board.put("/dev/mem", std::string(0x3000, 'm'));
  auto by_memory = map_registers(board.root(), 0x1000, 0x2000);
  ASSERT_TRUE(by_memory.ok());
  (*by_memory)->write(0x1004, 7);
  EXPECT_EQ((*by_memory)->read(0x1004), 7u);
  EXPECT_EQ((*by_memory)->read(0x1000), 0x6d6d6d6du);
}

}  // namespace
}  // namespace fettle::agent
