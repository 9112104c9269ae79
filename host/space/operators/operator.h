// Operator: what one kind of operator adds: its fields, its DAG, its words. The
// table is in registry.cpp; a new operator is a new file and a row there.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "host/space/compute_dag.h"
#include "host/space/operators/operator_call.h"
#include "schemas/wire/result.h"

namespace fettle::space {

struct Operator {
  const char* name;
  // Checks the fields and returns them complete, defaults filled in.
  Result<nlohmann::json> (*canonical)(const nlohmann::json& fields);
  ComputeDag (*dag)(const OperatorCall& call);
  // Nominal operations of the operator without its tail, and elements of its output.
  double (*operations)(const OperatorCall& call);
  double (*output_elements)(const OperatorCall& call);
  std::string (*title)(const OperatorCall& call);  // without the tail
};

const Operator* find_operator(const std::string& name);  // null: none
std::vector<std::string> operator_names();

extern const Operator kConv2d, kDense, kDepthwiseConv2d, kMaxPool2d, kAvgPool2d, kGlobalAvgPool2d,
    kConv3d, kConv2dTranspose, kBatchMatmul, kElementwise, kPad, kTranspose, kReduce, kSoftmax,
    kLayerNorm;

}  // namespace fettle::space
