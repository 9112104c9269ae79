// One program run on one board beside the loop: calibration, and references of users' kernels.
#pragma once

#include <string>
#include <vector>

#include "host/tune/pipeline.h"

namespace fettle::tune {

// A number that no trial of the loop has, which count from 1; never the same twice, so that an
// outcome of an earlier program is not taken for one of this.
std::uint64_t number_of_its_own();

// Waits for the outcome. Error: there is no broker any more or `stop` was requested (Canceled).
// `others` receives outcomes of trials that were on the boards meanwhile.
Result<wire::OutcomeT> run_on_board(Runner& runner, const std::string& board_id, StopSignal& stop,
                                    const wire::MeasureRequestT& request,
                                    std::vector<Measured>& others);

// The same, a few times while something else disturbs it.
Result<wire::OutcomeT> run_undisturbed(Runner& runner, const std::string& board_id,
                                       StopSignal& stop, const wire::MeasureRequestT& request,
                                       std::vector<Measured>& others);

}  // namespace fettle::tune
