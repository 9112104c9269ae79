// The sequential, racing sampler (sampler.h).
#include "agent/measure/sampler.h"

#include <time.h>
#include <algorithm>
#include <cmath>
#include <optional>

#include "agent/measure/statistics.h"
#include "agent/measure/taken_sample.h"
#include "schemas/wire/clock_domain.h"

namespace fettle::agent {
namespace {

// "Clearly" above the racing bound: by the whole interval and by this factor.
constexpr double kRaceMargin = 1.05;
// A single run this much above the bound is not worth samples of full length.
constexpr double kHopeless = 2.0;
constexpr double kHopelessSampleNs = 1e6;
// Disturbed samples are shortened down to this: well within a scheduler's time slice.
constexpr double kShortestSampleNs = 5e5;
constexpr int kCoolStepMs = 100;  // between two looks whether the core is cool
// Calibrations that found the clock moving or held down, and are made once more.
constexpr int kRecalibrations = 3;
// A run executes the same instructions each time: what exceeds the least by this factor was
// interrupted, and two that agree suffice.
constexpr double kInterrupted = 1.0005;
constexpr std::uint32_t kAgreeingCounts = 2;
// A kernel's tick comes at least every 10 ms; one that has stopped is not waited for.
constexpr std::uint64_t kLongestTickNs = 20'000'000;

// Until right behind the kernel's next tick, when it moves its coarse clock.
void wait_for_tick() {
  timespec first{}, now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &first);
  const std::uint64_t start = StatusPage::monotonic_ns();
  do {
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  } while (now.tv_nsec == first.tv_nsec && StatusPage::monotonic_ns() - start < kLongestTickNs);
}

class Sampler {
 public:
  explicit Sampler(const SamplerInput& input)
      : in_(input),
        options_(input.options),
        ticks_per_ns_(ticks_per_nanosecond(input.device.info())),
        bound_(in_ticks(input.options.racing_bound_ns)) {}

  Result<wire::MeasurementT> go() {
    if (in_.device.exact()) return one_sample();
    auto number = choose_number();
    if (!number) return std::move(number).error();
    number_ = *number;
    if (options_.cooldown_ms > 0) pause(options_.cooldown_ms);
    while (!finished()) {
      auto taken = take(number_);
      if (!taken) return std::move(taken).error();
      if (has_hope_again(*taken)) {
        number = calibrate(taken->per_run);
        if (!number) return std::move(number).error();
        number_ = *number;
        continue;
      }
      keep(*taken);
      shorten(*taken);
      if (taken->throttled()) cool_down();
    }
    return result();
  }

 private:
  // 1 where the clock is no time: then its ticks are what a time limit and the bound count.
  static double ticks_per_nanosecond(const wire::DeviceInfoT& info) {
    return ticks_to_nanoseconds(1, info.clock, info.clock_hz) ? info.clock_hz / 1e9 : 1;
  }
  double in_ticks(double nanoseconds) const { return nanoseconds * ticks_per_ns_; }

  bool is_deterministic() const { return clock_facts(in_.device.info().clock).deterministic; }

  Result<wire::MeasurementT> one_sample() {
    auto taken = take(number_);
    if (!taken) return std::move(taken).error();
    clean_.push_back(*taken);
    values_.push_back(taken->per_run);
    auto out = result();
    if (out) out->interval_high = out->interval_low = out->median;
    return out;
  }

  std::uint32_t least_samples() const {
    const std::uint32_t asked = std::min(std::max(options_.min_samples, 1u), options_.repeat);
    return is_deterministic() ? std::min(asked, kAgreeingCounts) : asked;
  }

  void pause(std::uint32_t milliseconds) {
    const timespec time{static_cast<time_t>(milliseconds / 1000),
                        static_cast<long>(milliseconds % 1000) * 1'000'000};
    nanosleep(&time, nullptr);
    last_reading_.reset();
  }

  void cool_down() {
    while (cooled_ms_ < in_.most_cool_ms && in_.conditions.throttled()) {
      pause(kCoolStepMs);
      cooled_ms_ += kCoolStepMs;
    }
  }

