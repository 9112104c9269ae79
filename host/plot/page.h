// A plot as one HTML file that needs nothing else, not even a network.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "host/records/database.h"

namespace fettle::plot {

// `data` as plot_data.h says; `title` for people. Any text may be in either: it
// stays text. Scripts are allowed by their hashes only (Content-Security-Policy),
// so that markup from a database could not run even if it became markup.
std::string page(const nlohmann::json& data, const std::string& title);

}  // namespace fettle::plot
