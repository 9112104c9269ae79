// What the figures of a measurement may be, wherever it comes from.
#pragma once

#include "schemas/measure_generated.h"
#include "schemas/wire/result.h"

namespace fettle {

// Malformed: a median that is no positive number, other figures that are negative or no numbers,
// samples of no runs or fewer than are borrowed, too many launches. One without any samples, as a
// replay makes it, is fine here.
Result<void> check_measurement(const wire::MeasurementT& measurement);

}  // namespace fettle
