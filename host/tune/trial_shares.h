// Shares: no task takes the trials of those that cannot have theirs yet.
#pragma once

#include <cstdint>
#include <vector>

#include "host/tune/searcher.h"

namespace fettle::tune {

// The states as the scheduler is to see them when the next of `trials` is given, `proposed` of
// them already: tasks that cannot have it are `exhausted` there. `waits`, by task: its expected
// outputs are not ready, so that a candidate of it could only wait. The others go first, but
// leave those their share of the trials, and each other what every task is owed: searchers get
// ready one after the other. Where nobody could have it, the states are as they were.
std::vector<TaskState> states_by_shares(const std::vector<TaskState>& states,
                                        const std::vector<bool>& waits, std::uint32_t trials,
                                        std::uint32_t proposed);

}  // namespace fettle::tune