  Result<Taken> take(std::uint32_t runs) {
    if (options_.flush_cache) {
      in_.device.flush_caches();
      last_reading_.reset();
    }
    // Samples follow one another: the reading after one is the one before the next.
    const QuickReading before =
        last_reading_ ? *last_reading_ : in_.conditions.quick(std::max(options_.threads, 1u));
    if (is_deterministic()) wait_for_tick();
    Result<Sample> sample = timed(runs, in_.run_ns);
    if (!sample) return std::move(sample).error();
    last_reading_ = in_.conditions.quick(std::max(options_.threads, 1u));
    if (!settings_) settings_ = before.settings;
    if (last_reading_->settings != *settings_) {
      return Error{ErrorCode::Disturbed,
                   "the governor, the power mode or the accelerator's clock was changed between "
                   "the samples"};
    }
    Taken taken;
    taken.sample = wire::Sample(sample->ticks, runs);
    taken.before = before;
    taken.after = *last_reading_;
    taken.per_run = static_cast<double>(sample->ticks) / runs;
    taken.events = disturbances(before, taken.after);
    clock_ = sample->clock;
    ticks_per_second_ = sample->ticks_per_second;
    return taken;
  }

  Result<Sample> timed(std::uint32_t runs, std::uint64_t* total) {
    in_.status.enter(total == in_.warmup_ns ? WorkerPhase::Warmup : WorkerPhase::Run);
    const std::uint64_t start = StatusPage::monotonic_ns();
    RunMark mark(in_.status);
    auto sample = in_.device.run(runs);
    *total += StatusPage::monotonic_ns() - start;
    return sample;
  }

  void keep(const Taken& taken) {
    if (is_deterministic() && !clean_.empty()) {
      const double least = std::min(taken.per_run, clean_.front().per_run);
      if (clean_.front().per_run > kInterrupted * least) {
        disturbed_.insert(disturbed_.end(), clean_.begin(), clean_.end());
        clean_.clear();
        values_.clear();
      } else if (taken.per_run > kInterrupted * least) {
        disturbed_.push_back(taken);
        return;
      }
    }
    throttled_ += taken.throttled() ? 1 : 0;
    if (taken.events == 0) {
      clean_.push_back(taken);
      values_.push_back(taken.per_run);
    } else {
      disturbed_.push_back(taken);
    }
  }

  // On a busy core a long sample is never left alone, a short one may be.
  void shorten(const Taken& last) {
    in_a_row_ = last.events == 0 ? 0 : in_a_row_ + 1;
    const double half = static_cast<double>(last.sample.ticks()) / 2;
    if (options_.number > 0 || in_a_row_ < 3 || number_ < 2 || half < in_ticks(kShortestSampleNs))
      return;
    number_ /= 2;
    in_a_row_ = 0;
  }

  // Warm-up, then runs per sample.
  Result<std::uint32_t> choose_number() {
    double per_run = in_.first_run_ticks;
    // A cold cache cannot explain a loss by this much over this long: no warm-up then.
    const bool lost = bound_ > 0 && per_run > kHopeless * bound_ && per_run > in_ticks(5e6);
    const std::uint32_t warmups = lost || is_deterministic() ? 0 : options_.warmup_runs;
    for (std::uint32_t i = 0; i < warmups || per_run <= 0; ++i) {
      if (out_of_time(2 * per_run)) break;  // it and a sample
      auto sample = timed(1, in_.warmup_ns);
      if (!sample) return std::move(sample).error();
      // The faster of the two: the first run was cold.
      const auto ticks = static_cast<double>(sample->ticks);
      if (per_run <= 0 || ticks < per_run) per_run = ticks;
    }
    if (options_.flush_cache) return 1u;
    if (options_.number > 0) return options_.number;
    // Every instruction is counted: more runs know no better than one.
    if (is_deterministic()) return 1u;
    hopeless_ = bound_ > 0 && per_run > kHopeless * bound_;
    return calibrate(per_run);
  }

