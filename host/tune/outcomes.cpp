// What outcomes mean (outcomes.h).
#include "host/tune/outcomes.h"

#include "schemas/wire/result.h"

namespace fettle::tune {

bool builder_failed(const wire::FailureT& failure) {
  if (failure.stage != wire::Stage::Build || !failure.error) return false;
  const ErrorCode code = failure.error->code;
  return code == ErrorCode::Io || code == ErrorCode::DiskFull || code == ErrorCode::NotFound;
}

bool transient(const wire::OutcomeT& outcome) {
  const wire::FailureT* failure = outcome.body.AsFailure();
  if (!failure || !failure->error) return false;
  if (failure->stage == wire::Stage::Dispatch || failure->stage == wire::Stage::Upload) return true;
  if (builder_failed(*failure)) return true;
  switch (failure->error->code) {
    case ErrorCode::Disturbed:
    case ErrorCode::WorkerLost:
    case ErrorCode::DeviceLost:
    case ErrorCode::MissingBlob:
    case ErrorCode::Canceled:
    case ErrorCode::Unreachable:
      return true;
    default:
      return false;
  }
}

std::string cause_of(const wire::FailureT& failure) {
  return std::string(name_of(failure.stage)) + " " +
         (failure.error ? name_of(failure.error->code) : "Internal");
}

double score_of(const wire::MeasurementT& measurement, double ticks) {
  return measurement.ticks_per_second > 0 ? ticks / measurement.ticks_per_second * 1e9 : ticks;
}

}  // namespace fettle::tune
