// The port's beats in time (port.h).
#include "fpga/sim/port.h"

#include <algorithm>

namespace fettle::vta {

// From a request to the address on the bus: the arbiter's and the port's register.
constexpr std::uint64_t kRequestCycles = 2;

std::uint64_t Port::next_read(std::uint64_t now) const {
  std::uint64_t at = std::max(now, next_request_);
  if (reads_.size() >= timing_.outstanding_reads) {
    at = std::max(at, reads_[reads_.size() - timing_.outstanding_reads]);
  }
  return at;
}

Port::Burst Port::take(std::uint64_t now, std::uint64_t from, std::uint32_t beats) {
  while (!taken_.empty() && taken_.front().end <= now) taken_.pop_front();
  Burst burst{0, 0};
  std::size_t i = 0;
  while (beats > 0) {
    while (i < taken_.size() && taken_[i].end <= from) ++i;
    if (i < taken_.size() && taken_[i].first <= from) {
      from = taken_[i].end;
      continue;
    }
    const std::uint64_t gap = i < taken_.size() ? taken_[i].first - from : beats;
    const std::uint64_t count = std::min<std::uint64_t>(gap, beats);
    if (burst.end == 0) burst.first = from;
    // Joined to its neighbours where they touch, so that the list stays short.
    if (i > 0 && taken_[i - 1].end == from) {
      taken_[i - 1].end += count;
    } else {
      taken_.insert(taken_.begin() + static_cast<std::ptrdiff_t>(i), {from, from + count});
      ++i;
    }
    if (i < taken_.size() && taken_[i - 1].end == taken_[i].first) {
      taken_[i - 1].end = taken_[i].end;
      taken_.erase(taken_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    from += count;
    beats -= static_cast<std::uint32_t>(count);
    burst.end = from;
    i = 0;
  }
  return burst;
}

Port::Burst Port::read(std::uint64_t now, std::uint32_t beats) {
  read_beats_ += beats;
  next_request_ = now + 1;
  const std::uint64_t from = std::max(now + kRequestCycles + timing_.read_latency, last_read_end_);
  const Burst burst = timing_.shared_beat ? take(now, from, beats) : Burst{from, from + beats};
  last_read_end_ = burst.end;
  reads_.push_back(burst.end);
  if (reads_.size() > timing_.outstanding_reads) reads_.pop_front();
  return burst;
}

Port::Burst Port::write(std::uint64_t now, std::uint32_t beats, std::uint64_t* answered) {
  written_beats_ += beats;
  std::uint64_t from = std::max(now, write_free_);
  if (writes_.size() >= timing_.outstanding_writes) {
    from = std::max(from, writes_[writes_.size() - timing_.outstanding_writes]);
  }
  const Burst burst = timing_.shared_beat ? take(now, from, beats) : Burst{from, from + beats};
  write_free_ = burst.end;
  *answered = burst.end + timing_.write_latency;
  writes_.push_back(*answered);
  if (writes_.size() > timing_.outstanding_writes) writes_.pop_front();
  return burst;
}

}  // namespace fettle::vta
