// How a function is launched on a GPU: its blocks, their threads and their memory.
#pragma once

#include <array>
#include <cstdint>

#include "host/ir/module.h"
#include "host/space/gpu_target.h"

namespace fettle::lower {

struct LaunchShape {
  std::array<std::int64_t, 3> grid{1, 1, 1}, block{1, 1, 1};  // along x, y, z: longest loops
  std::int64_t shared_bytes = 0;                              // of all arrays that a block shares
  std::int64_t threads() const { return block[0] * block[1] * block[2]; }
  std::int64_t blocks() const { return grid[0] * grid[1] * grid[2]; }
  std::int64_t& along(ir::ThreadAxis axis);  // not None
  std::int64_t along(ir::ThreadAxis axis) const;
};

LaunchShape launch_shape(const ir::Function& function);

// Threads wait for one another somewhere in it.
bool has_barrier(const ir::Stmt& stmt);

// What of it the device cannot do, in a few words; null: it can.
const char* exceeds(const LaunchShape& shape, const space::GpuTarget& target);

}  // namespace fettle::lower
