// What a trial's outcome means to a session: whether it can be relied on, how the searchers
// rank it, how failures are summed up.
#pragma once

#include <string>

#include "schemas/measure_generated.h"

namespace fettle::tune {

// The environment's doing, not the candidate's: another try may end otherwise, so
// the outcome is neither reused, nor told as knowledge, nor resumed.
bool transient(const wire::OutcomeT& outcome);
// Of those, the builder's: no room for its files, no compiler there.
bool builder_failed(const wire::FailureT& failure);

// "stage code": failures of one cause are counted together.
std::string cause_of(const wire::FailureT& failure);

// What the searcher ranks by, from `ticks`, one of the measurement's statistics: ns per run,
// or ticks of a clock that does not count time. Of a trial that racing stopped it is what few
// samples say, not how slow the program is for certain.
double score_of(const wire::MeasurementT& measurement, double ticks);

}  // namespace fettle::tune
