// Guards around buffers in memory that the CPU cannot watch: bytes of one value on both sides,
// looked at after a run.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "schemas/program_generated.h"

namespace fettle::runtime {

inline constexpr std::uint64_t kGuardBytes = 16384;  // on each side

// Of a buffer of that role. Those of what is read differ from those of what is written: a copy of
// one more element than there are would else leave a guard as it was.
std::uint8_t guard_byte(wire::BufferRole role);
// "" or what a stray write did to a guard, whose bytes these are: "wrote 4 bytes behind it, …".
// byte: what each was.
std::string guard_damage(std::span<const std::uint8_t> guard, std::uint8_t byte, bool behind);
// "" or where data that is only read differs from what it must be. `offset`: of the first byte.
std::string input_damage(std::span<const std::uint8_t> is, std::span<const std::uint8_t> must,
                         std::uint64_t offset);

}  // namespace fettle::runtime
