// What a shell needs to complete a command line, written from the command line's own description.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace fettle::app {

// Names that a command takes as its first word beside files, by the command ("zoo").
using NamesOfCommands = std::map<std::string, std::vector<std::string>>;

// A script for bash (and zsh's bashcompinit) to be sourced: commands, options, the choices that an
// option has, `names`, and files where a word may be one. It runs no program.
std::string bash_completion(const CLI::App& app, const NamesOfCommands& names);

}  // namespace fettle::app
