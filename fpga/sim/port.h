// The memory port in time: when a burst that is asked for now has all its beats.
#pragma once

#include <cstdint>
#include <deque>

#include "fpga/sim/timing.h"

namespace fettle::vta {

// Times are cycles. Calls come in the order of their times.
class Port {
 public:
  explicit Port(const Timing& timing) : timing_(timing) {}

  // The first cycle from `now` on in which another burst may be asked for: one a cycle, and so many
  // under way.
  std::uint64_t next_read(std::uint64_t now) const;

  struct Burst {
    std::uint64_t first, end;  // the cycle of its first beat, the one behind its last
  };
  // Asks for a burst in cycle `now`, which next_read() allows. The port answers in order.
  Burst read(std::uint64_t now, std::uint32_t beats);
  // A burst of data that is ready in cycle `now`; the writer waits for its end before the next.
  // `answered` comes after it.
  Burst write(std::uint64_t now, std::uint32_t beats, std::uint64_t* answered);

  std::uint64_t read_beats() const { return read_beats_; }
  std::uint64_t written_beats() const { return written_beats_; }

 private:
  // Takes the first free cycles from `from` on.
  Burst take(std::uint64_t now, std::uint64_t from, std::uint32_t beats);

  Timing timing_;
  std::deque<Burst> taken_;                   // cycles in which there is a beat, ascending
  std::deque<std::uint64_t> reads_, writes_;  // ends of those that may be under way
  std::uint64_t last_read_end_ = 0, next_request_ = 0, write_free_ = 0;
  std::uint64_t read_beats_ = 0, written_beats_ = 0;
};

}  // namespace fettle::vta
