// fettle farm: build workers on an engine that starts and ends them as a broker's queue asks.
#include "host/app/farm.h"

#include "host/app/commands.h"
#include "host/app/connection.h"
#include "schemas/wire/limits.h"

namespace fettle::app {

void add_farm_options(CLI::App& command, FarmCommand& farm) {
  command
      .add_option("--broker", farm.broker,
                  "tcp://HOST:PORT of a `fettle broker`, as the workers reach it")
      ->required();
  command.add_option("--broker-key", farm.broker_key,
                     "The broker's public key (default: of this account's own broker)");
  command
      .add_option("--key", farm.key,
                  "The key pair that all workers are known by; made if there is none")
      ->capture_default_str();
  command.add_option("--max", farm.most, "The most workers at a time")
      ->required()
      ->check(CLI::Range(1u, 10'000u));
  command
      .add_option("--builders", farm.builders,
                  "Compilers of one worker, each with a core of its own")
      ->check(CLI::Range(std::size_t{1}, limits::kDevices))
      ->capture_default_str();
}

Result<farm::WorkerCommand> worker_of(const FarmCommand& farm) {
  if (farm.least > farm.most) {
    throw CLI::ValidationError("--min " + std::to_string(farm.least) + " is more than --max " +
                               std::to_string(farm.most));
  }
  // Made here, if it is not there: not by many workers at once.
  auto address = broker_address(farm.broker, farm.broker_key, farm.key);
  if (!address) return std::move(address).error();
  farm::WorkerCommand worker;
  worker.broker = address->url;
  worker.broker_key = address->public_key;
  worker.key = farm.key;
  worker.builders = farm.builders;
  return worker;
}

void add_farm_command(CLI::App& app, int& status) {
  auto* farm = app.add_subcommand(
      "farm", "Build workers on Slurm or Kubernetes, as many as a broker's queue asks for");
  farm->require_subcommand(1);
  add_farm_slurm_command(*farm, status);
  add_farm_kubernetes_command(*farm, status);
}

}  // namespace fettle::app
