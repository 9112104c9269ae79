// The simulator as an accelerator (simulated_accelerator.h).
#include "runtime/vta/simulated_accelerator.h"

#include "fpga/sim/simulator.h"
#include "runtime/vta/mapped_memory.h"

namespace fettle::runtime {
namespace {

class SimulatedAccelerator final : public Accelerator {
 public:
  SimulatedAccelerator(vta::Simulator simulator, MappedMemory memory)
      : simulator_(std::move(simulator)),
        memory_(std::move(memory)),
        dram_(memory_.contiguous().address, memory_.contiguous().bytes) {}

  const vta::Design& design() const override { return simulator_.design(); }
  const ContiguousMemory& memory() const override { return memory_.contiguous(); }
  bool exact() const override { return true; }
  Result<std::uint64_t> run(std::uint64_t address, std::uint32_t count,
                            std::uint64_t limit) override {
    const auto ran = simulator_.run(dram_, address, count, limit);
    if (!ran) return ran.error();
    return ran->cycles;
  }

 private:
  vta::Simulator simulator_;
  MappedMemory memory_;
  vta::DramImage dram_;
};

}  // namespace

Result<std::unique_ptr<Accelerator>> make_simulated_accelerator(const vta::Design& design,
                                                                std::uint64_t memory_bytes) {
  auto simulator = vta::Simulator::create(design);
  if (!simulator) return std::move(simulator).error();
  auto memory = MappedMemory::make(memory_bytes);
  if (!memory) return std::move(memory).error();
  return std::unique_ptr<Accelerator>(
      new SimulatedAccelerator(std::move(*simulator), std::move(*memory)));
}

}  // namespace fettle::runtime
