// Roles of a reduction's axes, read off the loads of its body: what sketches speak of, so that
// they hold for any operator of that structure, whatever its stages and axes are called.
#pragma once

#include <optional>
#include <vector>

#include "host/space/compute_dag.h"

namespace fettle::space {

enum class AxisRole : std::uint8_t {
  Batch,        // in all factors: problems side by side (a batch_matmul's batch, groups)
  Spatial,      // in the first factor only: each element of the second one is used along it
  Channel,      // in the second factor only: each element of the first one is used along it
  Window,       // reduced, and moves an index of the first factor together with a spatial axis
  Contraction,  // reduced, and no window
};

// A spatial axis and the window axis that is added to it: the first factor is read at
// stride * axis + dilation * window.
struct WindowPair {
  std::size_t axis, window;  // of the stage's axes and reduce_axes
  std::int64_t stride, dilation;
};

struct AxisRoles {
  // What is reduced: a product of two loads, or one load (second: null). The second factor is
  // the constant; of two inputs the one that is read along the stage's last axis.
  const ir::Load *first = nullptr, *second = nullptr;
  std::vector<AxisRole> axes, reduce_axes;  // of the stage's, in their order
  std::vector<WindowPair> windows;          // in the order of the first factor's dimensions

  std::vector<std::size_t> axes_of(AxisRole role) const;  // data axes, outermost first
};

// Nothing: the stage reduces neither a load nor, as a sum, a product of two loads, if need be
// widened after reading.
std::optional<AxisRoles> roles_of(const ComputeDag& dag, const Stage& stage);

// The stage's own axis that the index is; null: it is none alone.
const Axis* sole_axis(const Stage& stage, const ir::Expr& index);

// The elementwise copy that the stage reads in place of an input: one with zeros or another
// constant around it (padding), or one of other order or of values moved by a constant. Null:
// there is none. Copies of constants do not count.
const Stage* copy_read_by(const ComputeDag& dag, const Stage& stage);

}  // namespace fettle::space
