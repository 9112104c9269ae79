// Trials on their way to the boards (trials.h).
#include "host/tune/trials.h"

#include <algorithm>
#include <utility>

#include "host/space/workload.h"
#include "host/tune/measure_request.h"
#include "host/tune/outcomes.h"
#include "host/tune/trial_shares.h"

namespace fettle::tune {
namespace {

constexpr std::uint32_t kBatch = 16;  // trials of a deterministic session between two lessons
constexpr std::size_t kStock = 2;     // built candidates kept beyond what the boards can hold

}  // namespace

Trials::Trials(std::vector<TuneTask>& tasks, const space::Target& target,
               const TuneOptions& options, TuneParts& parts)
    : tasks_(tasks),
      target_(target),
      target_text_(target.canonical()),
      options_(options),
      parts_(parts),
      states_(tasks.size()),
      artifacts_(tasks.size()),
      offered_(tasks.size(), false),
      next_trial_(options.first_trial),
      rooflines_(parts.runner, parts.roofline, parts.ceilings),
      tally_(progress_, parts.pace),
      // One more is the fastest of those that the finals leave out.
      finalists_(tasks.size(), Finalists(options.finalists ? options.finalists + 1 : 0)) {
  progress_.tasks.resize(tasks.size());
  progress_.trials_wanted = options.trials;
  progress_.peak_gflops = parts.roofline.peak_gflops();
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    progress_.tasks[i].title = tasks[i].task.workload.title();
    progress_.tasks[i].operations = tasks[i].task.workload.operations();
    progress_.tasks[i].weight = states_[i].weight = tasks[i].task.weight;
    states_[i].operations = progress_.tasks[i].operations;
    states_[i].kind = tasks[i].task.workload.kind();
  }
  learn_history();
}

void Trials::learn_history() {
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    for (const records::TuningRecord& record : tasks_[i].measured) {
      if (transient(record.outcome)) continue;
      if (const auto hash = hash_from_hex(record.program_hash)) {
        artifacts_[i].know(*hash, record.outcome);
      }
    }
    for (const records::TuningRecord& record : tasks_[i].history) {
      // A space that lost the option, or a lost board: not known after all.
      auto configuration = tasks_[i].space->parse(record.configuration);
      if (!configuration || transient(record.outcome)) continue;
      if (const auto hash = hash_from_hex(record.program_hash)) {
        artifacts_[i].know(*hash, record.outcome);
      }
      Candidate candidate;
      candidate.task = i;
      candidate.configuration = std::move(*configuration);
      ++proposed_;
      ++states_[i].proposed;
      tally_.add_resumed(i, record);
      finalists_[i].add(record);
      observe(candidate, 0, record.outcome);
    }
  }
}

bool Trials::working() const {
  if (!candidates_.empty()) return true;
  return !closed_ && proposed_ < options_.trials &&
         std::any_of(states_.begin(), states_.end(), [](const auto& s) { return !s.exhausted; });
}

std::optional<std::size_t> Trials::wants_candidate() {
  awaits_searcher_ = false;
  if (closed_ || proposed_ >= options_.trials) return std::nullopt;
  if (building_ > parts_.builder.workers()) return std::nullopt;
  if (waiting_.size() >= parts_.runner.capacity() + kStock) return std::nullopt;
  if (options_.deterministic) {
    return batch_open() ? parts_.scheduler.next(states_) : std::nullopt;
  }
  std::vector<bool> waits(states_.size());
  for (std::size_t i = 0; i < waits.size(); ++i) {
    progress_.tasks[i].waiting_for_expected = waits[i] = !parts_.expected.ready(i);
  }
  std::vector<TaskState> states = states_by_shares(states_, waits, options_.trials, proposed_);
  for (std::size_t i = 0; i < states.size(); ++i) {
    states[i].ready = states[i].exhausted || tasks_[i].searcher->ready();
  }
  const auto next = parts_.scheduler.next(states);
  // Meanwhile the trials under way go on; without any, propose() waits.
  awaits_searcher_ = next && !states[*next].ready && !candidates_.empty();
  return awaits_searcher_ ? std::nullopt : next;
}

// The next batch opens once all of the last one has ended. Only then the searchers
// and the scheduler learn of it, in the order in which it was proposed.
bool Trials::batch_open() {
  if (batch_left_ > 0) return true;
  if (!candidates_.empty()) return false;
  for (const auto& [trial, held] : std::exchange(held_, {})) {
    Observation observation = held.observation;
    observation.features = held.features;
    tell(held.task, observation, held.least);
  }
  batch_left_ = kBatch;
  return true;
}

void Trials::propose(std::size_t task) {
  if (batch_left_ > 0) --batch_left_;
  std::vector<space::Configuration> proposed = tasks_[task].searcher->propose(1);
  if (proposed.empty()) {
    states_[task].exhausted = true;
    progress_.tasks[task].end = TaskEnd::Exhausted;
    return;
  }
  Candidate candidate;
  candidate.task = task;
  candidate.configuration = std::move(proposed.front());
  const std::uint64_t trial = next_trial_++;
  build(trial, candidates_.emplace(trial, std::move(candidate)).first->second);
  ++states_[task].proposed;
  ++proposed_;
}

