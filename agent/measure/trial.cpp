// The protocol of one trial (trial.h).
#include "agent/measure/trial.h"

#include <algorithm>
#include <optional>

#include "agent/measure/launch_ticks.h"
#include "agent/measure/output_check.h"
#include "agent/measure/sampler.h"
#include "schemas/wire/clock_domain.h"

namespace fettle::agent {
namespace {

// Adds the time of its life to a field of StageTimes.
class StageTimer {
 public:
  explicit StageTimer(std::uint64_t& field) : field_(field) {}
  ~StageTimer() { field_ += StatusPage::monotonic_ns() - start_; }
  StageTimer(const StageTimer&) = delete;
  StageTimer& operator=(const StageTimer&) = delete;

 private:
  std::uint64_t& field_;
  std::uint64_t start_ = StatusPage::monotonic_ns();
};

wire::OutcomeT failed(wire::FailureT failure, const wire::StageTimesT& times) {
  wire::OutcomeT outcome;
  outcome.body.Set(std::move(failure));
  outcome.times = std::make_unique<wire::StageTimesT>(times);
  return outcome;
}
wire::OutcomeT failed(wire::Stage stage, Error error, const wire::StageTimesT& times) {
  return failed(make_failure(stage, std::move(error)), times);
}

// How far around the buffers it is looked: to the last look of a trial belongs all.
enum class Surroundings { Close, All };

Result<void> check_all(TrialContext& context, const wire::MeasureRequestT& request,
                       Surroundings around) {
  Device& device = context.device;
  auto intact =
      around == Surroundings::All ? device.check_surroundings() : device.check_close_surroundings();
  if (!intact) return intact;
  if (!request.options->check) return {};
  for (const auto& expected : request.expected) {
    const wire::BufferT& buffer = *request.program->buffers[expected->buffer];
    const std::string name = "output " + (buffer.name.empty() ? std::to_string(expected->buffer)
                                                              : "'" + buffer.name + "'");
    const ByteView want = context.blobs(*expected->blob);
    if (want.empty()) return Error{ErrorCode::MissingBlob, "no expected values for " + name};
    auto actual = context.device.read(expected->buffer);
    if (!actual) return std::move(actual).error();
    auto checked = check_output(*actual, want, *expected,
                                context.device.unwritten_byte(expected->dtype), name);
    if (!checked) return checked;
  }
  return {};
}

// What the request wants of a buffer, and of outputs behind it, as they are now.
Result<Bytes> read_back(TrialContext& context, const wire::MeasureRequestT& request) {
  const wire::MeasureOptionsT& options = *request.options;
  const auto& buffers = request.program->buffers;
  Bytes bytes;
  std::uint64_t offset = options.read_offset;
  for (std::uint32_t b = options.read_buffer;
       b < buffers.size() && bytes.size() < options.read_bytes; ++b) {
    if (b != options.read_buffer && buffers[b]->role != wire::BufferRole::Output) continue;
    auto all = context.device.read(b);
    if (!all) return std::move(all).error();
    const ByteView behind = all->subspan(offset);
    const ByteView part =
        behind.first(std::min<std::size_t>(behind.size(), options.read_bytes - bytes.size()));
    bytes.insert(bytes.end(), part.begin(), part.end());
    offset = 0;
  }
  return bytes;
}

// A candidate that maps memory for itself is stopped by the address-space limit;
// one that returns before that is found here.
Result<void> check_growth(TrialContext& context) {
  constexpr std::uint64_t kAllowed = 1 << 20;
  const std::uint64_t before = context.status.address_space_before;
  const std::uint64_t now = context.address_space();
  if (before == 0 || now <= before + kAllowed) return {};
  context.tainted = true;
  return Error{
      ErrorCode::OutOfMemory,
      "the candidate mapped " + std::to_string((now - before) >> 20) + " MiB of memory for itself"};
}

wire::Stage stage_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::MissingBlob:
      return wire::Stage::Upload;
    case ErrorCode::StrayWrite:
      return wire::Stage::Run;
    case ErrorCode::WrongAfterTiming:
      return wire::Stage::Recheck;
    default:
      return wire::Stage::Check;
  }
}

// Once, outside the samples.
Result<Sample> run_once(TrialContext& context, wire::StageTimesT& times) {
  StageTimer timer(times.warmup_ns);
  context.status.enter(WorkerPhase::Run);
  RunMark mark(context.status);
  return context.device.run(1);
}

// `when`: of outputs that were right at first.
std::optional<wire::FailureT> wrong_now(TrialContext& context, const wire::MeasureRequestT& request,
                                        const char* when, Surroundings around,
                                        wire::StageTimesT& times) {
  StageTimer timer(times.check_ns);
  context.status.enter(WorkerPhase::Check);
  auto checked = check_all(context, request, around);
  if (checked) return std::nullopt;
  Error error = std::move(checked).error().in(when);
  if (error.code == ErrorCode::WrongAnswer || error.code == ErrorCode::UnwrittenOutput) {
    error.code = ErrorCode::WrongAfterTiming;
  }
  const wire::Stage stage = stage_of(error);
  return make_failure(stage, std::move(error));
}