  // Runs per sample, of about `per_run` ticks each; the calibrating sample counts when it is
  // long enough.
  Result<std::uint32_t> calibrate(double per_run) {
    std::uint32_t number = std::clamp(runs_for(wanted_ticks(), per_run), 1u, most_runs(per_run));
    int again = kRecalibrations;
    // Each round is an honest sample of `number` runs; one that is long enough is kept.
    while (true) {
      auto taken = take(number);
      if (!taken) return std::move(taken).error();
      (void)has_hope_again(*taken);  // more is wanted then
      const double lasted = static_cast<double>(taken->sample.ticks());
      // At a lower clock than the samples will have, fewer runs last as long.
      const bool other_clock = taken->throttled() || clock_moved(taken->before, taken->after);
      if (other_clock && again-- > 0 && !out_of_time(lasted)) {
        keep(*taken);
        if (taken->throttled()) cool_down();
        continue;
      }
      const std::uint32_t most = most_runs(lasted / number);
      if (lasted >= wanted_ticks() || number >= most) {
        keep(*taken);
        return number;
      }
      // A little more than the estimate says, so that the next round suffices.
      number = std::clamp(runs_for(wanted_ticks() * 1.05, lasted / number), number + 1, most);
    }
  }

  double wanted_ticks() const {
    const double full = options_.min_repeat_ms * 1e6;
    return in_ticks(hopeless_ ? std::min(full, kHopelessSampleNs) : full);
  }

  // Single runs after a pause said that it is hopeless: with cold caches, its threads asleep.
  // A sample that is fast enough takes that back.
  bool has_hope_again(const Taken& taken) {
    if (!hopeless_ || taken.per_run > kHopeless * bound_) return false;
    hopeless_ = false;
    return true;
  }

  static constexpr std::uint32_t kMostRuns = 10'000'000;
  static std::uint32_t runs_for(double wanted, double per_run) {
    const double runs = std::ceil(wanted / std::max(per_run, 0.5));
    return static_cast<std::uint32_t>(std::clamp(runs, 1.0, static_cast<double>(kMostRuns)));
  }

  // Left of the time limit, less a margin: samples differ.
  double ticks_left() const {
    return in_ticks(options_.timeout_ms * 1e6 - static_cast<double>(in_.status.run_ns.load())) /
           1.2;
  }
  // The next sample would pass the time limit: better few samples than none.
  bool out_of_time(double sample) const { return sample > ticks_left(); }
  // Of one sample; one where there is no time for any.
  std::uint32_t most_runs(double per_run) const {
    const double runs = ticks_left() / std::max(per_run, 0.5);
    return static_cast<std::uint32_t>(std::clamp(runs, 1.0, static_cast<double>(kMostRuns)));
  }

  bool finished() {
    const std::size_t total = clean_.size() + disturbed_.size();
    if (total == 0) return false;
    const Taken& last = clean_.empty() ? disturbed_.back() : clean_.back();
    if (out_of_time(static_cast<double>(last.sample.ticks()))) return true;
    const std::uint32_t least = least_samples();
    // Disturbance only slows a run down, never speeds it up, so that it cannot make
    // a candidate that loses by far into one that does not: all samples speak here.
    if (bound_ > 0 && total >= (hopeless_ ? 1 : std::max(least, 2u)) && clearly_slower()) {
      censored_ = true;
      return true;
    }
    if (disturbed_.size() > options_.retakes) return true;
    if (clean_.size() < least) return false;
    if (clean_.size() >= options_.repeat) return true;
    if (clean_.size() < 2) return false;
    const MedianInterval now = median_interval(values_);
    return (now.high - now.low) / 2 <= options_.relative_interval * now.median;
  }

  bool clearly_slower() const {
    if (clean_.size() >= 2) {
      const MedianInterval now = median_interval(values_);
      if (now.low > kRaceMargin * bound_) return true;
    }
    // The fastest of all samples, disturbed or not, loses by far.
    double fastest = clean_.empty() ? disturbed_.front().per_run : clean_.front().per_run;
    for (const auto* group : {&clean_, &disturbed_}) {
      for (const Taken& taken : *group) fastest = std::min(fastest, taken.per_run);
    }
    return hopeless_ && !clean_.empty() && fastest > kHopeless * bound_;
  }

  // A disturbance only costs time: the fastest ones suffered least. What was throttled
  // stays out: such samples agree, at the wrong clock.
  std::uint32_t borrow(std::uint32_t least) {
    std::sort(disturbed_.begin(), disturbed_.end(),
              [](const Taken& a, const Taken& b) { return a.per_run < b.per_run; });
    std::uint32_t borrowed = 0;
    for (const Taken& taken : disturbed_) {
      if (clean_.size() >= least) break;
      if (taken.throttled()) continue;
      clean_.push_back(taken);
      values_.push_back(taken.per_run);
      ++borrowed;
    }
    return borrowed;
  }

