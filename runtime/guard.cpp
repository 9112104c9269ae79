// What guards tell (guard.h).
#include "runtime/guard.h"

#include <algorithm>

namespace fettle::runtime {

std::uint8_t guard_byte(wire::BufferRole role) {
  const bool read = role == wire::BufferRole::Input || role == wire::BufferRole::Constant;
  return read ? 0x39 : 0x5c;
}

std::string guard_damage(std::span<const std::uint8_t> guard, std::uint8_t byte, bool behind) {
  std::uint64_t changed = 0, nearest = 0;
  for (std::uint64_t i = 0; i < guard.size(); ++i) {
    if (guard[i] == byte) continue;
    const std::uint64_t distance = behind ? i : guard.size() - 1 - i;
    nearest = changed == 0 ? distance : std::min(nearest, distance);
    ++changed;
  }
  if (changed == 0) return "";
  return "wrote " + std::to_string(changed) + " bytes " + (behind ? "behind" : "before") +
         " it, the nearest " + std::to_string(nearest) + " bytes off its " +
         (behind ? "end" : "start");
}

std::string input_damage(std::span<const std::uint8_t> is, std::span<const std::uint8_t> must,
                         std::uint64_t offset) {
  const auto differs = std::mismatch(is.begin(), is.end(), must.begin());
  if (differs.first == is.end()) return "";
  return "wrote to it, which is only read, at byte " +
         std::to_string(offset + static_cast<std::uint64_t>(differs.first - is.begin()));
}

}  // namespace fettle::runtime
