// Reads a command line with CLI11: mistakes are one line that names what was typed.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

namespace fettle::app {

// Empty: go on. Else the exit status to end with: after --help or --version, or kUsage after
// `tell` was told what is wrong. Whole numbers are decimal, and refused where they do not fit.
// The commands' own callbacks run in here.
std::optional<int> read_command_line(CLI::App& app, int argc, char** argv,
                                     const std::function<void(const std::string&)>& tell);

}  // namespace fettle::app
