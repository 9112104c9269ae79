// Where buffers live and which threads run a loop, on any device: two tables. A back end takes
// the rows that its device has and refuses the others.
#pragma once

#include <cstdint>

namespace fettle::ir {

// Who sees what a buffer holds, or which of them a bound loop's iterations are.
enum class Sharing : std::uint8_t { Program, Block, Warp, Thread };

enum class Scope : std::uint8_t {
  Global,       // a buffer of the Program, passed by address
  Thread,       // memory of one thread: too large for registers
  Register,     // of one thread; a tile whose every index is constant after unrolling
  BlockShared,  // memory of a block's threads
  Fragment,     // tiles in registers of threads that go together; only TileCalls reach them
  // An accelerator's own memories.
  InputScratchpad,
  WeightScratchpad,
  AccumulatorScratchpad
};

struct ScopeRow {
  const char* name;
  Sharing sharing;
};
const ScopeRow& row_of(Scope scope);

// What a bound loop's variable is: where the device's grid of blocks, or a block's threads,
// stand along one axis.
enum class ThreadAxis : std::uint8_t { None, BlockX, BlockY, BlockZ, ThreadX, ThreadY, ThreadZ };

struct ThreadAxisRow {
  const char* name;
  Sharing sharing;  // Block: its values are blocks; Thread: threads of one block
};
const ThreadAxisRow& row_of(ThreadAxis axis);

// The axis tells threads of one block apart.
inline bool within_block(ThreadAxis axis) {
  return axis != ThreadAxis::None && row_of(axis).sharing == Sharing::Thread;
}

}  // namespace fettle::ir
