// The two register maps (register_map.h).
#include "fpga/config/register_map.h"

namespace fettle::vta {
namespace {

using enum RegisterValue;

// fpga/rtl/README.md.
constexpr RegisterWrite kFettleLaunch[] = {
    {0x08, InstructionCount},
    {0x0c, InstructionAddress},
    {0x10, Zero},
    {0x14, Zero},
    {0x18, Zero},
    {0x1c, Zero},
    {0x20, Zero},
    {0x00, Start},
};

// Four HLS cores with a page each: fetch, load, compute, store. The order is that of TVM's driver
// for the Pynq: the last three wait for what fetch brings them.
constexpr std::uint32_t kFetch = 0x0000, kLoad = 0x1000, kCompute = 0x2000, kStore = 0x3000;
constexpr RegisterWrite kStockLaunch[] = {
    {kFetch + 0x10, InstructionCount},
    {kFetch + 0x18, InstructionAddress},
    {kLoad + 0x10, Zero},     // inputs
    {kLoad + 0x18, Zero},     // weights
    {kCompute + 0x20, Zero},  // micro-ops
    {kCompute + 0x28, Zero},  // accumulators
    {kStore + 0x10, Zero},    // outputs
    {kFetch + 0x00, Start},
    {kLoad + 0x00, StartForever},
    {kCompute + 0x00, StartForever},
    {kStore + 0x00, StartForever},
};

constexpr RegisterMap kFettle{
    .base = 0x43c00000,
    .bytes = 0x1000,
    .launch = kFettleLaunch,
    .done = {0x00, 2, 2},
    .done_is_stale = false,
    .cycles_low = 0x04,
    .cycles_high = 0x24,
    .identification = RegisterTest{0x3c, 0xffffffff, 0x46544c31},
    .identity = 0x40,
    .healthy = RegisterTest{0x28, 7, 0},
    .stopped = RegisterTest{0x00, 1, 0},
    .stop = std::pair{0x00u, 2u},
};

constexpr RegisterMap kStock{
    .base = 0x43c00000,
    .bytes = 0x4000,
    .launch = kStockLaunch,
    .done = {kCompute + 0x18, 0xffffffff, 1},
    .done_is_stale = true,
};

}  // namespace

const RegisterMap& register_map(Core core) { return core == Core::Fettle ? kFettle : kStock; }

std::uint32_t register_value(RegisterValue value, std::uint32_t instruction_count,
                             std::uint32_t instruction_address) {
  switch (value) {
    case InstructionCount:
      return instruction_count;
    case InstructionAddress:
      return instruction_address;
    case Zero:
      return 0;
    case Start:
      return 0x01;
    case StartForever:
      return 0x81;
  }
  return 0;
}

}  // namespace fettle::vta
