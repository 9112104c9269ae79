// The subcommands: each adds itself to the command line and leaves its exit
// status in `status` when it was the one asked for.
#pragma once

#include <CLI/CLI.hpp>

namespace fettle::app {

void add_tune_command(CLI::App& app, int& status);
void add_devices_command(CLI::App& app, int& status);
void add_broker_command(CLI::App& app, int& status);
void add_build_worker_command(CLI::App& app, int& status);
void add_records_command(CLI::App& app, int& status);
void add_flash_command(CLI::App& app, int& status);
void add_keys_command(CLI::App& app, int& status);
void add_explain_command(CLI::App& app, int& status);

}  // namespace fettle::app
