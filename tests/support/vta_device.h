// Runs a Program for VTA on the simulator, in this process: what a device does with it, without
// one.
#pragma once

#include "fpga/isa/determined.h"
#include "fpga/sim/simulator.h"
#include "schemas/program_generated.h"

namespace fettle::testing {

// A program in memory: buffers placed and filled, its one stream with addresses.
class VtaMemory {
 public:
  // Aborts where the program is none for VTA: that is the test's mistake.
  VtaMemory(const vta::Design& design, const wire::ProgramT& program);
  VtaMemory(const VtaMemory&) = delete;

  Result<vta::StreamFacts> verify() const;
  Result<void> check_determined() const;
  Result<vta::SimulatedRun> run();
  ByteView buffer(const std::string& name) const;

  // For tests that change it.
  std::vector<vta::Word> words;

 private:
  std::vector<vta::Region> regions() const;
  std::size_t index_of(const std::string& name) const;

  const vta::Design& design_;
  const wire::ProgramT& program_;
  std::vector<std::uint64_t> places_;  // of buffers in image_
  Bytes image_;
};

}  // namespace fettle::testing
