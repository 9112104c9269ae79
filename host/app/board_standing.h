// How a broker's boards and sessions stand, as `fettle devices` tells it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "schemas/protocol_generated.h"

namespace fettle::app {

// Of devices[i]; null: the broker is older than standings.
const wire::BoardStandingT* standing_of(const wire::DeviceStatusT& key, std::size_t i);

// "free for all" is "": who has it and how long, and what is wrong with it.
std::string standing_text(const wire::BoardStandingT& standing);
nlohmann::json standing_json(const wire::BoardStandingT& standing);

// Those of one key.
nlohmann::json sessions_json(const wire::DeviceListT& list, const std::string& key);
// A table of all; nothing where there are none.
void print_sessions(const wire::DeviceListT& list);

}  // namespace fettle::app
