// Programs that searches go by, measured again. The least of thousands of times is one that was
// measured well by luck: a bar that no other measurement of the same program reaches. And a machine
// may be faster in one search than in another: a time that is off by the 5 % that a search may lack
// tells nothing. So the fastest programs of each layer are measured again, and with them the claims
// of its searches: each program that was the fastest of its search yet, if it came near the fastest
// of all. All in turns, so that they meet the same machine. The bar is the least median of these,
// and what a search had is told by what its programs take there.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/backend/backend.h"
#include "host/records/record.h"
#include "tests/bench/local_loop.h"

namespace fettle::bench {

constexpr std::size_t kConfirmedPrograms = 6;  // of a layer
constexpr unsigned kConfirmingRounds = 5;      // measurements of each of them
constexpr unsigned kClaimRounds = 3;           // measurements of a claim
constexpr double kNear = 1.3;                  // times the least time: a claim's, at most

using Records = std::vector<records::TuningRecord>;

struct ConfirmedLayer {
  const space::Task* task = nullptr;
  const backend::Task* opened = nullptr;
  Records trials;                 // of all searches of it
  std::vector<Records> searches;  // each by itself
};

// The sessions in which they are measured: others are of other programs, and of another day's
// machine.
std::string confirming_session(const std::vector<ConfirmedLayer>& layers);

// Measures what is missing, all layers in each of the rounds, in sessions of that name. A Ctrl-C
// ends it early; no Error.
Result<void> confirm_bests(LocalLoop& loop, const std::vector<ConfirmedLayer>& layers);

struct Confirmation {
  std::optional<double> best;           // nanoseconds; empty: not all have been measured so often
  std::map<std::string, double> times;  // nanoseconds, by program_hash
  double near = 0;  // nanoseconds as measured in searches: whose programs were measured again
};
Result<Confirmation> confirmation_of(LocalLoop& loop, const ConfirmedLayer& layer,
                                     const std::string& session);

// Of a search's trials: what their programs take. As they were measured, where they came not near;
// empty for those that came near and were never the fastest of their search.
std::vector<std::optional<double>> confirmed_times(const Records& search,
                                                   const Confirmation& confirmation);

}  // namespace fettle::bench
