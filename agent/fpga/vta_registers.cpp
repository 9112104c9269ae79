// Starting, waiting and asking (vta_registers.h).
#include "agent/fpga/vta_registers.h"

#include <sched.h>
#include <time.h>
#include <array>
#include <cstdio>
#include <cstring>

#include "schemas/wire/content_hash.h"

namespace fettle::agent {
namespace {

constexpr std::uint64_t kMicrosecond = 1'000, kMillisecond = 1'000'000;
constexpr std::uint64_t kWatchEvery = 10 * kMillisecond;  // looking takes some 50 us
constexpr std::uint64_t kStopLimit = 100 * kMillisecond;  // a stop waits for the bus to be quiet
constexpr std::uint64_t kShortest = 30 * kMicrosecond;  // no sleep before: most streams are longer
constexpr std::uint64_t kStaleDone = 5 * kMicrosecond;  // TVM's driver for the Pynq waits 1

std::uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

void nap(std::uint64_t nanoseconds) {
  const timespec time{0, static_cast<long>(nanoseconds)};
  nanosleep(&time, nullptr);
}

std::string hex(std::uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", value);
  return text;
}

// Between this processor's memory and a device: what orders threads alone is too weak for that on
// Arm.
void device_barrier() {
#if defined(__arm__) || defined(__aarch64__)
  asm volatile("dsb sy" ::: "memory");
#else
  asm volatile("mfence" ::: "memory");
#endif
}

}  // namespace

VtaRegisters::VtaRegisters(const vta::Design& design, std::unique_ptr<Registers> registers)
    : design_(design), map_(vta::register_map(design.core)), registers_(std::move(registers)) {}

Result<void> VtaRegisters::identify() const {
  if (map_.identification && !holds(*map_.identification)) {
    return Error{ErrorCode::WrongConfiguration,
                 "the programmed logic is no core of fettle's: its register " +
                     hex(map_.identification->offset) + " reads " +
                     hex(registers_->read(map_.identification->offset))};
  }
  if (!map_.identity) return {};
  std::array<std::uint8_t, sizeof(wire::Hash)> bytes;
  for (std::uint32_t i = 0; i < bytes.size(); ++i) {
    bytes[i] =
        static_cast<std::uint8_t>(registers_->read(*map_.identity + i / 4 * 4) >> 8 * (i % 4));
  }
  wire::Hash found;
  std::memcpy(&found, bytes.data(), bytes.size());
  const std::string identity = to_hex(found);
  std::string name = "another design";
  for (const vta::Design& known : vta::designs()) {
    if (to_hex(known.identity()) == identity) name = "the design " + known.name;
  }
  return vta::check_identity(design_, name, identity);
}

Result<std::uint64_t> VtaRegisters::run(std::uint32_t address, std::uint32_t count,
                                        std::uint64_t limit, const Watch& watch) {
  // What another process wrote into the memory is there before the core is told of it.
  device_barrier();
  const std::uint64_t begun = now_ns();
  for (const vta::RegisterWrite& write : map_.launch) {
    registers_->write(write.offset, vta::register_value(write.value, count, address));
  }
  // A stale done is cleared by the stream's first instruction, which the core has to fetch first.
  while (map_.done_is_stale && now_ns() - begun < kStaleDone) {
  }
  if (auto ended = wait(limit, watch); !ended) return std::move(ended).error();
  const std::uint64_t took = now_ns() - begun;
  device_barrier();
  if (auto fine = check_health(); !fine) return std::move(fine).error();
  return map_.cycles_low ? cycles() : took;
}

Result<void> VtaRegisters::check_health() const {
  if (!map_.healthy || holds(*map_.healthy)) return {};
  return Error{ErrorCode::Internal, "the accelerator met an error: its register " +
                                        hex(map_.healthy->offset) + " reads " +
                                        hex(registers_->read(map_.healthy->offset))};
}

Result<void> VtaRegisters::wait(std::uint64_t limit, const Watch& watch) {
  const std::uint64_t begun = now_ns();
  const std::uint64_t limit_ns = limit / design_.clock_khz * 1'000'000;
  for (std::uint64_t watched = begun;;) {
    if (holds(map_.done)) return {};
    const std::uint64_t now = now_ns();
    if (now - watched >= kWatchEvery) {
      watched = now;
      if (auto fine = watch(); !fine) return fine;
      if (map_.identification && !holds(*map_.identification)) {
        return Error{ErrorCode::DeviceLost,
                     "the programmable logic lost its configuration while a stream ran"};
      }
      if (auto fine = check_health(); !fine) return fine;
      // Neither at it nor done: looked at twice, since it may have ended in between.
      if (map_.stopped && holds(*map_.stopped) && !holds(map_.done)) {
        return Error{ErrorCode::DeviceLost, "the accelerator was reset while a stream ran"};
      }
    }
    if (now - begun > limit_ns) {
      return Error{ErrorCode::RunTimeout, "the accelerator was not done after " +
                                              std::to_string(limit_ns / kMillisecond) + " ms"};
    }
    // A core that counts its cycles is timed by itself: the CPU may rest.
    if (map_.cycles_low && now - begun > kShortest) {
      nap(50 * kMicrosecond);
    } else {
      sched_yield();
    }
  }
}

Result<std::uint64_t> VtaRegisters::cycles() const {
  const std::uint64_t low = registers_->read(*map_.cycles_low);
  return low | std::uint64_t{registers_->read(*map_.cycles_high)} << 32;
}

bool VtaRegisters::stop() {
  if (!map_.stop || !map_.stopped) return false;
  registers_->write(map_.stop->first, map_.stop->second);
  for (const std::uint64_t begun = now_ns(); !holds(*map_.stopped); nap(kMicrosecond)) {
    if (now_ns() - begun > kStopLimit) return false;
  }
  return true;
}

}  // namespace fettle::agent
