// The best time of a layer, measured again. The least of thousands of times is one that was
// measured well by luck: a bar that no other measurement of the same program reaches. So the
// fastest programs are measured some times more, in turns, and the least of their medians is the
// bar.
//
// A machine may by then be faster than it was in a search, or slower, and a bar that is off by the
// 5 % that a search may lack is none. So programs of middling times of each search, which no luck
// chose, are measured again beside the fastest: they tell by how much.
#pragma once

#include <optional>
#include <vector>

#include "host/backend/backend.h"
#include "host/records/record.h"
#include "tests/bench/local_loop.h"

namespace fettle::bench {

constexpr std::size_t kConfirmedPrograms = 6;  // of a layer
constexpr unsigned kConfirmingRounds = 5;      // measurements of each of them
constexpr std::size_t kWitnesses = 3;          // of a search: programs of middling times
constexpr unsigned kWitnessRounds = 2;         // measurements of each of them

using Records = std::vector<records::TuningRecord>;

struct ConfirmedLayer {
  const space::Task* task = nullptr;
  const backend::Task* opened = nullptr;
  Records trials;                 // of all searches of it
  std::vector<Records> searches;  // each by itself
};

// Measures what is missing, all layers in each of the rounds, in sessions of their own. Nothing
// is missing where the same programs were confirmed before. A Ctrl-C ends it early; no Error.
Result<void> confirm_bests(LocalLoop& loop, const std::vector<ConfirmedLayer>& layers);

struct Confirmation {
  std::optional<double> best;  // nanoseconds; empty: not all have been measured so often
  // [search] of the machine: a time of the search, of the same program's when the best was
  // confirmed. 1 where that is not known.
  std::vector<double> drifts;
};
Result<Confirmation> confirmation_of(LocalLoop& loop, const ConfirmedLayer& layer);

}  // namespace fettle::bench
