// libxrt_core.so.2 for machines without a card: what XRT's libxrt_coreutil loads as a device's
// driver, with our core as its one kernel, played by fpga/sim. The functions are those of XRT's
// xrt.h ("HAL"); the objects between them and libxrt_coreutil are those of Debian's libxrt_hwemu.a,
// for which HwEmuShim stands here. A buffer's host side and its device side are different bytes:
// what is not synchronised is not there.
#include <ert.h>
#include <xrt.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <thread>

#include "fpga/config/register_map.h"
#include "fpga/sim/simulator.h"
#include "fpga/xrt/kernel.h"
#include "tests/support/xrt_shim.h"

namespace xrt_core {
namespace query {
enum class key_type;
}
// Of libxrt_coreutil; only what is called.
class device {
 public:
  void register_axlf(const axlf* file);
};
std::shared_ptr<device> get_userpf_device(void* handle, unsigned index);
}  // namespace xrt_core

namespace xclhwemhal2 {
struct HwEmShim {
  static HwEmShim* handleCheck(void* handle);
  unsigned deviceQuery(xrt_core::query::key_type key);
};
HwEmShim* HwEmShim::handleCheck(void*) { return nullptr; }
unsigned HwEmShim::deviceQuery(xrt_core::query::key_type) { return 0; }
}  // namespace xclhwemhal2

namespace {

using namespace fettle;
using test::kXrtShimMemory;

struct Buffer {
  std::unique_ptr<std::uint8_t[]> own;  // host memory where the caller brings none
  std::uint8_t* host = nullptr;
  Bytes device;
  std::uint64_t address = 0;
  unsigned flags = 0;
};

struct Card {
  std::shared_ptr<xrt_core::device> core;
  std::map<unsigned, Buffer> buffers;
  unsigned next = 1;
  std::uint64_t free = kXrtShimMemory;
  std::optional<vta::Simulator> simulator;
  ert_start_kernel_cmd* running = nullptr;
  std::uint32_t instructions = 0;  // of the run
  std::uint64_t cycles = 0;
  std::uint32_t errors = 0;
};

bool told(const char* what) {
  const char* set = std::getenv("FETTLE_XRT_SHIM");
  return set && std::strcmp(set, what) == 0;
}

Card& card(xclDeviceHandle handle) { return *static_cast<Card*>(handle); }

xclBufferHandle allocate(Card& card, std::uint8_t* host, std::size_t bytes, unsigned flags) {
  if (told("small") && bytes > (1u << 20)) return XRT_NULL_BO;
  Buffer& buffer = card.buffers[card.next];
  if (!host) buffer.own = std::make_unique<std::uint8_t[]>(bytes);
  buffer.host = host ? host : buffer.own.get();
  buffer.device.resize(bytes, 0xee);
  buffer.flags = flags;
  buffer.address = card.free;
  if (told("across") && bytes > (1u << 20)) buffer.address += (std::uint64_t{1} << 32) - 4096;
  card.free = buffer.address + (bytes + 4095) / 4096 * 4096;
  return card.next++;
}

template <typename T>
T argument(const ert_start_kernel_cmd& command, vta::XrtArgument which) {
  T value;
  std::memcpy(&value, reinterpret_cast<const char*>(command.data) + vta::kXrtArgumentOffsets[which],
              sizeof value);
  return value;
}

void end(Card& card, ert_cmd_state state) {
  card.running->state = state;
  card.running = nullptr;
}

// As the kernel: the core says the lower half of addresses, the argument the upper one.
void run(Card& card) {
  const auto memory = argument<std::uint64_t>(*card.running, vta::kXrtMemory);
  card.errors = 1;
  for (auto& [handle, buffer] : card.buffers) {
    if (memory < buffer.address || memory - buffer.address >= buffer.device.size()) continue;
    vta::DramImage dram(buffer.address & 0xffffffff, buffer.device);
    const auto ran = card.simulator->run(
        dram, argument<std::uint32_t>(*card.running, vta::kXrtInstructionAddress),
        card.instructions);
    if (!ran) {
      std::fprintf(stderr, "xrt_shim: %s\n", ran.error().text().c_str());
      break;
    }
    card.cycles = ran->cycles;
    card.errors = card.instructions == test::kXrtShimBusError ? 2 : 0;
  }
  end(card, ERT_CMD_STATE_COMPLETED);
}

std::uint32_t core_register(const Card& card, std::uint32_t offset) {
  const vta::Design& design = card.simulator->design();
  const vta::RegisterMap& map = vta::register_map(design.core);
  if (offset == *map.cycles_low) return static_cast<std::uint32_t>(card.cycles);
  if (offset == *map.cycles_high) return static_cast<std::uint32_t>(card.cycles >> 32);
  if (offset == map.healthy->offset) return card.errors;
  if (offset == map.identification->offset) return map.identification->value;
  if (offset < *map.identity || offset >= *map.identity + 32) return 0;
  std::uint32_t value;
  const wire::Hash identity = design.identity();
  std::memcpy(&value, identity.bytes()->data() + (offset - *map.identity), sizeof value);
  return told("identity") ? ~value : value;
}

}  // namespace

