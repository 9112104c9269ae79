// Where machine code of images lies in this process.
//
// A process may bound that to one region, reserved beforehand: a worker does, so that its
// system-call filter can tell a loader's request for executable memory from anyone else's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/memory.h"
#include "schemas/wire/result.h"

namespace fettle::runtime {

// Of address space, not of memory.
inline constexpr std::size_t kCodeArenaBytes = std::size_t{sizeof(void*) == 4 ? 64 : 128} << 20;

// From now on take_code_memory() takes of these bytes alone. As many behind them are reserved too
// and stay unused, so that a range of at most that length which begins inside ends inside; and both
// have the same upper 32 bits. Once per process; a forked child has its parent's. OutOfMemory.
Result<AddressRange> reserve_code_arena();
AddressRange code_arena();  // empty: none was reserved

// Whole pages, readable and writable, all zeros; a page before them is out of reach in an arena.
// `bytes` is a multiple of the page size. Null: there is no room.
std::uint8_t* take_code_memory(std::size_t bytes);
void give_back_code_memory(std::uint8_t* memory, std::size_t bytes);

}  // namespace fettle::runtime
