// Nominal operations of a DAG (operations.h).
#include "host/space/operations.h"

#include "host/ir/operation_count.h"

namespace fettle::space {

double nominal_operations(const ComputeDag& dag) {
  double sum = 0;
  for (const Stage& stage : dag.stages) {
    if (stage.placeholder()) continue;
    double iterations = 1;
    for (const auto* axes : {&stage.axes, &stage.reduce_axes}) {
      for (const Axis& axis : *axes) iterations *= double(axis.extent);
    }
    const ir::OperationCount body = ir::operations_of(stage.body);
    const double combined = stage.reduce_axes.empty() ? 0 : 1;
    sum += iterations * (body.floating + body.integer + combined);
  }
  return sum;
}

}  // namespace fettle::space
