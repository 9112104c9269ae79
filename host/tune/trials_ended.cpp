// Trials from a board's answer to the record, and what is learnt of them (trials.h).
#include <algorithm>
#include <chrono>
#include <utility>

#include "host/space/workload.h"
#include "host/tune/outcomes.h"
#include "host/tune/trials.h"

namespace fettle::tune {

namespace {

constexpr unsigned kMostBuiltAgain = 2;

// A build worker brought the program to the broker, which holds it no more: it was killed before it
// had written it, or had no room. No board has seen it.
bool program_lost(const wire::OutcomeT& outcome) {
  const wire::FailureT* failure = outcome.body.AsFailure();
  return failure && failure->error && failure->stage == wire::Stage::Dispatch &&
         failure->error->code == ErrorCode::MissingBlob;
}

}  // namespace

// Under another number: whoever answered the last request might only answer it again.
void Trials::build_again(const Measured& lost) {
  auto node = candidates_.extract(lost.trial);
  Candidate& candidate = node.mapped();
  const Artifacts::Settled settled =
      artifacts_[candidate.task].settle(*candidate.output->program_hash, lost.outcome);
  if (settled.next) waiting_.push_front(*settled.next);
  progress_.waiting = waiting_.size();
  candidate.output.reset();
  ++candidate.built_again;
  node.key() = next_trial_++;
  const auto place = candidates_.insert(std::move(node)).position;
  build(place->first, place->second);
}

Result<void> Trials::take_measured(Measured measured) {
  const auto found = candidates_.find(measured.trial);
  if (found == candidates_.end()) return {};
  progress_.on_boards = --on_boards_;
  Candidate& candidate = found->second;
  candidate.attempt = measured.attempt;
  const wire::FailureT* failed = measured.outcome.body.AsFailure();
  if (closed_ && failed && failed->error && failed->error->code == ErrorCode::Canceled) {
    candidates_.erase(found);
    return {};
  }
  if (!closed_ && program_lost(measured.outcome) && candidate.built_again < kMostBuiltAgain) {
    build_again(measured);
    return {};
  }
  if (!rooflines_.knows_board(measured.outcome)) {
    // A session that ends does not get to know another board.
    if (closed_) {
      candidates_.erase(found);
    } else {
      doubted_.push_back(std::move(measured));
    }
    return {};
  }
  const wire::MeasurementT* measurement = measured.outcome.body.AsMeasurement();
  if (measurement && candidate.output->facts) {
    auto failure =
        implausible(rooflines_.of(measured.outcome), *candidate.output->facts, *measurement);
    if (failure && !closed_ && rooflines_.may_rise(measured.outcome)) {
      doubted_.push_back(std::move(measured));
      return {};
    }
    if (failure) measured.outcome.body.Set(std::move(*failure));
  }
  return accept(std::move(measured));
}

Result<void> Trials::settle_doubts() {
  std::vector<Measured> doubted = std::exchange(doubted_, {}), others;
  auto asked = rooflines_.ask(doubted, others);
  if (asked) {
    progress_.peak_gflops = rooflines_.peak_gflops();
    for (TaskState& state : states_) state.least_nanoseconds = 0;  // later programs tell it anew
    // What is in doubt left the boards already; what came meanwhile leaves them now.
    on_boards_ += doubted.size();
    for (Measured& one : doubted) {
      if (auto taken = take_measured(std::move(one)); !taken) return taken;
    }
  }
  for (Measured& one : others) {
    if (auto taken = take_measured(std::move(one)); !taken) return taken;
  }
  return asked;
}

// A finished trial whose outcome is settled: recorded, for its twins too.
Result<void> Trials::accept(Measured measured) {
  const Candidate& candidate = candidates_.at(measured.trial);
  const Artifacts::Settled settled =
      artifacts_[candidate.task].settle(*candidate.output->program_hash, measured.outcome);
  if (settled.next) waiting_.push_front(*settled.next);
  wire::OutcomeT again = measured.outcome;
  again.times.reset();
  if (auto stored = finish(measured.trial, std::move(measured.outcome), false); !stored)
    return stored;
  for (std::uint64_t twin : settled.twins) {
    if (auto stored = finish(twin, again, true); !stored) return stored;
  }
  return {};
}

// Stored first: whatever happens next, a finished trial is not lost.
Result<void> Trials::finish(std::uint64_t trial, wire::OutcomeT outcome, bool reused) {
  auto node = candidates_.extract(trial);
  const Candidate& candidate = node.mapped();
  const std::size_t task = candidate.task;
  const space::Workload& workload = tasks_[task].task.workload;
  records::TuningRecord record;
  record.session = options_.session;
  record.workload = workload.canonical();
  record.workload_hash = workload.hash();
  record.title = workload.title();
  record.source = workload.source();
  record.target = target_text_;
  record.configuration = tasks_[task].space->to_json(candidate.configuration);
  record.device_key = options_.device_key;
  record.board_id = rooflines_.board_of(outcome);
  if (candidate.output) record.program_hash = to_hex(*candidate.output->program_hash);
  record.unix_ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count();
  record.operations = workload.operations();
  record.peak_gflops = rooflines_.of(outcome).peak_gflops();
  record.build_ns = candidate.build_ns;
  record.reused = reused;
  record.outcome = std::move(outcome);
  if (reused) record.outcome.times.reset();
  if (auto stored = parts_.records.add(record); !stored) {
    return std::move(stored.error()).in("recording a trial");
  }
  tally_.add(task, record, candidate.attempt);
  finalists_[task].add(record);
  observe(candidate, trial, record.outcome);
  parts_.listener.trial_done(task, record, progress_);
  return {};
}

void Trials::observe(const Candidate& candidate, std::uint64_t trial,
                     const wire::OutcomeT& outcome) {
  Observation observation;
  observation.configuration = candidate.configuration;
  double least = 0;
  if (candidate.output && candidate.output->facts) {
    observation.features = candidate.output->facts->features;
    least = rooflines_.of(outcome).least_seconds(*candidate.output->facts) * 1e9;
  }
  if (const wire::MeasurementT* measurement = outcome.body.AsMeasurement()) {
    observation.nanoseconds = score_of(*measurement, measurement->median);
    observation.censored = measurement->censored;
  }
  observation.lost = transient(outcome);
  if (options_.deterministic && trial != 0) {
    Held held{candidate.task,
              observation,
              {observation.features.begin(), observation.features.end()},
              least};
    held_.emplace(trial, std::move(held));
  } else {
    tell(candidate.task, observation, least);
  }
}

// `least`: ns that this program takes at the roofline, 0 where unknown. Each algorithm counts
// its own operations, so the task's is that of the program with the least to do so far.
void Trials::tell(std::size_t task, const Observation& observation, double least) {
  TaskState& state = states_[task];
  if (least > 0 && (state.least_nanoseconds <= 0 || least < state.least_nanoseconds)) {
    state.least_nanoseconds = least;
  }
  ++state.finished;
  if (!observation.lost) ++state.since_improvement;
  if (observation.nanoseconds && !observation.censored &&
      (state.best_nanoseconds == 0 || *observation.nanoseconds < state.best_nanoseconds)) {
    state.best_nanoseconds = *observation.nanoseconds;
    state.since_improvement = 0;
  }
  tasks_[task].searcher->observe(observation);
  if (observation.nanoseconds) state.any_measured = true;
  const bool stopped =
      options_.early_stopping > 0 && state.since_improvement >= options_.early_stopping;
  const bool hopeless =
      options_.hopeless > 0 && !state.any_measured && state.finished >= options_.hopeless;
  if ((stopped || hopeless) && !state.exhausted) {
    state.exhausted = true;
    progress_.tasks[task].end = TaskEnd::StoppedEarly;
  }
}

}  // namespace fettle::tune
