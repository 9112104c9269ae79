// fettle records grant: who may read and who may write the records on a server.
#pragma once

#include <CLI/CLI.hpp>

namespace fettle::app {

void add_grant_command(CLI::App& records, int& status);

}  // namespace fettle::app
