// Which board this is: stable across restarts, different for each of ten alike.
#pragma once

#include <string>

#include "agent/platform/system_root.h"
#include "schemas/device_generated.h"

namespace fettle::agent {

// `model` overrides what the device tree or DMI says. The id is a hash of the
// model with the serial number or machine id: it names the board without telling
// the machine id, which is private to the machine.
wire::BoardT read_board(const SystemRoot& root, const std::string& model,
                        std::uint64_t agent_instance);

const char* agent_version();

}  // namespace fettle::agent
