// The protocol of one trial (trial.h).
#include "agent/measure/trial.h"

#include <algorithm>

#include "agent/measure/launch_ticks.h"
#include "agent/measure/output_check.h"
#include "agent/measure/sampler.h"

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

wire::OutcomeT failed(wire::Stage stage, Error error, const wire::StageTimesT& times) {
  wire::OutcomeT outcome;
  outcome.body.Set(make_failure(stage, std::move(error)));
  outcome.times = std::make_unique<wire::StageTimesT>(times);
  return outcome;
}

Result<void> check_all(TrialContext& context, const wire::MeasureRequestT& request) {
  if (auto checked = context.device.check_surroundings(); !checked) return checked;
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

// What the request wants of a buffer as it is now.
Result<Bytes> read_back(TrialContext& context, const wire::MeasureOptionsT& options) {
  auto all = context.device.read(options.read_buffer);
  if (!all) return std::move(all).error();
  const ByteView part = all->subspan(options.read_offset, options.read_bytes);
  return Bytes(part.begin(), part.end());
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
    default:
      return wire::Stage::Check;
  }
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
    if (auto intact = context.device.check_surroundings(); !intact) {
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
  double first_run_ticks = 0;   // by the device's clock
  std::uint64_t first_run = 0;  // by the agent's
  {
    StageTimer timer(times.check_ns);
    status.enter(WorkerPhase::Run);
    first_run = StatusPage::monotonic_ns();
    Result<Sample> sample = [&] {
      RunMark mark(status);
      return context.device.run(1);
    }();
    if (!sample) return failed(wire::Stage::Run, std::move(sample).error(), times);
    first_run_ticks = static_cast<double>(sample->ticks);
    first_run = StatusPage::monotonic_ns() - first_run;
    status.enter(WorkerPhase::Check);
    if (auto same = check_growth(context); !same) {
      return failed(wire::Stage::Run, std::move(same).error(), times);
    }
    if (auto checked = check_all(context, request); !checked) {
      const wire::Stage stage = stage_of(checked.error());
      return failed(stage, std::move(checked).error(), times);
    }
  }

  times.check_ns -= std::min(times.check_ns, first_run);
  times.warmup_ns += first_run;

  const wire::ConditionsT before = context.conditions.read();
  const SamplerInput input{context.device,  context.conditions, status,       options,
                           first_run_ticks, &times.warmup_ns,   &times.run_ns};
  auto measurement = take_samples(input);
  if (!measurement) return failed(wire::Stage::Run, std::move(measurement).error(), times);
  if (options.launch_ticks && !measurement->censored) {
    auto launches = measure_launches(input, measurement->number);
    if (!launches) return failed(wire::Stage::Run, std::move(launches).error(), times);
    measurement->launch_ticks = std::move(*launches);
  }
  measurement->weights_bytes = options.weights_bytes;
  measurement->before = std::make_unique<wire::ConditionsT>(before);
  measurement->after = std::make_unique<wire::ConditionsT>(context.conditions.read());

  // Again, after many runs over their own results: a kernel must not depend on
  // what its output held before.
  {
    StageTimer timer(times.check_ns);
    status.enter(WorkerPhase::Check);
    if (auto checked = check_all(context, request); !checked) {
      const wire::Stage stage = stage_of(checked.error());
      return failed(stage, std::move(checked).error().in("checking again after the samples"),
                    times);
    }
  }
  if (options.read_bytes > 0) {
    auto read = read_back(context, options);
    if (!read) return failed(wire::Stage::Check, std::move(read).error(), times);
    measurement->read = std::move(*read);
  }
  wire::OutcomeT outcome;
  outcome.body.Set(std::move(*measurement));
  outcome.times = std::make_unique<wire::StageTimesT>(times);
  return outcome;
}

}  // namespace fettle::agent
