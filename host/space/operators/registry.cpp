// The table of operators (operator.h).
#include "host/space/operators/operator.h"

namespace fettle::space {

namespace {
const Operator* const kOperators[] = {
    &kConv2d,          &kDense,       &kDepthwiseConv2d, &kMaxPool2d, &kAvgPool2d,
    &kGlobalAvgPool2d, &kBatchMatmul, &kElementwise,     &kPad,       &kTranspose,
    &kReduce,          &kSoftmax,     &kLayerNorm,       &kConv3d,    &kConv2dTranspose};
}

const Operator* find_operator(const std::string& name) {
  for (const Operator* op : kOperators) {
    if (name == op->name) return op;
  }
  return nullptr;
}

std::vector<std::string> operator_names() {
  std::vector<std::string> names;
  for (const Operator* op : kOperators) names.push_back(op->name);
  return names;
}

}  // namespace fettle::space
