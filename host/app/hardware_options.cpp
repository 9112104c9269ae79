// --hardware (hardware_options.h).
#include "host/app/hardware_options.h"

#include <algorithm>
#include <charconv>

namespace fettle::app {
namespace {

struct Key {
  const char* name;
  std::int64_t low, high;
  void (*apply)(space::Target&, std::int64_t);
};

void set_cache(space::Target& target, int level, std::int64_t bytes) {
  for (space::CacheLevel& cache : target.caches) {
    if (cache.level == level) {
      cache.bytes = bytes;
      return;
    }
  }
  target.caches.push_back({level, bytes, 64, 1});
  std::sort(target.caches.begin(), target.caches.end(),
            [](const auto& a, const auto& b) { return a.level < b.level; });
}

constexpr std::int64_t kGiB = std::int64_t{1} << 30;
constexpr Key kKeys[] = {
    {"threads", 1, 1024, nullptr},
    {"vector_bits", 32, 2048,
     [](space::Target& t, std::int64_t v) { t.vector_bits = static_cast<int>(v); }},
    {"vector_registers", 4, 256,
     [](space::Target& t, std::int64_t v) { t.vector_registers = static_cast<int>(v); }},
    {"l1_bytes", 1024, kGiB, [](space::Target& t, std::int64_t v) { set_cache(t, 1, v); }},
    {"l2_bytes", 1024, kGiB, [](space::Target& t, std::int64_t v) { set_cache(t, 2, v); }},
    {"l3_bytes", 1024, kGiB, [](space::Target& t, std::int64_t v) { set_cache(t, 3, v); }},
    {"memory_bytes", 1 << 20, 1024 * kGiB,
     [](space::Target& t, std::int64_t v) { t.memory_bytes = v; }},
};

Error wrong(const std::string& what) {
  std::string known;
  for (const Key& key : kKeys) known += (known.empty() ? "" : ", ") + std::string(key.name);
  return Error{
      ErrorCode::InvalidArgument, what + "; it takes key=value,… with the keys " + known, {}};
}

}  // namespace

const char* const kHardwareHelp =
    "Corrections to what the board says of itself: key=value,… with threads, vector_bits, "
    "vector_registers, l1_bytes, l2_bytes, l3_bytes, memory_bytes";

Result<HardwareOptions> parse_hardware(const std::string& text) {
  HardwareOptions options;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string item = text.substr(at, end - at);
    at = end + 1;
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos) return wrong("holds \"" + item + "\"");
    const std::string name = item.substr(0, equals), value = item.substr(equals + 1);
    const Key* key = std::find_if(std::begin(kKeys), std::end(kKeys),
                                  [&](const Key& k) { return name == k.name; });
    if (key == std::end(kKeys)) return wrong("does not know \"" + name + "\"");
    std::int64_t number = 0;
    const auto parsed = std::from_chars(value.data(), value.data() + value.size(), number);
    if (parsed.ec != std::errc() || parsed.ptr != value.data() + value.size() ||
        number < key->low || number > key->high) {
      return wrong(name + " wants a whole number from " + std::to_string(key->low) + " to " +
                   std::to_string(key->high) + ", not \"" + value + "\"");
    }
    if (key->apply) {
      options.facts.emplace_back(name, number);
    } else {
      options.threads = static_cast<int>(number);
    }
  }
  return options;
}

Result<space::Target> target_of(const wire::DeviceInfoT& device, const HardwareOptions& options) {
  const int cores =
      device.cpu && !device.cpu->cores.empty() ? static_cast<int>(device.cpu->cores.size()) : 1;
  if (options.threads > cores) {
    return Error{ErrorCode::InvalidArgument,
                 "--hardware threads=" + std::to_string(options.threads) + ": the device " +
                     device.key + " has " + std::to_string(cores) + " core(s)",
                 {}};
  }
  auto target = space::target_for(device, options.threads ? options.threads : cores);
  if (!target) return target;
  for (const auto& [name, value] : options.facts) {
    for (const Key& key : kKeys) {
      if (name == key.name) key.apply(*target, value);
    }
  }
  return target;
}

}  // namespace fettle::app
