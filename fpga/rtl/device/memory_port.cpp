// A memory behind a 64-bit AXI port (memory_port.h).
#include "fpga/rtl/device/memory_port.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace fettle::vta {

namespace {
constexpr std::uint8_t kDecodeError = 3;
}  // namespace

MemoryPort::MemoryPort(const Timing& timing, std::span<std::byte> dram, std::uint64_t base,
                       std::uint32_t disorder)
    : timing_(timing), disorder_(disorder), dram_(dram), base_(base), random_(disorder) {
  to_core_.arready = to_core_.awready = to_core_.wready = true;
}

// True always without disorder.
bool MemoryPort::chance(std::uint32_t percent) {
  return disorder_ == 0 || random_() % 100 < percent;
}

std::byte* MemoryPort::find(std::uint64_t address, const char* what) {
  if (address >= base_ && address - base_ + kBeatBytes <= dram_.size()) {
    return dram_.data() + (address - base_);
  }
  if (wrong_access_.empty()) {
    char text[64];
    std::snprintf(text, sizeof text, "%s at 0x%llx", what,
                  static_cast<unsigned long long>(address));
    wrong_access_ = text;
  }
  return nullptr;
}

// Puts the next beat onto the read channel, if one is due.
void MemoryPort::choose_read() {
  if (!chance(75)) return;
  // In order within an ID; across IDs, too, unless there is to be disorder.
  std::array<bool, kIds> seen = {};
  std::vector<std::size_t> due;
  for (std::size_t i = 0; i < reads_.size(); ++i) {
    if (seen[reads_[i].id]) continue;
    seen[reads_[i].id] = true;
    if (reads_[i].ready_at <= now_) due.push_back(i);
    if (disorder_ == 0) break;
  }
  if (due.empty()) return;
  const std::size_t at = due[disorder_ == 0 ? 0 : random_() % due.size()];
  Read& read = reads_[at];
  const std::byte* data = find(read.address, "a read");
  to_core_.rvalid = true;
  to_core_.rid = read.id;
  to_core_.rresp = data ? 0 : kDecodeError;
  to_core_.rdata = 0;
  if (data) std::memcpy(&to_core_.rdata, data, kBeatBytes);
  to_core_.rlast = read.beats_left == 1;
  read.address += kBeatBytes;
  if (--read.beats_left == 0) reads_.erase(reads_.begin() + static_cast<std::ptrdiff_t>(at));
  ++read_beats_;
}

void MemoryPort::clock(const FromCore& core) {
  ++now_;
  if (core.arvalid && to_core_.arready) {
    reads_.push_back({core.araddr, core.arlen + 1u, now_ + timing_.read_latency, core.arid});
  }
  if (core.awvalid && to_core_.awready) writes_.push_back({core.awaddr, core.awlen + 1u, 0, false});
  if (core.wvalid && to_core_.wready) {
    const auto write = std::find_if(writes_.begin(), writes_.end(),
                                    [](const Write& one) { return one.beats_left > 0; });
    if (std::byte* place = find(write->address, "a write")) {
      std::memcpy(place, &core.wdata, kBeatBytes);
    } else {
      write->failed = true;
    }
    write->address += kBeatBytes;
    if (--write->beats_left == 0) write->answer_at = now_ + timing_.write_latency;
    ++written_beats_;
  }
  if (to_core_.bvalid && core.bready) {
    to_core_.bvalid = false;
    writes_.pop_front();
  }

  // Data wait for their address. Where the directions share beats, they take turns.
  const bool wanted = std::any_of(writes_.begin(), writes_.end(),
                                  [](const Write& one) { return one.beats_left > 0; });
  const bool was_read = to_core_.rvalid;
  const bool write_next = timing_.shared_beat && was_read && wanted && core.wvalid;
  if (!to_core_.rvalid || core.rready) {
    to_core_.rvalid = false;
    if (!write_next) choose_read();
  }
  const bool beat_free = !timing_.shared_beat || !to_core_.rvalid;
  to_core_.wready = wanted && beat_free && chance(70);
  if (!to_core_.bvalid && !writes_.empty() && writes_.front().beats_left == 0 &&
      writes_.front().answer_at <= now_ && chance(50)) {
    to_core_.bvalid = true;
    to_core_.bresp = writes_.front().failed ? kDecodeError : 0;
  }
  to_core_.arready = reads_.size() < timing_.outstanding_reads && chance(60);
  to_core_.awready = writes_.size() < timing_.outstanding_writes && chance(60);
}

}  // namespace fettle::vta
