// The memory port in time: the bursts under way, and when each has all its beats.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "fpga/sim/timing.h"

namespace fettle::vta {

// Times are cycles. Calls come in the order of their times, and what has ended by then was told
// before. Where both directions share the beats and both have some, they take turns: when a burst
// ends is not known before it has.
class Port {
 public:
  explicit Port(const Timing& timing) : timing_(timing) {}

  // The first cycle from `now` on in which another burst may be asked for: one a cycle, so many
  // under way, and one whose address waits for that. Nothing: not before one of them has ended.
  std::optional<std::uint64_t> next_read(std::uint64_t now) const;
  // Asks for a burst in cycle `now`, which next_read() allows. The port answers in order. The end
  // of each `part` beats of it is told.
  void read(std::uint64_t now, std::uint32_t beats, std::uint8_t reader, std::uint32_t part);
  // The first cycle from `now` on in which a burst may be written: one at a time, and so many not
  // yet answered.
  std::uint64_t next_write(std::uint64_t now) const;
  void write(std::uint64_t now, std::uint32_t beats);

  // When the next one ends, if no other burst comes meanwhile.
  std::optional<std::uint64_t> next_end() const;
  struct Ended {
    bool written = false;
    std::uint8_t reader = 0;
    std::uint32_t beats = 0;
    std::uint64_t first = 0, end = 0;  // the cycle of its first beat, the one behind its last
    std::uint64_t answered = 0;        // of one that was written
  };
  Ended end();  // that one

  std::uint64_t read_beats() const { return read_beats_; }
  std::uint64_t written_beats() const { return written_beats_; }

 private:
  struct Burst {
    std::uint64_t from = 0;  // its first beat can come
    std::uint32_t beats = 0, left = 0;
    std::uint64_t first = 0;
    std::uint8_t reader = 0;
    bool last = false;  // part of a burst that was asked for
    bool due(std::uint64_t time) const { return left > 0 && from <= time; }
  };
  // The beats of the oldest burst of each direction, up to cycle `time`.
  struct Beats {
    Burst read, write;
    std::uint64_t time = 0;
    bool read_last = false;                          // the cycle before had a beat that was read
    void advance(std::uint64_t until, bool shared);  // or until one of them ends
    bool ended() const { return (read.beats && !read.left) || (write.beats && !write.left); }
  };
  void advance(std::uint64_t now) { beats_.advance(now, timing_.shared_beat); }

  Timing timing_;
  Beats beats_;
  std::deque<Burst> reads_;            // behind the oldest
  std::uint32_t under_way_ = 0;        // bursts that are read, with the one that waits
  std::uint64_t waiting_from_ = 0;     // the earliest first beat of that one
  std::deque<std::uint64_t> answers_;  // of the last bursts that were written
  std::uint64_t next_request_ = 0;
  std::uint64_t read_beats_ = 0, written_beats_ = 0;
};

}  // namespace fettle::vta
