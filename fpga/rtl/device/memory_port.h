// A memory behind a 64-bit AXI port, cycle by cycle: what the Verilated core reads and writes. Its
// latency, depth and bandwidth are those that the simulator's estimate assumes (fpga/sim/timing.h).
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "fpga/sim/timing.h"

namespace fettle::vta {

class MemoryPort {
 public:
  // What the core's outputs are in a cycle.
  struct FromCore {
    bool arvalid, rready, awvalid, wvalid, wlast, bready;
    std::uint32_t araddr, awaddr;
    std::uint8_t arid, arlen, awlen;
    std::uint64_t wdata;
  };
  // What its inputs are.
  struct ToCore {
    bool arready = false, rvalid = false, rlast = false, awready = false, wready = false,
         bvalid = false;
    std::uint8_t rid = 0, rresp = 0, bresp = 0;
    std::uint64_t rdata = 0;
  };

  // `dram` lies at address `base`, a multiple of 8, and must outlive this. An access beside it is
  // answered with DECERR. `disorder`, for tests: not 0 makes ready and valid come and go at random,
  // and data of different IDs interleave, seeded by it.
  MemoryPort(const Timing& timing, std::span<std::byte> dram, std::uint64_t base,
             std::uint32_t disorder = 0);

  // The inputs of the cycle that begins. They do not depend on the core's outputs in it.
  const ToCore& inputs() const { return to_core_; }
  // Ends a cycle in which the core's outputs were these.
  void clock(const FromCore& core);

  std::uint64_t read_beats() const { return read_beats_; }
  std::uint64_t written_beats() const { return written_beats_; }
  // The first access beside the memory; empty if there was none.
  const std::string& wrong_access() const { return wrong_access_; }

 private:
  static constexpr std::size_t kIds = 4;
  struct Read {
    std::uint64_t address;
    std::uint32_t beats_left;
    std::uint64_t ready_at;
    std::uint8_t id;
  };
  struct Write {
    std::uint64_t address;
    std::uint32_t beats_left;
    std::uint64_t answer_at;
    bool failed;
  };

  bool chance(std::uint32_t percent);
  std::byte* find(std::uint64_t address, const char* what);
  void choose_read();

  Timing timing_;
  std::uint32_t disorder_;
  std::span<std::byte> dram_;
  std::uint64_t base_;
  std::uint64_t now_ = 0;
  std::deque<Read> reads_;
  std::deque<Write> writes_;
  ToCore to_core_;
  std::minstd_rand random_;
  std::uint64_t read_beats_ = 0, written_beats_ = 0;
  std::string wrong_access_;
};

}  // namespace fettle::vta
