// `fettle-bench neighbours`: whether another hardware thread takes a part of a core, as the
// siblings of a virtual machine's cores may that belong to somebody else. Neither stolen ticks nor
// the clock show it.
#pragma once

#include <optional>

#include "schemas/wire/result.h"

namespace CLI {
class App;
}

namespace fettle::bench {

struct NeighboursOptions {
  std::optional<int> core;  // without it: the last usable one, which local devices take, too
  double seconds = 5;
  bool json = false;
};

// The command, which fills `options`; they outlive the parsing.
CLI::App* add_neighbours_command(CLI::App& app, NeighboursOptions& options);

// Prints what it saw; until Ctrl-C or the end of its time. Error: the core is not this process's.
Result<void> run_neighbours(const NeighboursOptions& options);

}  // namespace fettle::bench
