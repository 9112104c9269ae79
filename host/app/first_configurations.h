// What `fettle tune --first` reads: configurations that were good elsewhere, tried before others.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/backend/backend.h"
#include "host/space/workload.h"

namespace fettle::app {

// Of a log that AutoTVM wrote on VTA, for each of the tasks: the fastest there first, ten at most.
// Lines that are nothing for any of them are told as warnings. NotFound, Io: the file;
// Unsupported: `target` is not the VTA accelerator.
Result<std::vector<std::vector<space::Configuration>>> first_configurations(
    const std::string& path, const std::vector<space::Task>& tasks,
    const std::vector<std::unique_ptr<const backend::Task>>& opened, const space::Target& target);

}  // namespace fettle::app
