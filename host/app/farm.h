// What the subcommands of `fettle farm` share: which broker, and what its workers are.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "host/farm/worker_command.h"
#include "schemas/wire/result.h"

namespace fettle::app {

struct FarmCommand {
  std::string broker, broker_key, key = "builder";
  unsigned least = 0, most = 0, builders = 1;
};

void add_farm_options(CLI::App& command, FarmCommand& farm);

// The worker's command, but for its program. Fails for a --min over --max, and as broker_address().
Result<farm::WorkerCommand> worker_of(const FarmCommand& farm);

void add_farm_slurm_command(CLI::App& farm, int& status);
void add_farm_kubernetes_command(CLI::App& farm, int& status);

}  // namespace fettle::app
