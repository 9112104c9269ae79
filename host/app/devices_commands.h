// The subcommands of `fettle devices`: each adds itself to it.
#pragma once

#include <CLI/CLI.hpp>

namespace fettle::app {

// reserve and release.
void add_reserve_commands(CLI::App& devices, int& status);
// check.
void add_check_command(CLI::App& devices, int& status);

}  // namespace fettle::app
