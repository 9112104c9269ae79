// Names of pools (pool.h).
#include "host/fleet/pool.h"

#include <algorithm>

#include "schemas/wire/clock_domain.h"

namespace fettle::fleet {
namespace {

constexpr const char* kEmulated = " (emulated)";
constexpr const char* kInstructions = " (instructions)";

}  // namespace

std::string pool_of(const std::string& key, const wire::DeviceInfoT& device) {
  const std::string kind = !clock_facts(device.clock).has_rate ? kInstructions
                           : device.emulated                   ? kEmulated
                                                               : "";
  return key.ends_with(kind) ? key : key + kind;
}

std::string key_of_pool(const std::string& pool) {
  for (const std::string_view kind : {kEmulated, kInstructions}) {
    if (pool.ends_with(kind)) return pool.substr(0, pool.size() - kind.size());
  }
  return pool;
}

std::vector<std::string> pools_named(const std::string& key) {
  return {key, key + kEmulated, key + kInstructions};
}

std::vector<std::string> pools_of(const wire::DeviceInfoT& device) {
  std::vector<std::string> pools = {pool_of(device.key, device)};
  for (const std::string& alias : device.aliases) {
    std::string pool = pool_of(alias, device);
    if (std::find(pools.begin(), pools.end(), pool) == pools.end()) {
      pools.push_back(std::move(pool));
    }
  }
  return pools;
}

bool works_in(const wire::DeviceInfoT& device, const std::string& pool) {
  const std::vector<std::string> pools = pools_of(device);
  return std::find(pools.begin(), pools.end(), pool) != pools.end();
}

}  // namespace fettle::fleet
