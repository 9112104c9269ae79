// The limit of a whole trial (stage_limits.h).
#include "schemas/wire/stage_limits.h"

namespace fettle {

std::uint64_t StageLimits::whole_trial_ns(const wire::MeasureOptionsT& options) const {
  constexpr std::uint64_t kMs = 1'000'000, kCalibrations = 10;
  const std::uint64_t samples = std::uint64_t{options.repeat} + options.retakes + kCalibrations;
  // Decoding and loading; a check before and two behind the samples; the runs of all samples and
  // the one over poisoned outputs, each with the time limit of its own.
  return 2 * load_ns + 3 * check_ns +
         (2 * std::uint64_t{options.timeout_ms} + options.cooldown_ms) * kMs +
         samples * between_samples_ns + spare_ns;
}

}  // namespace fettle
