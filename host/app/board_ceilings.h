// The ceilings of the board at hand: from the database, or measured now, once.
#pragma once

#include "host/records/database.h"
#include "host/space/target.h"
#include "host/tune/calibrate.h"

namespace fettle::app {

// A board that gives no figures is a warning, not an error: the peak is then its data
// sheet's (the target profile); without one there is no % of peak and no check of
// plausibility. What was measured is compared with the data sheet.
Result<tune::Roofline> board_ceilings(records::Database& database, tune::Runner& runner,
                                      tune::StopSignal& stop, const space::Target& target,
                                      const std::string& device_key);

// Measured once more and put together with what was known: the better figure counts.
Result<tune::Roofline> raise_ceilings(records::Database& database, tune::Runner& runner,
                                      tune::StopSignal& stop, const space::Target& target,
                                      const std::string& device_key,
                                      std::vector<tune::Measured>& others);

}  // namespace fettle::app
