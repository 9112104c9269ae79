// How a function is launched on a GPU (launch_shape.h).
#include "host/lower/gpu/launch_shape.h"

#include <algorithm>

#include "host/ir/mutator.h"

namespace fettle::lower {

std::int64_t& LaunchShape::along(ir::ThreadAxis axis) {
  const bool thread = ir::within_block(axis);
  const int first = int(thread ? ir::ThreadAxis::ThreadX : ir::ThreadAxis::BlockX);
  return (thread ? block : grid)[std::size_t(int(axis) - first)];
}
std::int64_t LaunchShape::along(ir::ThreadAxis axis) const {
  return LaunchShape(*this).along(axis);
}

bool has_barrier(const ir::Stmt& stmt) {
  bool found = false;
  ir::walk(
      stmt,
      [&](const ir::Stmt& s) {
        found |= std::holds_alternative<ir::Barrier>(s->node) ||
                 std::holds_alternative<ir::TileCall>(s->node);
      },
      nullptr);
  return found;
}

LaunchShape launch_shape(const ir::Function& function) {
  LaunchShape shape;
  ir::walk(
      function.body,
      [&](const ir::Stmt& s) {
        if (const auto* loop = std::get_if<ir::For>(&s->node);
            loop && loop->kind == ir::ForKind::Bound) {
          const std::int64_t* extent = ir::as_int(loop->extent);
          std::int64_t& size = shape.along(loop->axis);
          size = std::max(size, extent ? *extent : 1);
        }
        const auto* allocate = std::get_if<ir::Allocate>(&s->node);
        if (allocate && ir::row_of(allocate->buffer->scope).sharing == ir::Sharing::Block) {
          const std::int64_t alignment = allocate->buffer->alignment,
                             bytes = allocate->buffer->elements() * allocate->buffer->type.bytes();
          shape.shared_bytes += (bytes + alignment - 1) / alignment * alignment;
        }
      },
      nullptr);
  return shape;
}

const char* exceeds(const LaunchShape& shape, const space::GpuTarget& target) {
  if (shape.threads() > target.threads_per_block) return "its blocks have too many threads";
  if (shape.shared_bytes > target.shared_bytes) return "its blocks share too much memory";
  if (shape.grid[0] > target.grid_x || shape.grid[1] > target.grid_yz ||
      shape.grid[2] > target.grid_yz) {
    return "its grid is too long";
  }
  return nullptr;
}

}  // namespace fettle::lower
