// Options that only some kinds of device know: each kind's row lists its own.
#pragma once

#include <cstdint>
#include <string>

#include "agent/device/device_config.h"
#include "schemas/wire/result.h"

namespace fettle::agent {

struct DeviceOption {
  const char* name;   // on the command line after "--", and in the configuration file
  const char* value;  // what it takes, for the help
  const char* help;
  // InvalidArgument: one line that says which option is wrong and what it takes.
  Result<void> (*set)(DeviceConfig& device, const std::string& value);
};

// "--threads takes …".
Error wrong_option(const std::string& option, const std::string& wants);
// Decimal digits alone, at most `most`.
bool parse_number(const std::string& text, std::uint64_t most, std::uint64_t& out);

}  // namespace fettle::agent
