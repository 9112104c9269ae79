// What a record says of its trial's time.
#include "host/records/record.h"

#include "schemas/wire/clock_domain.h"

namespace fettle::records {

std::optional<double> TuningRecord::nanoseconds() const {
  const wire::MeasurementT* measured = measurement();
  if (measured == nullptr || measured->censored) return std::nullopt;
  if (!(measured->median > 0)) return std::nullopt;
  return ticks_to_nanoseconds(measured->median, measured->clock, measured->ticks_per_second);
}

}  // namespace fettle::records