// A kernel that only worked at first leaves a poisoned output as it is, and was timed idling.
std::optional<wire::FailureT> idle_now(TrialContext& context, const wire::MeasureRequestT& request,
                                       wire::StageTimesT& times) {
  if (auto poisoned = context.device.poison_outputs(); !poisoned) {
    return make_failure(wire::Stage::Run, std::move(poisoned).error());
  }
  // The samples may have used the time limit up; this run has it anew.
  context.status.run_ns.store(0);
  if (auto sample = run_once(context, times); !sample) {
    return make_failure(wire::Stage::Run, std::move(sample).error());
  }
  return wrong_now(context, request, "in a run over poisoned outputs behind the samples",
                   Surroundings::All, times);
}

}  // namespace

wire::OutcomeT run_trial(TrialContext& context, wire::MeasureRequestT& request,
                         std::uint64_t decode_ns) {
  wire::StageTimesT times;
  times.load_ns = decode_ns;
  const wire::MeasureOptionsT& options = *request.options;
  StatusPage& status = context.status;

  status.enter(WorkerPhase::Load);
  status.address_space_before = 0;
  Result<std::uint64_t> prepared{0};
  {
    StageTimer timer(times.load_ns);
    for (const auto& expected : request.expected) {
      wire::BufferT& buffer = *request.program->buffers[expected->buffer];
      if (buffer.role != wire::BufferRole::Output) continue;
      buffer.fill = std::make_unique<wire::FillT>();
      buffer.fill->dtype = expected->dtype;
    }
    prepared = context.device.prepare(*request.program, {options.threads, options.weights_bytes},
                                      context.blobs);
    if (!prepared) {
      const bool upload = prepared.error().code == ErrorCode::MissingBlob;
      return failed(upload ? wire::Stage::Upload : wire::Stage::Load, std::move(prepared).error(),
                    times);
    }
    // Packing of constants may have gone astray already.
    if (auto intact = context.device.check_close_surroundings(); !intact) {
      return failed(wire::Stage::Load, std::move(intact).error(), times);
    }
  }

  // The candidate's own code is no cost of ours: what it runs before the samples,
  // packing of constants and the check run included, is warm-up.
  times.load_ns -= std::min(times.load_ns, *prepared);
  times.warmup_ns += *prepared;
  if (options.flush_cache) context.device.flush_caches();  // its buffer is not growth
  status.address_space_before = context.address_space();

  // The check run: once over untouched outputs. It also gives the first estimate.
  double first_run_ticks = 0;
  {
    auto sample = run_once(context, times);
    if (!sample) return failed(wire::Stage::Run, std::move(sample).error(), times);
    first_run_ticks = static_cast<double>(sample->ticks);
    StageTimer timer(times.check_ns);
    status.enter(WorkerPhase::Check);
    if (auto same = check_growth(context); !same) {
      return failed(wire::Stage::Run, std::move(same).error(), times);
    }
    if (auto checked = check_all(context, request, Surroundings::Close); !checked) {
      const wire::Stage stage = stage_of(checked.error());
      return failed(stage, std::move(checked).error(), times);
    }
  }

  const bool checks = options.check && !request.expected.empty();
  // An exact device has one sample of one run, which may be a long simulation: that is the run over
  // poisoned outputs.
  const bool sample_is_checked = context.device.exact();
  if (checks && sample_is_checked) {
    if (auto poisoned = context.device.poison_outputs(); !poisoned) {
      return failed(wire::Stage::Run, std::move(poisoned).error(), times);
    }
  }

  const wire::ConditionsT before = context.conditions.read();
  const SamplerInput input{context.device,  context.conditions, status,       options,
                           first_run_ticks, &times.warmup_ns,   &times.run_ns};
  auto measurement = take_samples(input);
  if (!measurement) return failed(wire::Stage::Run, std::move(measurement).error(), times);
  if (options.launch_ticks && !measurement->censored) {
    auto launches = measure_launches(
        input, measurement->number,
        ticks_to_nanoseconds(measurement->median, measurement->clock, measurement->ticks_per_second)
            .value_or(0));
    if (!launches) return failed(wire::Stage::Run, std::move(launches).error(), times);
    measurement->launch_ticks = std::move(*launches);
  }
  measurement->weights_bytes = options.weights_bytes;
  measurement->before = std::make_unique<wire::ConditionsT>(before);
  measurement->after = std::make_unique<wire::ConditionsT>(context.conditions.read());

  // Not of a candidate that lost its race: idling makes nothing slow.
  const bool runs_again = checks && !sample_is_checked && !measurement->censored;
  // After many runs over their own results: a kernel must not depend on what its output held
  // before.
  if (auto wrong = wrong_now(context, request, "checking again behind the samples",
                             runs_again ? Surroundings::Close : Surroundings::All, times)) {
    return failed(std::move(*wrong), times);
  }
  if (runs_again) {
    if (auto idle = idle_now(context, request, times)) return failed(std::move(*idle), times);
  }
  if (options.read_bytes > 0) {
    auto read = read_back(context, request);
    if (!read) return failed(wire::Stage::Check, std::move(read).error(), times);
    measurement->read = std::move(*read);
  }
  wire::OutcomeT outcome;
  outcome.body.Set(std::move(*measurement));
  outcome.times = std::make_unique<wire::StageTimesT>(times);
  return outcome;
}

}  // namespace fettle::agent
