// The programmable logic of an emulated board: configured by a bitstream, which says the design
// that it plays (AXSS, vta::user_access_of()); then the registers of that design's core, and runs
// of the simulator over the board's memory. What a library for QEMU is made of (pl_library.cpp).
#pragma once

#include <condition_variable>
#include <mutex>

#include "fpga/qemu/core_registers.h"
#include "fpga/sim/simulator.h"

namespace fettle::vta {

// Calls may come from any thread, and are short but for work().
class EmulatedPl {
 public:
  // `memory` is used by work() and by the write() that starts a stream. The device is an xc7z020.
  explicit EmulatedPl(Dram& memory) : memory_(memory) {}
  EmulatedPl(const EmulatedPl&) = delete;

  // PROG_B: nothing is configured, and what ran reaches no memory any more.
  void erase();
  // More configuration data: words of the PCAP, each little-endian. They take effect once they are
  // whole, if their IDCODE is this device's. A design that is not known by AXSS is configured, too,
  // but none of its registers answers here.
  void configure(ByteView words);
  bool configured() const;  // DONE

  // 0 where nothing answers.
  std::uint32_t read(std::uint32_t offset);
  void write(std::uint32_t offset, std::uint32_t value);
  void reset();        // registers and run are as after configuration
  void hang(bool on);  // while on, no stream ends by itself

  // Runs streams, on a thread of its own, until end() is called.
  void work();
  void end();

 private:
  struct Run;
  void play(std::unique_lock<std::mutex>& lock, const std::shared_ptr<Run>& run);
  void stop();

  Dram& memory_;
  mutable std::mutex mutex_;  // of all that follows
  std::condition_variable changed_;
  Bytes data_;  // not taken yet, words big-endian
  bool configured_ = false, hang_ = false, ended_ = false;
  std::shared_ptr<Simulator> simulator_;      // null: no design that is known
  std::shared_ptr<CoreRegisters> registers_;  // with simulator_
  std::shared_ptr<Run> run_;                  // to be played, or being played
};

}  // namespace fettle::vta
