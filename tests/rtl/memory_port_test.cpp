// The model of the memory port: latency, depth and bandwidth are what Timing says.
#include "fpga/rtl/device/memory_port.h"

#include <gtest/gtest.h>

namespace fettle::vta {
namespace {

// Reads `bursts` of 16 beats as fast as the port takes them; the cycles until the last beat, and of
// the first in `first`.
std::uint64_t read_all(const Timing& timing, std::uint32_t bursts, std::uint64_t* first) {
  std::vector<std::byte> dram(1 << 16);
  MemoryPort port(timing, dram, 0);
  std::uint32_t asked = 0, beats = 0;
  std::uint64_t cycle = 0;
  for (; beats < 16 * bursts && cycle < 100000; ++cycle) {
    MemoryPort::FromCore core = {};
    core.rready = true;
    core.arvalid = asked < bursts;
    core.araddr = 128 * asked;
    core.arlen = 15;
    if (port.inputs().rvalid && beats++ == 0 && first) *first = cycle;
    if (core.arvalid && port.inputs().arready) ++asked;
    port.clock(core);
  }
  return cycle;
}

TEST(MemoryPort, LatencyThenABeatACycle) {
  Timing timing;
  timing.read_latency = 30;
  std::uint64_t first = 0;
  const std::uint64_t cycles = read_all(timing, 20, &first);
  EXPECT_EQ(first, 31u);  // the address in cycle 0, then 30
  EXPECT_EQ(cycles, 31u + 320u);
}

TEST(MemoryPort, FewBurstsUnderWayStarveIt) {
  Timing timing;
  timing.read_latency = 64;
  timing.outstanding_reads = 1;
  // One at a time: latency and 16 beats each, and a cycle for the next address.
  EXPECT_GE(read_all(timing, 10, nullptr), 10u * (64 + 16));
}

TEST(MemoryPort, ReadsAndWritesShareBeatsInTurns) {
  for (const bool shared : {true, false}) {
    Timing timing;
    timing.shared_beat = shared;
    timing.write_latency = 5;
    std::vector<std::byte> dram(1 << 16);
    MemoryPort port(timing, dram, 0);
    std::uint32_t read = 0, written = 0, sent = 0, asked = 0;
    for (int cycle = 0; cycle < 1000; ++cycle) {
      MemoryPort::FromCore core = {};
      core.rready = core.bready = true;
      core.arvalid = true;
      core.araddr = 128 * (asked % 64);
      core.arlen = core.awlen = 15;
      core.awvalid = true;
      core.awaddr = 0x8000 + 128 * (sent % 64);
      core.wvalid = true;
      core.wlast = written % 16 == 15;
      const MemoryPort::ToCore in = port.inputs();
      read += in.rvalid;
      written += in.wready;
      asked += in.arready;
      sent += in.awready;
      EXPECT_FALSE(shared && in.rvalid && in.wready);
      port.clock(core);
    }
    EXPECT_GT(read, shared ? 440u : 900u);
    EXPECT_GT(written, shared ? 440u : 900u);
  }
}

}  // namespace
}  // namespace fettle::vta
