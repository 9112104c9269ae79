// What a record says of its trial's time.
#include "host/records/record.h"

namespace fettle::records {

std::optional<double> TuningRecord::nanoseconds() const {
  const wire::MeasurementT* measured = measurement();
  if (measured == nullptr || measured->censored) return std::nullopt;
  if (measured->clock != wire::ClockDomain::Nanoseconds) return std::nullopt;
  if (!(measured->ticks_per_second > 0) || !(measured->median > 0)) return std::nullopt;
  return measured->median * 1e9 / measured->ticks_per_second;
}

}  // namespace fettle::records
