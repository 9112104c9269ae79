// A unit's reads in time: bursts that are asked for, a buffer for what is under way, and the writer
// that takes it from there into an on-chip memory, padding in between.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "fpga/sim/bursts.h"
#include "fpga/sim/port.h"

namespace fettle::vta {

// Rows of DRAM, and cycles of padding: before the first, between two, behind the last.
struct ReadJob {
  Rows rows;
  std::uint64_t pad_before = 0, pad_between = 0, pad_behind = 0;
};

class ReadStream {
 public:
  explicit ReadStream(const Timing& timing) : timing_(timing) {}

  // Whether the next job may be given: everything of the one before has been asked for.
  bool ready() const { return !bursts_; }
  // Jobs whose data the writer does not take yet at `now`, and when it begins with the next.
  std::size_t waiting(std::uint64_t now);
  std::uint64_t next_taken() const { return writer_starts_.front(); }  // where some wait
  // The writer begins at `may_write` at the earliest.
  void start(std::uint64_t now, const ReadJob& job, std::uint64_t may_write = 0);

  // When the next burst may be asked for, if there is one.
  std::optional<std::uint64_t> next_request(std::uint64_t now, const Port& port) const;
  // Asks for it. With a job's last burst: the cycle behind its last element's write.
  std::optional<std::uint64_t> request(std::uint64_t now, Port& port);

 private:
  const Timing& timing_;
  std::optional<Bursts> bursts_;  // of the job at hand
  ReadJob job_;
  std::uint64_t asked_from_ = 0;  // the next burst may be asked for
  std::uint64_t writer_ = 0;      // the cycle from which on the writer is free
  std::deque<std::uint64_t> writer_starts_;
  struct Held {
    std::uint64_t until;
    std::uint32_t beats;
  };
  std::deque<Held> held_;  // of the buffer
  std::uint32_t held_beats_ = 0;
};

}  // namespace fettle::vta
