// The tolerance of a DAG's outputs (tolerance.h).
#include "host/space/tolerance.h"

#include <cmath>

namespace fettle::space {

Tolerance tolerance_of(const ComputeDag& dag) {
  constexpr double kUnit = 0x1p-24;
  if (!dag.stages.back().buffer->type.is_float()) return {};  // integers are exact
  Tolerance tolerance = dag.tolerance.value_or(
      Tolerance{4 * kUnit * std::sqrt(double(reduction_length(dag))), 4 * kUnit});
  tolerance.absolute += dag.tail_error;
  if (dag.stages.back().buffer->type.scalar == ir::Scalar::Float16) {
    tolerance.absolute += 0x1p-24;
    tolerance.relative += 0x1p-10;
  }
  return tolerance;
}

double tf32_error_growth(const ComputeDag& dag) {
  if (dag.tolerance) return 1;
  return 1 + 2 * 0x1p-11 / tolerance_of(dag).absolute;
}

}  // namespace fettle::space
