// A page's data as an event: one line of JSON, with the time that it was written at.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace fettle::web {

// Bytes that are no UTF-8 become U+FFFD.
std::string event_text(nlohmann::json data);

}  // namespace fettle::web
