// The tolerance of a DAG's outputs (tolerance.h).
#include "host/space/tolerance.h"

#include <cmath>

namespace fettle::space {

namespace {

constexpr double kUnit = 0x1p-24;      // half of float32's last place at 1
constexpr double kHalfUnit = 0x1p-11;  // of float16's, and of TF32's
constexpr double kMagnitude = 0.4;     // of results

}  // namespace

Tolerance tolerance_of(const ComputeDag& dag) {
  const ir::DataType type = dag.stages.back().buffer->type;
  // Integers are exact; beyond 2^53 the reference knows them as doubles do.
  if (type.scalar == ir::Scalar::Int64) return {0, 0x1p-53};
  if (!type.is_float()) return {};
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
  return 1 + 2 * kHalfUnit / tolerance_of(dag).absolute;
}

double error_growth_of(const ComputeDag& dag, const Rounding& rounding) {
  const double plain = tolerance_of(dag).absolute;
  if (!rounding.halves || plain == 0) return rounding.growth;
  return rounding.growth * (1 + 8 * 0.3 * kHalfUnit / plain);
}

bool tells_a_missing_term(const ComputeDag& dag, double error_growth) {
  return tolerance_of(dag).absolute * error_growth <=
         kMagnitude / std::sqrt(double(reduction_length(dag)));
}

}  // namespace fettle::space