extern "C" {

unsigned xclProbe() { return 1; }
xclDeviceHandle xclOpen(unsigned index, const char*, xclVerbosityLevel) {
  if (index > 0 || told("none")) return nullptr;
  auto made = std::make_unique<Card>();
  made->core = xrt_core::get_userpf_device(made.get(), index);
  return made.release();
}
void xclClose(xclDeviceHandle handle) { delete &card(handle); }
int xclLoadXclBin(xclDeviceHandle handle, const xclBin* file) {
  if (told("shell")) return -EINVAL;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(file);
  const auto kernel =
      vta::read_xrt_kernel({bytes, static_cast<std::size_t>(file->m_header.m_length)});
  if (!kernel) return -EINVAL;
  auto simulator = vta::Simulator::create(kernel->design);
  if (!simulator) return -EINVAL;
  card(handle).simulator.emplace(std::move(*simulator));
  card(handle).core->register_axlf(file);
  return 0;
}
int xclOpenContext(xclDeviceHandle, const xuid_t, unsigned, bool) { return 0; }
int xclCloseContext(xclDeviceHandle, const xuid_t, unsigned) { return 0; }

xclBufferHandle xclAllocBO(xclDeviceHandle handle, std::size_t bytes, int, unsigned flags) {
  return allocate(card(handle), nullptr, bytes, flags);
}
xclBufferHandle xclAllocUserPtrBO(xclDeviceHandle handle, void* host, std::size_t bytes,
                                  unsigned flags) {
  return allocate(card(handle), static_cast<std::uint8_t*>(host), bytes, flags);
}
void xclFreeBO(xclDeviceHandle handle, xclBufferHandle buffer) {
  card(handle).buffers.erase(buffer);
}
void* xclMapBO(xclDeviceHandle handle, xclBufferHandle buffer, bool) {
  return card(handle).buffers.at(buffer).host;
}
int xclUnmapBO(xclDeviceHandle, xclBufferHandle, void*) { return 0; }
int xclSyncBO(xclDeviceHandle handle, xclBufferHandle which, xclBOSyncDirection direction,
              std::size_t bytes, std::size_t offset) {
  Buffer& buffer = card(handle).buffers.at(which);
  if (offset + bytes > buffer.device.size()) return -EINVAL;
  std::uint8_t *host = buffer.host + offset, *device = buffer.device.data() + offset;
  const bool there = direction == XCL_BO_SYNC_BO_TO_DEVICE;
  std::memcpy(there ? device : host, there ? host : device, bytes);
  return 0;
}
int xclGetBOProperties(xclDeviceHandle handle, xclBufferHandle which, xclBOProperties* properties) {
  const Buffer& buffer = card(handle).buffers.at(which);
  *properties = {};
  properties->handle = which;
  properties->flags = buffer.flags;
  properties->size = buffer.device.size();
  properties->paddr = buffer.address;
  return 0;
}

int xclExecBuf(xclDeviceHandle handle, xclBufferHandle command) {
  Card& on = card(handle);
  on.running = reinterpret_cast<ert_start_kernel_cmd*>(on.buffers.at(command).host);
  on.running->state = ERT_CMD_STATE_RUNNING;
  on.instructions = argument<std::uint32_t>(*on.running, vta::kXrtInstructionCount);
  if (on.instructions == test::kXrtShimEndless || on.instructions == test::kXrtShimStuck) return 0;
  if (on.instructions == test::kXrtShimRefused) return end(on, ERT_CMD_STATE_ERROR), 0;
  run(on);
  return 0;
}
int xclExecWait(xclDeviceHandle handle, int milliseconds) {
  if (!card(handle).running) return 1;
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  return 0;
}
int xclRegRead(xclDeviceHandle handle, std::uint32_t, std::uint32_t offset, std::uint32_t* value) {
  *value = offset < vta::kXrtCoreRegisters
               ? 0
               : core_register(card(handle), offset - vta::kXrtCoreRegisters);
  return 0;
}
int xclRegWrite(xclDeviceHandle handle, std::uint32_t, std::uint32_t offset, std::uint32_t value) {
  Card& on = card(handle);
  const auto stop = *vta::register_map(on.simulator->design().core).stop;
  const bool stops = offset == vta::kXrtCoreRegisters + stop.first && value == stop.second;
  if (stops && on.running && on.instructions != test::kXrtShimStuck) {
    end(on, ERT_CMD_STATE_COMPLETED);
  }
  return 0;
}

// Not used by libxrt_coreutil for what is tested here.
int xclCopyBO(xclDeviceHandle, xclBufferHandle, xclBufferHandle, std::size_t, std::size_t,
              std::size_t) {
  return -ENOSYS;
}
xclBufferExportHandle xclExportBO(xclDeviceHandle, xclBufferHandle) { return -ENOSYS; }
xclBufferHandle xclImportBO(xclDeviceHandle, xclBufferExportHandle, unsigned) { return -1u; }
std::size_t xclWrite(xclDeviceHandle, xclAddressSpace, std::uint64_t, const void*, std::size_t) {
  return 0;
}
std::size_t xclRead(xclDeviceHandle, xclAddressSpace, std::uint64_t, void*, std::size_t) {
  return 0;
}
ssize_t xclUnmgdPread(xclDeviceHandle, unsigned, void*, std::size_t, std::uint64_t) { return -1; }
ssize_t xclUnmgdPwrite(xclDeviceHandle, unsigned, const void*, std::size_t, std::uint64_t) {
  return -1;
}
int xclReClock2(xclDeviceHandle, unsigned short, const unsigned short*) { return -ENOSYS; }
int xclGetDeviceInfo2(xclDeviceHandle, xclDeviceInfo2*) { return -ENOSYS; }
int xclP2pEnable(xclDeviceHandle, bool, bool) { return -ENOSYS; }

}  // extern "C"

int xclCmaEnable(void*, bool, unsigned long) { return -ENOSYS; }
int xclCloseExportHandle(int) { return -ENOSYS; }
int xclInternalResetDevice(void*, xclResetKind) { return -ENOSYS; }
int xclUpdateSchedulerStat(void*) { return -ENOSYS; }
