// A board's files in a folder, and its programmable logic in this process (fpga/qemu's EmulatedPl):
// fpga_manager, u-dma-buf, registers. The PL takes what was written to `firmware` when its
// registers are mapped, before anything can see them.
#pragma once

#include <atomic>
#include <thread>

#include "agent/fpga/fpga_helper.h"
#include "fpga/qemu/emulated_pl.h"
#include "tests/support/running_program.h"

namespace fettle::test {

class PlayedBoard {
 public:
  PlayedBoard();
  ~PlayedBoard();
  PlayedBoard(const PlayedBoard&) = delete;

  agent::SystemRoot root() const { return agent::SystemRoot(folder_.path()); }
  agent::MapRegisters map_registers();
  vta::EmulatedPl& pl() { return pl_; }
  std::uint32_t programmings() const { return programmings_; }
  std::span<std::uint8_t> memory() { return memory_; }

  void put(const std::string& path, const std::string& text) const;
  void put(const std::string& path, ByteView bytes) const;
  void remove(const std::string& path) const;
  // The design's bitstream as a file; its path below the root.
  std::string put_bitstream(const std::string& design) const;
  agent::WantedLogic wanted(const std::string& design) const;
  // Checked and opened, by these registers or the board's own.
  Result<agent::ProgrammedLogic> open(const agent::WantedLogic& wanted,
                                      agent::MapRegisters registers = nullptr);

  static constexpr std::uint64_t kAddress = 0x1000'0000, kBytes = std::uint64_t{32} << 20;
  static constexpr const char* kManager = "/sys/class/fpga_manager/fpga0";

 private:
  void take_firmware();

  testing::ScratchFolder folder_;
  std::span<std::uint8_t> memory_;
  vta::DramImage dram_;
  vta::EmulatedPl pl_;
  std::atomic<std::uint32_t> programmings_ = 0;  // by the helper's thread
  std::thread working_;
};

// Of the core `design` of pynq or vta-stock: the shortest stream that there is, at the beginning of
// the memory. How many instructions it has.
std::uint32_t put_short_stream(std::span<std::uint8_t> memory, const vta::Design& design);

}  // namespace fettle::test
