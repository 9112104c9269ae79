// The best time of a layer, measured again. The least of thousands of times is one that was
// measured well by luck: a bar that no other measurement of the same program reaches. So the
// fastest programs are measured some times more, in turns, and the least of their medians is the
// bar.
//
// A machine may by then be faster than it was while the searches ran, or slower, and a bar that is
// off by the 5 % that the searches may lack is none. So programs of middling times, which no luck
// chose, are measured again beside the fastest: they tell by how much.
#pragma once

#include <optional>
#include <vector>

#include "host/backend/backend.h"
#include "host/records/record.h"
#include "tests/bench/local_loop.h"

namespace fettle::bench {

constexpr std::size_t kConfirmedPrograms = 6;  // of a layer
constexpr std::size_t kWitnesses = 7;          // of a layer: programs of middling times
constexpr unsigned kConfirmingRounds = 5;      // measurements of each of them

struct ConfirmedLayer {
  const space::Task* task = nullptr;
  const backend::Task* opened = nullptr;
  std::vector<records::TuningRecord> trials;  // of all searches of it
};

// Measures what is missing, all layers in each of the rounds, in sessions of their own. Nothing
// is missing where the same programs were confirmed before. A Ctrl-C ends it early; no Error.
Result<void> confirm_bests(LocalLoop& loop, const std::vector<ConfirmedLayer>& layers);

struct ConfirmedBest {
  double nanoseconds = 0;  // as the searches would have measured it
  double drift = 1;        // of the machine: a time of the searches, of the same one measured again
};

// Empty: its programs have not all been measured so often.
Result<std::optional<ConfirmedBest>> confirmed_best(LocalLoop& loop, const ConfirmedLayer& layer);

}  // namespace fettle::bench
