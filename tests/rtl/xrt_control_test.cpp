// The kernel's registers (fpga/rtl/xrt/xrt_control.sv), Verilated: driven as XRT's driver drives
// kernels of ap_ctrl_hs, before a core that is played.
#include <gtest/gtest.h>
#include <verilated.h>

#include <array>
#include <memory>
#include <random>
#include <vector>

#include "XrtControl.h"
#include "fpga/config/register_map.h"
#include "fpga/xrt/kernel.h"

void vl_stop(const char* file, int line, const char*) { ADD_FAILURE() << file << ":" << line; }

namespace fettle::vta {
namespace {

constexpr std::uint32_t kControl = 0x00, kInterruptEnable = 0x04, kEnabled = 0x08, kSeen = 0x0c;
constexpr std::uint32_t kStart = 1, kDone = 2, kIdle = 4, kReady = 8;

// The core's AXI4-Lite side: answers after a while, as it likes; runs for `work` cycles.
class PlayedCore {
 public:
  explicit PlayedCore(XrtControl& top) : top_(top) {}
  void before_edge() {
    busy_ = random_() % 3 == 0;
    top_.m_awready = top_.m_wready = !busy_ && top_.m_awvalid && top_.m_wvalid && !top_.m_bvalid;
    top_.m_arready = !busy_ && top_.m_arvalid && !top_.m_rvalid;
    write_ = top_.m_awready != 0;
    read_ = top_.m_arready != 0;
    address_ = write_ ? top_.m_awaddr : top_.m_araddr;
    data_ = top_.m_wdata;
    answered_ = top_.m_bvalid && top_.m_bready;
    taken_ = top_.m_rvalid && top_.m_rready;
  }
  void after_edge() {
    if (answered_) top_.m_bvalid = 0;
    if (taken_) top_.m_rvalid = 0;
    if (left > 0 && !endless) --left;
    if (write_) {
      written.push_back({address_, data_});
      if (address_ == 0 && data_ == 1) left = work;
      if (address_ == 0 && data_ == 2) left = 5, endless = false;  // waits for the bus
      top_.m_bvalid = 1;
    }
    if (read_) {
      top_.m_rdata = address_ == 0 ? (left > 0 ? 1 : 2) : 0xc0de0000 + address_;
      top_.m_rvalid = 1;
    }
  }
  std::uint32_t work = 40, left = 0;
  bool endless = false;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> written;

