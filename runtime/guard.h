// Guards around buffers in memory that the CPU cannot watch: bytes of one value on both sides,
// looked at after a run.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace fettle::runtime {

inline constexpr std::uint64_t kGuardBytes = 16384;  // on each side
inline constexpr std::uint8_t kGuardByte = 0x5c;

// "" or what a stray write did to a guard, whose bytes these are: "wrote 4 bytes behind it, …".
std::string guard_damage(std::span<const std::uint8_t> guard, bool behind);
// "" or where data that is only read differs from what it must be. `offset`: of the first byte.
std::string input_damage(std::span<const std::uint8_t> is, std::span<const std::uint8_t> must,
                         std::uint64_t offset);

}  // namespace fettle::runtime
