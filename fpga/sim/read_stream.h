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
  // Nothing: that is not known before more has arrived.
  std::size_t waiting(std::uint64_t now);
  std::optional<std::uint64_t> next_taken() const;
  // The writer begins at `may_write` at the earliest.
  void start(std::uint64_t now, const ReadJob& job, std::uint64_t may_write = 0);

  // When the next burst may be asked for, if there is one. Nothing, too: not before more has
  // arrived.
  std::optional<std::uint64_t> next_request(std::uint64_t now, const Port& port) const;
  // Asks for it: its beats.
  std::uint32_t request(std::uint64_t now);
  // The oldest burst has ended. With a job's last one: the cycle behind its last element's write.
  std::optional<std::uint64_t> arrived(const Port::Ended& burst);

 private:
  struct Job {
    std::uint64_t pad_before, pad_between, pad_behind;
    std::uint64_t from;  // the writer can begin
  };
  enum class Ends : std::uint8_t { Nothing, Row, Job };
  void take();  // the writer begins with the oldest job as soon as it may

  const Timing& timing_;
  std::optional<Bursts> bursts_;             // of the newest job
  std::uint64_t asked_from_ = 0;             // the next burst may be asked for
  std::deque<Job> jobs_;                     // of which not all has arrived; the oldest is taken
  std::deque<Ends> asked_;                   // of bursts under way: what ends with them
  std::uint64_t writer_ = 0;                 // the cycle from which on the writer is free
  std::deque<std::uint64_t> writer_starts_;  // with jobs, as far as known
  struct Held {
    std::uint64_t until;
    std::uint32_t beats;
  };
  std::deque<Held> held_;         // of the buffer: bursts that have arrived
  std::uint32_t held_beats_ = 0;  // with those under way
};

}  // namespace fettle::vta