  // Of the readings around the samples that count.
  void add_extremes(wire::MeasurementT& out) const {
    out.lowest = std::make_unique<wire::ConditionsT>();
    out.highest = std::make_unique<wire::ConditionsT>();
    bool known = false;
    auto add = [&](auto wire::ConditionsT::* to, auto QuickReading::* from) {
      auto low = clean_.front().before.*from, high = low;
      for (const Taken& taken : clean_) {
        low = std::min({low, taken.before.*from, taken.after.*from});
        high = std::max({high, taken.before.*from, taken.after.*from});
      }
      (*out.lowest).*to = low;
      (*out.highest).*to = high;
      known = known || low != 0 || high != 0;
    };
    add(&wire::ConditionsT::cpu_khz, &QuickReading::cpu_khz);
    add(&wire::ConditionsT::gpu_khz, &QuickReading::gpu_khz);
    add(&wire::ConditionsT::accelerator_khz, &QuickReading::accelerator_khz);
    add(&wire::ConditionsT::temperature_millidegrees, &QuickReading::temperature_millidegrees);
    if (!known) {  // nothing can be read here
      out.lowest.reset();
      out.highest.reset();
    }
  }

  Result<wire::MeasurementT> result() {
    const std::uint32_t least = least_samples();
    const auto all = clean_.size() + disturbed_.size();
    const std::uint32_t borrowed = clean_.size() < least ? borrow(least) : 0;
    if (!censored_ && clean_.size() < least && throttled_ > 0) {
      return Error{ErrorCode::Disturbed,
                   "of " + std::to_string(all) + " samples " + std::to_string(throttled_) +
                       " were throttled: the kernel held the clock down against heat, also after " +
                       std::to_string(cooled_ms_ / 1000) + " s of cooling down"};
    }
    const MedianInterval interval = median_interval(values_);
    if (borrowed > 0 && !censored_ && values_.size() > 1 &&
        (interval.high - interval.low) / 2 > 0.25 * interval.median) {
      return Error{ErrorCode::Disturbed, "of " + std::to_string(disturbed_.size()) +
                                             " disturbed samples no " + std::to_string(least) +
                                             " agree within 25 %: something else uses the core"};
    }
    wire::MeasurementT out;
    out.clock = clock_;
    out.ticks_per_second = ticks_per_second_;
    out.number = number_;
    for (const Taken& taken : clean_) out.samples.push_back(taken.sample);
    out.disturbed = static_cast<std::uint32_t>(disturbed_.size());
    out.borrowed = borrowed;
    out.throttled = throttled_;
    add_extremes(out);
    out.median = interval.median;
    out.interval_low = interval.low;
    // One sample says nothing of its spread; the wire wants finite numbers.
    out.interval_high = std::isfinite(interval.high) ? interval.high : interval.median * 2;
    out.censored = censored_;
    if (censored_) {
      // "At least this slow" must hold: not above what was seen.
      double fastest = values_.front();
      for (double value : values_) fastest = std::min(fastest, value);
      out.interval_low = std::max(interval.low, std::min(fastest, kRaceMargin * bound_));
    }
    return out;
  }

  const SamplerInput& in_;
  const wire::MeasureOptionsT& options_;
  const double ticks_per_ns_;
  const double bound_;                       // in ticks, as all that is compared with samples
  std::uint32_t number_ = 1, in_a_row_ = 0;  // disturbed samples one after another
  std::uint32_t throttled_ = 0;              // of disturbed_
  std::optional<std::uint64_t> settings_;    // at the first sample
  int cooled_ms_ = 0;
  bool hopeless_ = false, censored_ = false;
  std::vector<Taken> clean_, disturbed_;
  std::vector<double> values_;  // per run, of clean_
  std::optional<QuickReading> last_reading_;
  wire::ClockDomain clock_ = wire::ClockDomain::Nanoseconds;
  double ticks_per_second_ = 1e9;
};

}  // namespace

Result<wire::MeasurementT> take_samples(const SamplerInput& input) { return Sampler(input).go(); }

}  // namespace fettle::agent
