// Tally (tally.h).
#include "host/tune/tally.h"

#include <algorithm>

#include "host/tune/outcomes.h"
#include "host/tune/roofline.h"
#include "schemas/wire/clock_domain.h"

namespace fettle::tune {

void Tally::add_resumed(std::size_t task, const records::TuningRecord& record) {
  ++progress_.resumed;
  count(task, record);
}

void Tally::add(std::size_t task, const records::TuningRecord& record, std::uint32_t attempt) {
  ++finished_;
  if (const wire::MeasurementT* measurement = record.measurement()) {
    ++succeeded_;
    if (!record.reused) certainty_.add(*measurement);
  }
  const wire::FailureT* failure = record.failure();
  const bool unbuilt = failure && builder_failed(*failure);
  const bool lost =
      unbuilt || (failure && failure->error && failure->error->code == ErrorCode::DeviceLost);
  lost_in_a_row_ = lost ? lost_in_a_row_ + 1 : 0;
  if (lost) lost_to_builders_ = unbuilt;
  if (lost) last_loss_ = from_wire(*failure->error).text();
  if (failure) {
    const std::string key = cause_of(*failure);
    ++progress_.failures[key];
    Cause& cause = causes_[key];
    ++cause.count;
    if (failure->error) cause.message = from_wire(*failure->error).text();
  }
  if (attempt > 1) ++progress_.retried;
  add_times(record);
  count(task, record);
}

void Tally::add_times(const records::TuningRecord& record) {
  const auto& times = record.outcome.times;
  if (!times) return;
  // The first request of a board waited for the session to start.
  const bool first = boards_seen_.insert(record.board_id).second;
  time_.add(*times, first);
  if (first) return;
  busy_ns_ += static_cast<double>(times->total_ns);
  gap_ns_ += static_cast<double>(times->idle_before_ns);
  if (pace_) {
    pace_->add(static_cast<double>(times->total_ns), static_cast<double>(times->idle_before_ns));
  }
  if (busy_ns_ > 0) progress_.busy_share = busy_ns_ / (busy_ns_ + gap_ns_);
}

// Progress of the task by one ended trial, of this session or an earlier one.
void Tally::count(std::size_t task, const records::TuningRecord& record) {
  TaskProgress& seen = progress_.tasks[task];
  ++progress_.trials;
  ++seen.trials;
  if (record.failure()) ++seen.failed;
  if (record.reused) ++seen.reused;
  const wire::MeasurementT* measurement = record.measurement();
  if (!measurement || measurement->censored) return;
  if (!clock_facts(measurement->clock).has_rate) {
    seen.best_instructions =
        std::min(seen.best_instructions.value_or(measurement->median), measurement->median);
    return;
  }
  const auto nanoseconds = record.rated_nanoseconds();
  if (!nanoseconds || *nanoseconds <= 0) return;
  seen.current_gflops = seen.operations / *nanoseconds;
  if (!seen.best_nanoseconds || *nanoseconds < *seen.best_nanoseconds) {
    seen.best_nanoseconds = nanoseconds;
  }
}

std::string Tally::main_cause() const {
  const auto commonest = std::max_element(
      causes_.begin(), causes_.end(),
      [](const auto& a, const auto& b) { return a.second.count < b.second.count; });
  if (commonest == causes_.end()) return "";
  return commonest->first + " (" + std::to_string(commonest->second.count) +
         "×): " + commonest->second.message;
}

}  // namespace fettle::tune
