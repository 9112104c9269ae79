// --hardware (hardware_options.h).
#include "host/app/hardware_options.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "host/backend/backend.h"

namespace fettle::app {
namespace {

// "threads, vector_bits, …": of one back end, or of all, each once.
std::string keys_of(const backend::Backend* only) {
  std::string text;
  std::set<std::string> listed;
  for (const backend::Backend* each : backend::backends()) {
    if (only && each != only) continue;
    for (const backend::HardwareKey& key : each->hardware_keys()) {
      if (!listed.insert(key.name).second) continue;
      text += (text.empty() ? "" : ", ") + std::string(key.name);
    }
  }
  return text.empty() ? "none" : text;
}

const backend::HardwareKey* find_key(const backend::Backend& backend, const std::string& name) {
  for (const backend::HardwareKey& key : backend.hardware_keys()) {
    if (name == key.name) return &key;
  }
  return nullptr;
}

Error wrong(const std::string& what, const backend::Backend* only = nullptr) {
  return {ErrorCode::InvalidArgument,
          what + "; it takes key=value,… with the keys " + keys_of(only)};
}

std::string bounds_text(const backend::HardwareKey& key, const std::string& value) {
  return std::string(key.name) + " wants a whole number from " + std::to_string(key.low) + " to " +
         std::to_string(key.high) + ", not \"" + value + "\"";
}

}  // namespace

std::string hardware_help() {
  return "Corrections to what the board says of itself: key=value,… with " + keys_of(nullptr);
}

Result<backend::Hardware> parse_hardware(const std::string& text) {
  backend::Hardware hardware;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string item = text.substr(at, end - at);
    at = end + 1;
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos) return wrong("holds \"" + item + "\"");
    const std::string name = item.substr(0, equals), value = item.substr(equals + 1);
    std::int64_t number = 0;
    const auto parsed = std::from_chars(value.data(), value.data() + value.size(), number);
    const bool whole = parsed.ec == std::errc() && parsed.ptr == value.data() + value.size();
    const backend::HardwareKey* known = nullptr;
    bool fits = false;
    for (const backend::Backend* each : backend::backends()) {
      if (const backend::HardwareKey* key = find_key(*each, name)) {
        known = key;
        fits |= whole && number >= key->low && number <= key->high;
      }
    }
    if (!known) return wrong("does not know \"" + name + "\"");
    if (!fits) return wrong(bounds_text(*known, value));
    hardware.push_back({name, number});
  }
  return hardware;
}

Result<space::Target> target_of(const wire::DeviceInfoT& device,
                                const backend::Hardware& hardware) {
  for (const backend::Backend* each : backend::backends()) {
    if (!each->serves(device.kind)) continue;
    for (const backend::HardwareValue& given : hardware) {
      const backend::HardwareKey* key = find_key(*each, given.name);
      if (!key) {
        return wrong("--hardware: " + device.key + " knows no \"" + given.name + "\"", each);
      }
      if (given.value < key->low || given.value > key->high) {
        return wrong("--hardware: " + bounds_text(*key, std::to_string(given.value)), each);
      }
    }
    break;
  }
  return backend::target_for(device, hardware);
}

}  // namespace fettle::app
