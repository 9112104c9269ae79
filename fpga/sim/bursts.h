// Rows of DRAM cut into the bursts that the core asks for.
#pragma once

#include <algorithm>
#include <cstdint>

#include "fpga/sim/timing.h"

namespace fettle::vta {

// None of them empty.
struct Rows {
  std::uint64_t address = 0, bytes = 0, stride = 0;  // bytes, of each row
  std::uint32_t count = 0;
};

// At most burst_beats each, none over AXI's 4 KiB boundary, each row from a new one.
class Bursts {
 public:
  Bursts(const Rows& rows, std::uint32_t burst_beats) : rows_(rows), most_(burst_beats) {
    begin_row();
  }

  bool done() const { return rows_.count == 0; }
  // Beats of the next one.
  std::uint32_t beats() const {
    return static_cast<std::uint32_t>(
        std::min({end_ - beat_, kPageBeats - beat_ % kPageBeats, std::uint64_t{most_}}));
  }
  // Goes on; true when that was the last of its row.
  bool next() {
    beat_ += beats();
    if (beat_ < end_) return false;
    --rows_.count;
    rows_.address += rows_.stride;
    begin_row();
    return true;
  }

 private:
  static constexpr std::uint64_t kPageBeats = 4096 / kBeatBytes;
  void begin_row() {
    beat_ = rows_.address / kBeatBytes;
    end_ = (rows_.address + rows_.bytes + kBeatBytes - 1) / kBeatBytes;
  }

  Rows rows_;
  std::uint32_t most_;
  std::uint64_t beat_ = 0, end_ = 0;
};

}  // namespace fettle::vta
