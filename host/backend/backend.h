// Backend: the host's half of a kind of device. The whole contract.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "host/space/search_space.h"
#include "host/space/target.h"
#include "host/space/workload.h"
#include "schemas/build_generated.h"
#include "schemas/wire/result.h"

namespace fettle::backend {

// How far an output may be from the expected one: |a - e| <= absolute + relative * |e|.
struct Tolerance {
  double absolute = 0, relative = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const char* name() const = 0;
  // Unsupported: this back end has no sketch for the operator.
  virtual Result<space::SearchSpace> space(const space::Workload& workload,
                                           const space::Target& target) const = 0;
  // BuildError: this configuration cannot be built; anything else is our bug.
  virtual Result<wire::BuildOutputT> build(const space::Workload& workload,
                                           const space::Target& target,
                                           const space::Configuration& configuration) const = 0;
  // The cost model's view of the program, without compiling it: the same vector as
  // build's. Thread-safe. BuildError as build.
  virtual Result<std::vector<float>> features(const space::Workload& workload,
                                              const space::Target& target,
                                              const space::Configuration& configuration) const = 0;
  virtual std::vector<std::string> feature_names() const = 0;
  // Why a program of these features is not worth building; null: it may be.
  virtual const char* screen(std::span<const float> features,
                             const space::Target& target) const = 0;
  // IR, assembly, facts: what `fettle explain` prints. dump_after: a pass's name or "".
  virtual Result<std::string> explain(const space::Workload& workload, const space::Target& target,
                                      const space::Configuration& configuration,
                                      const std::string& dump_after) const = 0;
  // Programs that measure a device's ceilings: see calibration.h.
};

// Null when there is none of that name.
const Backend* find_backend(const std::string& name);
std::vector<std::string> backend_names();

}  // namespace fettle::backend
