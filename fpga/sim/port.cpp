// The port's beats in time (port.h).
#include "fpga/sim/port.h"

#include <algorithm>
#include <limits>

namespace fettle::vta {

// From a request to the address behind the port: the arbiter's and the port's register.
constexpr std::uint64_t kRequestCycles = 2;
constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

void Port::Beats::advance(std::uint64_t until, bool shared) {
  const auto take = [this](Burst& burst, std::uint64_t count) {
    if (burst.left == burst.beats) burst.first = time;
    burst.left -= static_cast<std::uint32_t>(count);
  };
  while (time < until && !ended()) {
    const bool reads = read.due(time), writes = write.due(time);
    const auto begins = [&](const Burst& burst) {
      return burst.left > 0 && burst.from > time ? burst.from : kNever;
    };
    if (!reads && !writes) {
      time = std::min({until, begins(read), begins(write)});
      read_last = false;
      continue;
    }
    if (reads && writes) {
      const bool both = !shared;
      const bool now_read = both || !read_last;
      if (now_read) take(read, 1);
      if (both || !now_read) take(write, 1);
      read_last = now_read;
      ++time;
      continue;
    }
    // One direction alone, until the other has a beat, too.
    Burst& burst = reads ? read : write;
    const std::uint64_t end = std::min(until, begins(reads ? write : read));
    const std::uint64_t count = std::min<std::uint64_t>(burst.left, end - time);
    take(burst, count);
    read_last = reads;
    time += count;
  }
}

std::optional<std::uint64_t> Port::next_read(std::uint64_t now) const {
  if (under_way_ > timing_.outstanding_reads) return std::nullopt;
  return std::max(now, next_request_);
}

void Port::read(std::uint64_t now, std::uint32_t beats, std::uint8_t reader, std::uint32_t part) {
  advance(now);
  read_beats_ += beats;
  next_request_ = now + 1;
  const std::uint64_t from = now + kRequestCycles + timing_.read_latency;
  const bool waits = ++under_way_ > timing_.outstanding_reads;
  waiting_from_ = from;
  while (beats > 0) {
    const std::uint32_t some = std::min(part, beats);
    beats -= some;
    reads_.push_back({waits ? kNever : from, some, some, 0, reader, beats == 0});
  }
  if (beats_.read.beats == 0) {
    beats_.read = reads_.front();
    reads_.pop_front();
  }
}

std::uint64_t Port::next_write(std::uint64_t now) const {
  const std::size_t most = timing_.outstanding_writes;
  return answers_.size() < most ? now : std::max(now, answers_[answers_.size() - most]);
}

void Port::write(std::uint64_t now, std::uint32_t beats) {
  advance(now);
  written_beats_ += beats;
  beats_.write = {now, beats, beats};
}

std::optional<std::uint64_t> Port::next_end() const {
  if (beats_.read.beats == 0 && beats_.write.beats == 0) return std::nullopt;
  Beats then = beats_;
  then.advance(kNever, timing_.shared_beat);
  return then.time;
}

Port::Ended Port::end() {
  advance(kNever);
  Ended ended;
  const bool written = beats_.write.beats > 0 && beats_.write.left == 0;
  Burst& burst = written ? beats_.write : beats_.read;
  ended.written = written;
  ended.reader = burst.reader;
  ended.beats = burst.beats;
  ended.first = burst.first;
  ended.end = beats_.time;
  if (written) {
    ended.answered = ended.end + timing_.write_latency;
    answers_.push_back(ended.answered);
    if (answers_.size() > timing_.outstanding_writes) answers_.pop_front();
    burst = {};
    return ended;
  }
  if (burst.last && --under_way_ == timing_.outstanding_reads) {
    // The one whose address waits at the port is taken.
    for (Burst& each : reads_) {
      if (each.from != kNever) continue;
      each.from = std::max(waiting_from_, ended.end + timing_.read_latency);
    }
  }
  burst = {};
  if (!reads_.empty()) {
    burst = reads_.front();
    reads_.pop_front();
  }
  return ended;
}

}  // namespace fettle::vta
