// The emulated programmable logic as a library for QEMU (fettle_pl_calls.h).
#include "fpga/qemu/emulated_pl.h"
#include "fpga/qemu/fettle_pl_calls.h"

namespace {

class BusMemory final : public fettle::vta::Dram {
 public:
  explicit BusMemory(const FettlePlBus& bus) : bus_(bus) {}
  bool read(std::uint64_t address, std::span<std::uint8_t> to) override {
    return bus_.read(bus_.opaque, address, to.data(), to.size());
  }
  bool write(std::uint64_t address, std::span<const std::uint8_t> from) override {
    return bus_.write(bus_.opaque, address, from.data(), from.size());
  }

 private:
  FettlePlBus bus_;
};

}  // namespace

struct FettlePl {
  explicit FettlePl(const FettlePlBus& bus) : memory(bus), pl(memory) {}
  BusMemory memory;
  fettle::vta::EmulatedPl pl;
};

extern "C" __attribute__((visibility("default"))) const FettlePlCalls* fettle_pl_calls(
    uint32_t interface_version) {
  static constexpr FettlePlCalls calls = {
      .create = [](const FettlePlBus* bus) { return new FettlePl(*bus); },
      .work = [](FettlePl* pl) { pl->pl.work(); },
      .erase = [](FettlePl* pl) { pl->pl.erase(); },
      .configure =
          [](FettlePl* pl, const void* words, uint64_t bytes) {
            pl->pl.configure({static_cast<const std::uint8_t*>(words), bytes});
          },
      .configured = [](FettlePl* pl) { return pl->pl.configured(); },
      .read = [](FettlePl* pl, uint32_t offset) { return pl->pl.read(offset); },
      .write = [](FettlePl* pl, uint32_t offset, uint32_t value) { pl->pl.write(offset, value); },
      .reset = [](FettlePl* pl) { pl->pl.reset(); },
      .hang = [](FettlePl* pl, bool on) { pl->pl.hang(on); },
  };
  return interface_version == FETTLE_PL_INTERFACE ? &calls : nullptr;
}
