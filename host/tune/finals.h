// Finals: when all trials are made, the fastest programs of each task are measured again, by turns
// on one board, so that a moment's speed is the same for all of them. What they take then decides
// between them.
//
// A board may be slower at the end than it was on average, or faster: times of the finals are told
// at the speed of the trials (by the median of the finalists), so that other trials, of this
// session and of later ones, compare with them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "host/tune/finalists.h"
#include "host/tune/tune.h"

namespace fettle::tune {

inline constexpr unsigned kFinalRounds = 3;  // measurements of each finalist

// How many finalists a task of so many trials has, `most` at most; 0: no finals.
std::size_t finalist_count(std::uint32_t trials, std::size_t most);

// [finalist] nanoseconds by which it compares with other trials, from those of its trial and those
// of the finals by [round][finalist].
std::vector<double> final_times(const std::vector<double>& trials,
                                const std::vector<std::vector<double>>& rounds);

// Confirms in parts.records what each task's finalists take, and tells the task's best time in
// `progress`. Nothing is done where earlier sessions' finals decided on all of them. A task whose
// finalists cannot all be measured any more stays as its trials left it, with a warning; a lost
// board ends the finals. `tick` is called now and then. Error: Canceled by parts.stop, which leaves
// the tasks that were done; what parts say.
Result<void> hold_finals(std::vector<TuneTask>& tasks, const space::Target& target,
                         const TuneOptions& options, TuneParts& parts,
                         const std::vector<Finalists>& finalists, Progress& progress,
                         const std::function<void()>& tick);

}  // namespace fettle::tune
