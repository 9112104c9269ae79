// A network made into one program for a target.
#pragma once

#include <functional>
#include <stop_token>

#include "host/network/linker.h"

namespace fettle::network {

struct BuildProgress {
  std::size_t done = 0, all = 0;  // tasks compiled
};

// Of each piece: programs that compute it, the most promising first; at least one.
using Alternatives = std::vector<std::vector<BuiltPiece>>;

// Whose schedules a piece gets; they outlive this.
struct PartSchedules {
  PartSchedules(const Schedules& of_rest, const Schedules* of_accelerator = nullptr)
      : rest(of_rest), accelerator(of_accelerator) {}
  const Schedules& rest;
  const Schedules* accelerator;  // null: no piece is accelerated
};

// Compiles each task up to `most` times by different schedules, on `threads` threads of this
// process; equal pieces share programs. The same for the same bindings and schedules, whatever the
// threads. Unsupported: names all nodes that no workload can state, or a task that the target's
// back end does not do; BuildError: one of which no schedule that was tried can be built; Canceled.
Result<Alternatives> compile_pieces(const model::Bindings& bindings, const PartSchedules& schedules,
                                    std::size_t most, unsigned threads, const std::stop_token& stop,
                                    const std::function<void(const BuildProgress&)>& progress);

// Nanoseconds of each layer of a network, as a device measured them.
using LayerTimer = std::function<Result<std::vector<double>>(const LinkedNetwork&)>;

// Of each piece the alternative that is fastest where it stands, among all others, with that time
// as what it is expected to take: weights are not in the cache there, as they are when a task is
// tuned. Times as many networks as a piece has alternatives at most, and what was chosen once more.
// Errors: the timer's; Canceled.
Result<std::vector<BuiltPiece>> fastest_in_place(
    const model::Graph& graph, const model::Bindings& bindings, const Alternatives& alternatives,
    const space::Target& target, const LayerTimer& time_layers, const std::stop_token& stop = {});

// The first of each piece.
std::vector<BuiltPiece> first_of(const Alternatives& alternatives);

}  // namespace fettle::network
