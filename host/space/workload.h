// Workload: the unit of tuning, a compute DAG or a kernel that a user wrote. Its key is the DAG or
// the kernel itself, serialised: a library operator, a user's own expression, his own kernel and a
// piece of a network are the same thing to search, build workers and records.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "host/space/compute_dag.h"
#include "host/space/operators/operator_call.h"
#include "host/space/own_kernel/own_kernel.h"
#include "schemas/wire/result.h"

namespace fettle::space {

class Workload {
 public:
  Workload();  // none yet: to be assigned
  // An operator of the library: {"op": …} (operators/operator_call.h); or a DAG: {"stages": …}
  // (dag_text/dag_json.h), which may have a "title"; or a kernel: {"kernel": …}
  // (own_kernel/own_kernel.h). Errors as of those.
  static Result<Workload> parse(const nlohmann::json& json);
  static Result<Workload> parse(const std::string& text);
  static Result<Workload> of(OwnKernel kernel);

  // The kernel; null: it is a DAG.
  const OwnKernel* kernel() const { return facts_->kernel ? &*facts_->kernel : nullptr; }
  // Of one that is no kernel; of a kernel it has no stages.
  const ComputeDag& dag() const { return facts_->dag; }
  // It as JSON, keys sorted, no white space: the key. Two workloads are equal when it is.
  const std::string& canonical() const { return facts_->canonical; }
  // 16 hex digits of the DAG's structure: the same for equal DAGs with other names. Of a kernel:
  // of all but its title.
  const std::string& hash() const { return facts_->hash; }
  // For tables: "conv2d 56x56x64→64 k3 s1 +bias+relu", "swish 1x28x28x64".
  const std::string& title() const { return facts_->title; }
  // As people wrote it: the operator's JSON, or that of the DAG.
  const std::string& source() const { return call() ? call()->canonical() : canonical(); }
  // The operator that wrote the DAG; null: it was stated.
  const OperatorCall* call() const { return facts_->call ? &*facts_->call : nullptr; }
  // What it is a kind of: an operator's name, "kernel" or "dag". Tasks of one kind can be about as
  // fast.
  std::string kind() const { return call() ? call()->op() : kernel() ? "kernel" : "dag"; }
  // Nominal operations of one run, which GFLOPS are counted in: the operator's, or those of the
  // DAG as it stands, or what the kernel states, 0 without.
  double operations() const { return facts_->operations; }
  ir::Scalar scalar() const;  // of the first input's elements
  bool operator==(const Workload& other) const { return canonical() == other.canonical(); }

 private:
  struct Facts {
    ComputeDag dag;
    std::string canonical, hash, title;
    std::optional<OperatorCall> call;
    std::optional<OwnKernel> kernel;
    double operations = 0;
  };
  explicit Workload(std::shared_ptr<const Facts> facts) : facts_(std::move(facts)) {}
  static Result<Workload> of(Facts facts);

  std::shared_ptr<const Facts> facts_;  // never changed, so copies share it
};

// A workload and how often its network holds it.
struct Task {
  Workload workload;
  double weight = 1;
};

}  // namespace fettle::space
