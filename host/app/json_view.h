// A session as JSON: the objects that `fettle tune --json` prints, one a line.
#pragma once

#include <nlohmann/json.hpp>

#include "host/tune/listener.h"

namespace fettle::app {

nlohmann::json trial_json(std::size_t task, const records::TuningRecord& record,
                          const tune::Progress& progress);
nlohmann::json finals_json(std::size_t task, std::span<const records::Confirmation> confirmations,
                           const tune::Progress& progress);
nlohmann::json summary_json(const tune::TuneSummary& summary);

// On stdout, flushed: a reader at the other end of a pipe sees it at once.
void print_json_line(const nlohmann::json& object);

}  // namespace fettle::app