void Trials::build(std::uint64_t trial, const Candidate& candidate) {
  wire::BuildRequestT request;
  request.id = trial;
  request.workload = tasks_[candidate.task].task.workload.canonical();
  request.target = target_text_;
  request.configuration = tasks_[candidate.task].space->to_json(candidate.configuration);
  parts_.builder.submit(std::move(request));
  progress_.building = ++building_;
}

Result<void> Trials::take_built(Built built) {
  const auto found = candidates_.find(built.id);
  if (found == candidates_.end()) return {};  // dropped meanwhile
  progress_.building = --building_;
  Candidate& candidate = found->second;
  candidate.build_ns = built.result.build_ns;
  tally_.add_build(candidate.build_ns);
  wire::BuildOutputT* output = built.result.body.AsBuildOutput();
  if (!output || !output->program || !output->program_hash) {
    wire::OutcomeT outcome;
    const wire::FailureT* failure = built.result.body.AsFailure();
    outcome.body.Set(failure
                         ? wire::FailureT(*failure)
                         : make_failure(wire::Stage::Build,
                                        Error{ErrorCode::Internal, "a build without output", {}}));
    return finish(built.id, std::move(outcome), false);
  }
  candidate.output = std::make_unique<wire::BuildOutputT>(std::move(*output));
  Artifacts& artifacts = artifacts_[candidate.task];
  const wire::Hash& program = *candidate.output->program_hash;
  switch (artifacts.claim(program, built.id, [&](const wire::OutcomeT& outcome) {
    return answered(candidate.task, outcome);
  })) {
    case Artifacts::Claim::Measure:
      waiting_.push_back(built.id);
      progress_.waiting = waiting_.size();
      return {};
    case Artifacts::Claim::Wait:
      return {};
    case Artifacts::Claim::Reuse:
      break;
  }
  return finish(built.id, artifacts.outcome_of(program), true);
}

// A time that racing ended early tells enough only where it lies above this task's best.
bool Trials::answered(std::size_t task, const wire::OutcomeT& outcome) const {
  const wire::MeasurementT* measurement = outcome.body.AsMeasurement();
  if (!measurement || !measurement->censored) return true;
  const double best = states_[task].best_nanoseconds;
  return options_.racing && best > 0 && score_of(*measurement, measurement->interval_low) > best;
}

Result<void> Trials::feed_boards() {
  while (on_boards_ < parts_.runner.capacity()) {
    const auto known = [&](std::uint64_t trial) {
      return parts_.expected.ready(candidates_.at(trial).task);
    };
    // A session that can be repeated keeps the order, however long the outputs take.
    const auto last =
        options_.deterministic && !waiting_.empty() ? waiting_.begin() + 1 : waiting_.end();
    auto next = std::find_if(waiting_.begin(), last, known);
    if (next == last) next = waiting_.end();
    if (next == waiting_.end()) return {};
    const std::uint64_t trial = *next;
    waiting_.erase(next);
    progress_.waiting = waiting_.size();
    if (auto sent = submit(trial); !sent) return sent;
  }
  return {};
}

Result<void> Trials::submit(std::uint64_t trial) {
  Candidate& candidate = candidates_.at(trial);
  const std::size_t task = candidate.task;
  const Result<Expected>& expected = parts_.expected.of(task);
  if (!expected)
    return Error(expected.error())
        .in("computing the expected output of " + progress_.tasks[task].title);
  if (!offered_[task]) {
    for (const auto& output : expected->outputs) {
      parts_.runner.offer_blob(*output.check.blob, output.bytes);
    }
    offered_[task] = true;
  }
  wire::MeasureOptionsT options = options_.measure;
  options.threads = static_cast<std::uint32_t>(target_.threads());
  if (options_.racing) {
    const TaskProgress& seen = progress_.tasks[task];
    // Or instructions, where those are the clock.
    const double best = seen.best_nanoseconds.value_or(seen.best_instructions.value_or(0));
    options.racing_bound_ns = options_.deterministic ? states_[task].best_nanoseconds : best;
  }
  const auto request =
      measure_request(*candidate.output, *expected, options, progress_.tasks[task].title);
  if (!request) return request.error();
  parts_.runner.submit(trial, *request);
  progress_.on_boards = ++on_boards_;
  return {};
}

SearchStatistics Trials::search_statistics() const {
  SearchStatistics sum;
  for (const TuneTask& task : tasks_) sum += task.searcher->statistics();
  return sum;
}

void Trials::drop_unmeasured() {
  closed_ = true;
  parts_.runner.cancel_pending();
  for (std::uint64_t trial : waiting_) candidates_.erase(trial);
  waiting_.clear();
  std::erase_if(candidates_, [](const auto& entry) {
    // Still building, or a twin: its program was never sent to a board.
    return !entry.second.output || entry.second.output->program;
  });
  for (Artifacts& artifacts : artifacts_) artifacts.drop_twins();
  building_ = 0;
  progress_.building = progress_.waiting = 0;
}

}  // namespace fettle::tune
