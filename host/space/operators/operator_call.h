// OperatorCall: an operator of the library with its shapes, types and fused tail, as people
// write it. A front end: what is tuned is the compute DAG that it writes.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "host/ir/type.h"
#include "host/space/compute_dag.h"
#include "schemas/wire/result.h"

namespace fettle::space {

// The JSON form is that of host/model/workloads.json: {"op": "conv2d", "layout":
// "NHWC", "batch": 1, …, "tail": ["bias", "relu"]}. Canonical: keys sorted,
// defaults filled in, no white space. "allow_tf32": true lets products of float32 be of factors
// rounded to TF32, where a device multiplies those faster; without it they never are.
class OperatorCall {
 public:
  // InvalidArgument: an absent, unknown or impossible field (named in the message).
  // Unsupported: an operator, layout, dtype or tail that is not there yet.
  static Result<OperatorCall> parse(const nlohmann::json& json);

  const std::string& op() const { return op_; }
  const std::string& canonical() const { return canonical_; }
  std::string title() const;  // for tables: "conv2d 56x56x64→64 k3 s1 +bias+relu"
  // Nominal operations of one run: 2 per multiply-add of the direct form, 1 per tail element.
  double operations() const;
  // The only place that says which inputs it has, in which layout, and how they are filled.
  // Inputs are named input (input_b, …), constants weight; a padded copy is named pad; the
  // tail's stages follow (tail.h).
  ComputeDag dag() const;

  // Fields of the canonical JSON.
  std::int64_t integer(const char* field) const;
  double number(const char* field, double otherwise) const;  // where there is no such field
  std::array<std::int64_t, 2> pair(const char* field) const;
  std::vector<std::int64_t> list(const char* field) const;
  std::string word(const char* field) const;
  // Of "dtype", float32 without one: of the elements of inputs and weights.
  ir::Scalar scalar() const;
  bool has(const char* field) const;
  bool has_tail(const char* name) const;
  const std::vector<std::string>& tail() const { return tail_; }

 private:
  std::string op_, canonical_;
  std::vector<std::string> tail_;
  std::shared_ptr<const nlohmann::json> fields_;  // never changed, so copies share it
};

}  // namespace fettle::space
