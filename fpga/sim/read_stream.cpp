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
  return writer_starts_.size() + (jobs_.empty() ? 0 : jobs_.size() - 1);
}

std::optional<std::uint64_t> ReadStream::next_taken() const {
  if (writer_starts_.empty()) return std::nullopt;
  return writer_starts_.front();
}

void ReadStream::start(std::uint64_t now, const ReadJob& job, std::uint64_t may_write) {
  bursts_.emplace(job.rows, timing_.burst_beats);
  asked_from_ = now + kJobCycles;
  jobs_.push_back(
      {job.pad_before, job.pad_between, job.pad_behind, std::max(now + kJobCycles, may_write)});
  if (jobs_.size() == 1) take();
}

void ReadStream::take() {
  const std::uint64_t taken = std::max(jobs_.front().from, writer_ + 1);
  writer_starts_.push_back(taken);
  writer_ = taken + jobs_.front().pad_before;
}

std::optional<std::uint64_t> ReadStream::next_request(std::uint64_t now, const Port& port) const {
  if (!bursts_) return std::nullopt;
  std::uint64_t at = std::max(now, asked_from_);
  // Room comes with what the writer has taken.
  std::uint32_t held = held_beats_;
  for (std::size_t i = 0; held + bursts_->beats() > timing_.buffer_beats; ++i) {
    if (i == held_.size()) return std::nullopt;
    at = std::max(at, held_[i].until);
    held -= held_[i].beats;
  }
  return port.next_read(at);
}

std::uint32_t ReadStream::request(std::uint64_t now) {
  while (!held_.empty() && held_.front().until <= now) {
    held_beats_ -= held_.front().beats;
    held_.pop_front();
  }
  const std::uint32_t beats = bursts_->beats();
  held_beats_ += beats;
  asked_from_ = now + 1;
  if (!bursts_->next()) {
    asked_.push_back(Ends::Nothing);
  } else if (!bursts_->done()) {
    asked_from_ += kRowCycles;
    asked_.push_back(Ends::Row);
  } else {
    bursts_.reset();
    asked_.push_back(Ends::Job);
  }
  return beats;
}

std::optional<std::uint64_t> ReadStream::arrived(const Port::Ended& burst) {
  const Ends ends = asked_.front();
  asked_.pop_front();
  // Data pass the buffer in a cycle; the writer takes a beat a cycle.
  writer_ = std::max(std::max(writer_, burst.first + 1) + burst.beats, burst.end + 1);
  held_.push_back({writer_, burst.beats});
  if (ends == Ends::Nothing) return std::nullopt;
  if (ends == Ends::Row) {
    writer_ += jobs_.front().pad_between;
    return std::nullopt;
  }
  const std::uint64_t end = writer_ += jobs_.front().pad_behind;
  jobs_.pop_front();
  if (!jobs_.empty()) take();
  return end;
}

}  // namespace fettle::vta
