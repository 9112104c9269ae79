// --hardware: what a user corrects of what a device says of itself. Each kind has its own keys.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fettle::backend {

struct HardwareKey {
  const char* name;
  std::int64_t low, high;  // both included
};

struct HardwareValue {
  std::string name;
  std::int64_t value;
};

using Hardware = std::vector<HardwareValue>;

// What the last of that name says; none: it was not given.
std::optional<std::int64_t> value_of(std::span<const HardwareValue> hardware,
                                     const std::string& name);

}  // namespace fettle::backend
