// Pools: the devices of one key whose times may be compared. A session has the devices of
// one pool; a board, its emulation and a machine that counts instructions never share one.
#pragma once

#include <string>
#include <vector>

#include "schemas/device_generated.h"

namespace fettle::fleet {

// Where `device` works under `key`: "pynq" for a board's own time, "pynq (emulated)",
// "pynq (instructions)". A pool's name is its own.
std::string pool_of(const std::string& key, const wire::DeviceInfoT& device);

// The key of a pool's name, which is that of its records.
std::string key_of_pool(const std::string& pool);

// The pools that a key may mean, the board's own first.
std::vector<std::string> pools_named(const std::string& key);

// The pools of a device: under its own key, then under its aliases.
std::vector<std::string> pools_of(const wire::DeviceInfoT& device);

bool works_in(const wire::DeviceInfoT& device, const std::string& pool);

}  // namespace fettle::fleet
