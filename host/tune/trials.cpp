// Trials (trials.h).
#include "host/tune/trials.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "host/space/workload.h"
#include "host/tune/outcomes.h"
#include "schemas/wire/clock_domain.h"

namespace fettle::tune {
namespace {

constexpr std::uint32_t kBatch = 16;  // trials of a deterministic session between two lessons
constexpr std::size_t kStock = 2;     // built candidates kept beyond what the boards can hold
constexpr std::uint32_t kOwed = 16;   // trials of each task, as far as there are so many

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
      rooflines_(parts.runner, parts.roofline, parts.ceilings) {
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
        artifacts_[i][*hash].outcome = record.outcome;
      }
    }
    for (const records::TuningRecord& record : tasks_[i].history) {
      // A space that lost the option, or a lost board: not known after all.
      auto configuration = tasks_[i].space->parse(record.configuration);
      if (!configuration || transient(record.outcome)) continue;
      if (const auto hash = hash_from_hex(record.program_hash)) {
        artifacts_[i][*hash].outcome = record.outcome;
      }
      Candidate candidate;
      candidate.task = i;
      candidate.configuration = std::move(*configuration);
      ++proposed_;
      ++states_[i].proposed;
      ++progress_.resumed;
      count(i, record);
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
  // Tasks whose expected outputs are ready go first: others could only wait. But they leave
  // those their share of the trials, and each other what every task is owed: searchers get
  // ready one after the other.
  std::vector<TaskState> states = states_;
  const auto tasks = static_cast<std::uint32_t>(states.size());
  std::vector<std::uint32_t> owed(tasks);
  for (std::size_t i = 0; i < tasks; ++i) {
    bool& waits = progress_.tasks[i].waiting_for_expected;
    waits = !parts_.expected.ready(i);
    const std::uint32_t share =
        waits ? (options_.trials + tasks - 1) / tasks : std::min(kOwed, options_.trials / tasks);
    owed[i] = states[i].exhausted ? 0 : share - std::min(share, states[i].proposed);
  }
  const bool ahead =
      options_.trials - proposed_ > std::accumulate(owed.begin(), owed.end(), std::uint32_t{0});
  bool any = false;
  for (std::size_t i = 0; i < tasks; ++i) {
    states[i].exhausted |= ahead ? progress_.tasks[i].waiting_for_expected : owed[i] == 0;
    any |= !states[i].exhausted;
  }
  if (!any) states = states_;
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
  wire::BuildRequestT request;
  request.id = next_trial_++;
  request.workload = tasks_[task].task.workload.canonical();
  request.target = target_text_;
  request.configuration = tasks_[task].space->to_json(candidate.configuration);
  candidates_.emplace(request.id, std::move(candidate));
  parts_.builder.submit(std::move(request));
  ++states_[task].proposed;
  ++proposed_;
  progress_.building = ++building_;
}

Result<void> Trials::take_built(Built built) {
  const auto found = candidates_.find(built.id);
  if (found == candidates_.end()) return {};  // dropped meanwhile
  progress_.building = --building_;
  Candidate& candidate = found->second;
  candidate.build_ns = built.result.build_ns;
  time_.add_build(candidate.build_ns);
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
  auto [place, fresh] = artifacts_[candidate.task].try_emplace(*candidate.output->program_hash);
  if (fresh) {
    waiting_.push_back(built.id);
    progress_.waiting = waiting_.size();
    return {};
  }
  if (!place->second.outcome) {
    place->second.twins.push_back(built.id);
    return {};
  }
  if (!answered(candidate.task, *place->second.outcome)) {
    place->second.outcome.reset();
    waiting_.push_back(built.id);
    progress_.waiting = waiting_.size();
    return {};
  }
  return finish(built.id, *place->second.outcome, true);
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
    const auto next = std::find_if(waiting_.begin(), waiting_.end(), [&](std::uint64_t trial) {
      return parts_.expected.ready(candidates_.at(trial).task);
    });
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
  wire::MeasureRequestT request;
  request.program = std::move(candidate.output->program);
  request.options = std::make_unique<wire::MeasureOptionsT>(options_.measure);
  request.options->threads = static_cast<std::uint32_t>(target_.threads());
  if (options_.racing) {
    const TaskProgress& seen = progress_.tasks[task];
    // In ticks of the device's clock, as its samples are.
    const double best = seen.best_nanoseconds.value_or(seen.best_instructions.value_or(0));
    request.options->racing_bound_ns =
        options_.deterministic ? states_[task].best_nanoseconds : best;
  }
  std::size_t next = 0;
  for (std::size_t i = 0; i < request.program->buffers.size(); ++i) {
    if (request.program->buffers[i]->role != wire::BufferRole::Output) continue;
    if (next == expected->outputs.size()) break;
    request.expected.push_back(
        std::make_unique<wire::ExpectedOutputT>(expected->outputs[next++].check));
    request.expected.back()->buffer = static_cast<std::uint32_t>(i);
    if (candidate.output->facts) {
      request.expected.back()->absolute *= candidate.output->facts->error_growth;
    }
  }
  if (next == 0 || next != expected->outputs.size()) {
    return Error{ErrorCode::Internal, "the program's outputs are not those of the workload " +
                                          progress_.tasks[task].title};
  }
  parts_.runner.submit(trial, request);
  progress_.on_boards = ++on_boards_;
  return {};
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
  Candidate& candidate = candidates_.at(measured.trial);
  Artifact& artifact = artifacts_[candidate.task].at(*candidate.output->program_hash);
  std::vector<std::uint64_t> twins = std::move(artifact.twins);
  artifact.twins.clear();
  if (!transient(measured.outcome)) {
    artifact.outcome = measured.outcome;
  } else if (twins.empty()) {
    artifacts_[candidate.task].erase(*candidate.output->program_hash);
  } else {
    // The next twin takes its place; the others wait for that one.
    waiting_.push_front(twins.front());
    artifact.twins.assign(twins.begin() + 1, twins.end());
    twins.clear();
  }
  wire::OutcomeT again = measured.outcome;
  again.times.reset();
  if (auto stored = finish(measured.trial, std::move(measured.outcome), false); !stored)
    return stored;
  for (std::uint64_t twin : twins) {
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
  ++finished_;
  if (record.measurement()) ++succeeded_;
  if (const wire::FailureT* failure = record.failure()) {
    const std::string key = cause_of(*failure);
    ++progress_.failures[key];
    Cause& cause = causes_[key];
    ++cause.count;
    if (failure->error) cause.message = from_wire(*failure->error).text();
  }
  if (candidate.attempt > 1) ++progress_.retried;
  if (const auto& times = record.outcome.times) {
    // The first request of a board waited for the session to start.
    const bool first = boards_seen_.insert(record.board_id).second;
    time_.add(*times, first);
    if (!first) {
      busy_ns_ += static_cast<double>(times->total_ns);
      gap_ns_ += static_cast<double>(times->idle_before_ns);
      if (busy_ns_ > 0) progress_.busy_share = busy_ns_ / (busy_ns_ + gap_ns_);
    }
  }
  count(task, record);
  observe(candidate, trial, record.outcome);
  parts_.listener.trial_done(task, record, progress_);
  return {};
}

// Progress of the task by one finished trial, of this session or an earlier one.
void Trials::count(std::size_t task, const records::TuningRecord& record) {
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
  const auto nanoseconds = nanoseconds_of(*measurement);
  if (!nanoseconds || *nanoseconds <= 0) return;
  seen.current_gflops = seen.operations / *nanoseconds;
  if (!seen.best_nanoseconds || *nanoseconds < *seen.best_nanoseconds) {
    seen.best_nanoseconds = nanoseconds;
  }
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
  if (options_.early_stopping > 0 && state.since_improvement >= options_.early_stopping &&
      !state.exhausted) {
    state.exhausted = true;
    progress_.tasks[task].end = TaskEnd::StoppedEarly;
  }
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
  for (Artifacts& artifacts : artifacts_) {
    for (auto& [hash, artifact] : artifacts) artifact.twins.clear();
  }
  building_ = 0;
  progress_.building = progress_.waiting = 0;
}

std::string Trials::main_cause() const {
  const auto commonest = std::max_element(
      causes_.begin(), causes_.end(),
      [](const auto& a, const auto& b) { return a.second.count < b.second.count; });
  if (commonest == causes_.end()) return "";
  return commonest->first + " (" + std::to_string(commonest->second.count) +
         "×): " + commonest->second.message;
}

}  // namespace fettle::tune
