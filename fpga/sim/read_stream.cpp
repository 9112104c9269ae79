// Bursts, buffer and writer of a unit's reads (read_stream.h).
#include "fpga/sim/read_stream.h"

#include <algorithm>

namespace fettle::vta {
namespace {

constexpr std::uint64_t kJobCycles = 2;  // from a job to its first request, and to the writer
constexpr std::uint64_t kRowCycles = 1;  // between requests of two rows

}  // namespace

std::size_t ReadStream::waiting(std::uint64_t now) {
  while (!writer_starts_.empty() && writer_starts_.front() <= now) writer_starts_.pop_front();
  return writer_starts_.size();
}

void ReadStream::start(std::uint64_t now, const ReadJob& job, std::uint64_t may_write) {
  job_ = job;
  bursts_.emplace(job.rows, timing_.burst_beats);
  asked_from_ = now + kJobCycles;
  const std::uint64_t taken = std::max({now + kJobCycles, may_write, writer_ + 1});
  writer_starts_.push_back(taken);
  writer_ = taken + job.pad_before;
}

std::optional<std::uint64_t> ReadStream::next_request(std::uint64_t now, const Port& port) const {
  if (!bursts_) return std::nullopt;
  std::uint64_t at = std::max(now, asked_from_);
  // Room comes with what the writer has taken.
  std::uint32_t held = held_beats_;
  for (std::size_t i = 0; held + bursts_->beats() > timing_.buffer_beats; ++i) {
    at = std::max(at, held_[i].until);
    held -= held_[i].beats;
  }
  return port.next_read(at);
}

std::optional<std::uint64_t> ReadStream::request(std::uint64_t now, Port& port) {
  while (!held_.empty() && held_.front().until <= now) {
    held_beats_ -= held_.front().beats;
    held_.pop_front();
  }
  const std::uint32_t beats = bursts_->beats();
  const Port::Burst burst = port.read(now, beats);
  // Data pass the buffer in a cycle; the writer takes a beat a cycle.
  writer_ = std::max(std::max(writer_, burst.first + 1) + beats, burst.end + 1);
  held_.push_back({writer_, beats});
  held_beats_ += beats;
  asked_from_ = now + 1;
  if (!bursts_->next()) return std::nullopt;
  if (!bursts_->done()) {
    asked_from_ += kRowCycles;
    writer_ += job_.pad_between;
    return std::nullopt;
  }
  bursts_.reset();
  return writer_ += job_.pad_behind;
}

}  // namespace fettle::vta
