// The subcommands: each adds itself to the command line and leaves its exit
// status in `status` when it was the one asked for.
#pragma once

#include <cstdint>
#include <limits>

#include <CLI/CLI.hpp>

namespace fettle::app {

// A record's number as an argument. (CLI::PositiveNumber compares, and tells, floating point.)
inline const CLI::Range kRecordNumber(std::int64_t{1}, std::numeric_limits<std::int64_t>::max(),
                                      "POSITIVE");

void add_tune_command(CLI::App& app, int& status);
void add_tasks_command(CLI::App& app, int& status);
void add_build_command(CLI::App& app, int& status);
void add_export_command(CLI::App& app, int& status);
void add_run_command(CLI::App& app, int& status);
void add_zoo_command(CLI::App& app, int& status);
void add_quantize_command(CLI::App& app, int& status);
void add_devices_command(CLI::App& app, int& status);
void add_broker_command(CLI::App& app, int& status);
void add_build_worker_command(CLI::App& app, int& status);
void add_farm_command(CLI::App& app, int& status);
void add_records_command(CLI::App& app, int& status);
void add_flash_command(CLI::App& app, int& status);
void add_keys_command(CLI::App& app, int& status);
void add_explain_command(CLI::App& app, int& status);
void add_completion_command(CLI::App& app, int& status);

}  // namespace fettle::app
