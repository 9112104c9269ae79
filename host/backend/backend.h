// Backend: the host's half of a kind of device. The whole contract.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "host/space/compute_dag.h"
#include "host/space/search_space.h"
#include "host/space/target.h"
#include "schemas/build_generated.h"
#include "schemas/wire/result.h"

namespace fettle::backend {

// One compute DAG on one target, opened once per session and per build worker: what depends
// on the two alone is made when it is opened, never per candidate. All calls are thread-safe.
class Task {
 public:
  virtual ~Task() = default;
  virtual const space::SearchSpace& space() const = 0;
  // BuildError: this configuration cannot be built; anything else is our bug.
  virtual Result<wire::BuildOutputT> build(const space::Configuration& configuration) const = 0;
  // The cost model's view of the program, without compiling it: the same vector as
  // build's. BuildError as build.
  virtual Result<std::vector<float>> features(const space::Configuration& configuration) const = 0;
  // Why a program of these features is not worth building; null: it may be.
  virtual const char* screen(std::span<const float> features) const = 0;
  // IR, assembly, facts: what `fettle explain` prints. dump_after: a pass's name or "".
  virtual Result<std::string> explain(const space::Configuration& configuration,
                                      const std::string& dump_after) const = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const char* name() const = 0;
  // Unsupported: this back end has no sketch for the DAG.
  virtual Result<std::unique_ptr<const Task>> open(space::ComputeDag dag,
                                                   const space::Target& target) const = 0;
  virtual std::vector<std::string> feature_names() const = 0;
  // Programs that measure a device's ceilings: see calibration.h.
};

// Null when there is none of that name.
const Backend* find_backend(const std::string& name);
std::vector<std::string> backend_names();
// As find_backend(target.backend)->open(dag, target). Unsupported: no back end of that name.
Result<std::unique_ptr<const Task>> open_task(space::ComputeDag dag, const space::Target& target);

}  // namespace fettle::backend
