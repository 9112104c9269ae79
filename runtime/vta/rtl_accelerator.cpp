// The Verilated core as an accelerator (rtl_accelerator.h).
#include "runtime/vta/rtl_accelerator.h"

#include "fpga/rtl/device/rtl_core.h"
#include "runtime/vta/mapped_memory.h"

namespace fettle::runtime {
namespace {

class RtlAccelerator final : public Accelerator {
 public:
  RtlAccelerator(const vta::Design& design, vta::RtlCore core, MappedMemory memory)
      : design_(design),
        timing_(vta::timing_of(design)),
        core_(std::move(core)),
        memory_(std::move(memory)) {}

  const vta::Design& design() const override { return design_; }
  const ContiguousMemory& memory() const override { return memory_.contiguous(); }
  bool exact() const override { return true; }
  Result<std::uint64_t> run(std::uint64_t address, std::uint32_t count,
                            std::uint64_t limit) override {
    const ContiguousMemory& memory = memory_.contiguous();
    const auto ran = core_.run(std::as_writable_bytes(memory.bytes), memory.address, address, count,
                               timing_, limit);
    if (!ran) return ran.error();
    return ran->cycles;
  }

 private:
  vta::Design design_;
  vta::Timing timing_;
  vta::RtlCore core_;
  MappedMemory memory_;
};

}  // namespace

Result<std::unique_ptr<Accelerator>> make_rtl_accelerator(const vta::Design& design,
                                                          std::uint64_t memory_bytes) {
  auto core = vta::RtlCore::create(design);
  if (!core) return std::move(core).error();
  auto memory = MappedMemory::make(memory_bytes);
  if (!memory) return std::move(memory).error();
  return std::unique_ptr<Accelerator>(
      new RtlAccelerator(design, std::move(*core), std::move(*memory)));
}

}  // namespace fettle::runtime
