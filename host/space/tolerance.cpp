// The tolerance of a DAG's outputs (tolerance.h).
#include "host/space/tolerance.h"

#include <cmath>

namespace fettle::space {

namespace {

constexpr double kUnit = 0x1p-24;      // half of float32's last place at 1
constexpr double kHalfUnit = 0x1p-11;  // of float16's
constexpr double kMagnitude = 0.4;     // of results

}  // namespace

Tolerance tolerance_of(const ComputeDag& dag) {
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
