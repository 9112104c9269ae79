// Replay (replay.h).
#include "host/replay/replay.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <charconv>
#include <utility>

#include "host/space/workload.h"
#include "schemas/wire/content_hash.h"

namespace fettle::replay {

namespace {

constexpr double kRacingFactor = 1.05;  // as the agent's sampler: clearly above the bound

void raise_event(int event) {
  if (event >= 0) ::eventfd_write(event, 1);
}
void clear_event(int event) {
  eventfd_t ignored;
  if (event >= 0) ::eventfd_read(event, &ignored);
}

// "2/17": the recording's and the trial's place, in Program::target.
std::string address_of(std::size_t recording, std::size_t trial) {
  return std::to_string(recording) + "/" + std::to_string(trial);
}

const RecordedTrial* trial_at(const std::vector<Recording>& recordings,
                              const std::string& address) {
  std::size_t recording = 0, trial = 0;
  const char* end = address.data() + address.size();
  const auto [slash, bad] = std::from_chars(address.data(), end, recording);
  if (bad != std::errc() || slash == end || recording >= recordings.size()) return nullptr;
  if (std::from_chars(slash + 1, end, trial).ec != std::errc()) return nullptr;
  return trial < recordings[recording].trials.size() ? &recordings[recording].trials[trial]
                                                     : nullptr;
}

wire::BuildResultT failed_build(const wire::BuildRequestT& request, wire::Stage stage,
                                Error error) {
  wire::BuildResultT result;
  result.id = request.id;
  result.body.Set(make_failure(stage, std::move(error)));
  return result;
}

}  // namespace

ReplayBuilder::ReplayBuilder(const std::vector<Recording>& recordings)
    : recordings_(recordings), event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
ReplayBuilder::~ReplayBuilder() {
  if (event_ >= 0) ::close(event_);
}

void ReplayBuilder::submit(wire::BuildRequestT request) {
  done_.push_back({request.id, build(request)});
  raise_event(event_);
}

Result<std::vector<tune::Built>> ReplayBuilder::poll(std::chrono::milliseconds) {
  clear_event(event_);
  return std::exchange(done_, {});
}

wire::BuildResultT ReplayBuilder::build(const wire::BuildRequestT& request) const {
  for (std::size_t i = 0; i < recordings_.size(); ++i) {
    const Recording& recording = recordings_[i];
    if (recording.workload.canonical() != request.workload) continue;
    auto configuration = recording.space.parse(request.configuration);
    if (!configuration) return failed_build(request, wire::Stage::Build, configuration.error());
    const auto place = recording.find(*configuration);
    if (!place) return failed_build(request, wire::Stage::Build, place.error());
    const RecordedTrial& trial = recording.trials[*place];
    if (trial.program.empty()) {
      return failed_build(request, trial.stage, Error{trial.code, trial.message, {}});
    }
    wire::BuildOutputT output;
    output.program = std::make_unique<wire::ProgramT>();
    output.program->target = address_of(i, *place);
    output.program->buffers.push_back(std::make_unique<wire::BufferT>());
    output.program->buffers.back()->role = wire::BufferRole::Output;
    const Bytes name(trial.program.begin(), trial.program.end());
    output.program_hash = std::make_unique<wire::Hash>(content_hash(name));
    output.facts = std::make_unique<wire::ProgramFactsT>();
    output.facts->features = trial.features;
    wire::BuildResultT result;
    result.id = request.id;
    result.body.Set(std::move(output));
    return result;
  }
  return failed_build(
      request, wire::Stage::Build,
      Error{ErrorCode::NotFound, "no recording of the workload " + request.workload, {}});
}

ReplayRunner::ReplayRunner(const std::vector<Recording>& recordings)
    : recordings_(recordings), event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  board_.id = "replay";
  device_.key = "replay";
  device_.name = recordings.empty() ? "" : recordings.front().device;
}
ReplayRunner::~ReplayRunner() {
  if (event_ >= 0) ::close(event_);
}

void ReplayRunner::submit(std::uint64_t number, const wire::MeasureRequestT& request) {
  wire::OutcomeT outcome;
  const RecordedTrial* trial = trial_at(recordings_, request.program->target);
  if (!trial) {
    outcome.body.Set(make_failure(
        wire::Stage::Run, Error{ErrorCode::NotFound, "the program is of no recording", {}}));
  } else if (trial->nanoseconds <= 0) {
    outcome.body.Set(make_failure(trial->stage, Error{trial->code, trial->message, {}}));
  } else {
    wire::MeasurementT measurement;
    measurement.ticks_per_second = 1e9;
    measurement.number = 1;
    measurement.median = measurement.interval_high = trial->nanoseconds;
    measurement.interval_low = trial->interval_low;
    const double bound = request.options ? request.options->racing_bound_ns : 0;
    measurement.censored = bound > 0 && trial->interval_low > kRacingFactor * bound;
    outcome.body.Set(std::move(measurement));
  }
  done_.push_back({number, 1, std::move(outcome)});
  raise_event(event_);
}

Result<std::vector<tune::Measured>> ReplayRunner::poll(std::chrono::milliseconds) {
  clear_event(event_);
  return std::exchange(done_, {});
}

Result<tune::Expected> no_expected_outputs(const space::Workload&, const std::stop_token&) {
  tune::Expected expected;
  expected.outputs.emplace_back();
  expected.outputs.back().check.blob = std::make_unique<wire::Hash>(content_hash({}));
  return expected;
}

}  // namespace fettle::replay