 private:
  XrtControl& top_;
  std::mt19937 random_{3};
  bool busy_ = false, write_ = false, read_ = false, answered_ = false, taken_ = false;
  std::uint32_t address_ = 0, data_ = 0;
};

class XrtControlTest : public ::testing::Test {
 protected:
  XrtControlTest() {
    top->reset = 1;
    for (int i = 0; i < 4; ++i) tick();
    top->reset = 0;
  }
  ~XrtControlTest() override { top->final(); }
  void tick() {
    top->clk = 0;
    top->eval();
    core.before_edge();
    top->eval();
    top->clk = 1;
    top->eval();
    core.after_edge();
    ++cycles;
  }
  void write(std::uint32_t address, std::uint32_t value) {
    top->s_awvalid = top->s_wvalid = top->s_bready = 1;
    top->s_awaddr = static_cast<std::uint16_t>(address);
    top->s_wdata = value;
    top->s_wstrb = 15;
    for (bool taken = false; !taken;) {
      top->clk = 0;
      top->eval();
      core.before_edge();
      top->eval();
      taken = top->s_awready;
      ASSERT_EQ(top->s_awready, top->s_wready);
      top->clk = 1;
      top->eval();
      core.after_edge();
      ASSERT_LT(++cycles, 100'000u);
    }
    top->s_awvalid = top->s_wvalid = 0;
    wait_for([&] { return top->s_bvalid != 0; });
    tick();
    top->s_bready = 0;
    EXPECT_EQ(top->s_bvalid, 0);
  }
  std::uint32_t read(std::uint32_t address) {
    top->s_arvalid = top->s_rready = 1;
    top->s_araddr = static_cast<std::uint16_t>(address);
    for (bool taken = false; !taken && cycles < 100'000;) {
      top->clk = 0;
      top->eval();
      core.before_edge();
      top->eval();
      taken = top->s_arready;
      top->clk = 1;
      top->eval();
      core.after_edge();
      ++cycles;
    }
    top->s_arvalid = 0;
    wait_for([&] { return top->s_rvalid != 0; });
    const std::uint32_t value = top->s_rdata;
    tick();
    top->s_rready = 0;
    return value;
  }
  template <typename Until>
  void wait_for(Until until) {
    while (!until() && cycles < 100'000) tick();
    EXPECT_LT(cycles, 100'000u) << "never";
  }
  // As the driver: the arguments, then a start.
  void start(std::uint32_t count, std::uint32_t address, std::uint64_t memory) {
    write(kXrtArgumentOffsets[kXrtInstructionCount], count);
    write(kXrtArgumentOffsets[kXrtInstructionAddress], address);
    write(kXrtArgumentOffsets[kXrtMemory], static_cast<std::uint32_t>(memory));
    write(kXrtArgumentOffsets[kXrtMemory] + 4, static_cast<std::uint32_t>(memory >> 32));
    write(kControl, kStart);
  }
  // Polls until bit `which` is set; what was read then.
  std::uint32_t poll(std::uint32_t which) {
    for (int i = 0; i < 1000; ++i) {
      if (const std::uint32_t value = read(kControl); value & which) return value;
    }
    ADD_FAILURE() << "bit " << which << " is never set";
    return 0;
  }

  std::unique_ptr<XrtControl> top = std::make_unique<XrtControl>();
  PlayedCore core{*top};
  std::uint64_t cycles = 0;
};

using Writes = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

TEST_F(XrtControlTest, AStartIsTheCoresBehindItsArguments) {
  EXPECT_EQ(read(kControl), kIdle);
  for (std::uint32_t round = 1; round <= 3; ++round) {
    core.written.clear();
    core.work = 300 * (round - 1);  // also a core that is done at once
    start(100 + round, 0x2000 * round, 0x47'1000'0000);
    EXPECT_EQ(poll(kDone), kDone | kIdle | kReady);
    EXPECT_EQ(read(kControl), kIdle) << "reading clears it";
    EXPECT_EQ(core.left, 0u);
    EXPECT_EQ(core.written, (Writes{{0x08, 100 + round}, {0x0c, 0x2000 * round}, {0x00, 1}}));
    EXPECT_EQ(top->memory_high, 0x47u);
  }
}

TEST_F(XrtControlTest, ItIsBusyMeanwhile) {
  core.work = 1000;
  start(9, 0x1000, 0);
  EXPECT_EQ(read(kControl), kStart);
  write(kControl, kStart);  // of no effect
  EXPECT_EQ(poll(kDone), kDone | kIdle | kReady);
  EXPECT_EQ(core.written.size(), 3u);
}

TEST_F(XrtControlTest, TheCoresRegistersAreThereAlsoWhileItRuns) {
  const RegisterMap& map = register_map(Core::Fettle);
  core.endless = true;
  start(9, 0x1000, 0);
  wait_for([&] { return core.left > 0; });
  for (const std::uint32_t offset : {*map.cycles_low, *map.cycles_high, map.identification->offset,
                                     *map.identity, *map.identity + 28}) {
    EXPECT_EQ(read(kXrtCoreRegisters + offset), 0xc0de0000 + offset);
  }
  EXPECT_EQ(read(kControl) & kDone, 0u);
  write(kXrtCoreRegisters + map.stop->first, map.stop->second);
  EXPECT_EQ(poll(kDone), kDone | kIdle | kReady) << "a stopped run ends";
  EXPECT_EQ(core.written.back(), (Writes::value_type{0, 2}));
  start(10, 0x1000, 0);
  EXPECT_EQ(poll(kDone), kDone | kIdle | kReady);
}

TEST_F(XrtControlTest, InterruptsAreThoseThatWereAskedFor) {
  for (const std::uint32_t enabled : {0u, 1u, 2u, 3u}) {
    write(kInterruptEnable, 1);
    write(kEnabled, enabled);
    start(9, 0x1000, 0);
    poll(kDone);
    EXPECT_EQ(top->irq, enabled != 0);
    EXPECT_EQ(read(kSeen), enabled);
    write(kSeen, enabled);  // a written 1 turns it over
    EXPECT_EQ(top->irq, 0);
  }
  write(kInterruptEnable, 0);
  start(9, 0x1000, 0);
  poll(kDone);
  EXPECT_EQ(top->irq, 0);
  EXPECT_EQ(read(kSeen), 3u);
}

TEST_F(XrtControlTest, ArgumentsReadBack) {
  start(0x123, 0xfedc'ba98, 0x1234'5678'9abc'def0);
  EXPECT_EQ(read(kXrtArgumentOffsets[kXrtInstructionCount]), 0x123u);
  EXPECT_EQ(read(kXrtArgumentOffsets[kXrtInstructionAddress]), 0xfedc'ba98u);
  EXPECT_EQ(read(kXrtArgumentOffsets[kXrtMemory]), 0x9abc'def0u);
  EXPECT_EQ(read(kXrtArgumentOffsets[kXrtMemory] + 4), 0x1234'5678u);
  EXPECT_EQ(read(0x40), 0u);
  poll(kDone);
}

}  // namespace
}  // namespace fettle::vta
