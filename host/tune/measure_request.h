// A built candidate and the outputs expected of it as a request to a board.
#pragma once

#include <string>

#include "host/tune/expected_outputs.h"
#include "schemas/build_generated.h"
#include "schemas/measure_generated.h"
#include "schemas/wire/result.h"

namespace fettle::tune {

// Takes output.program. Tolerances are widened by what its facts say of rounding errors. An
// Error when the program's outputs are others than those expected of the workload `title`.
Result<wire::MeasureRequestT> measure_request(wire::BuildOutputT& output, const Expected& expected,
                                              const wire::MeasureOptionsT& options,
                                              const std::string& title);

}  // namespace fettle::tune
