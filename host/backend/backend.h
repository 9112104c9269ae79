// Backend: the host's half of a kind of device. The whole contract.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "host/backend/calibration.h"
#include "host/backend/hardware.h"
#include "host/backend/local_device.h"
#include "host/space/compute_dag.h"
#include "host/space/search_space.h"
#include "host/space/target.h"
#include "host/space/workload.h"
#include "schemas/build_generated.h"
#include "schemas/device_generated.h"
#include "schemas/wire/result.h"

namespace fettle::backend {

// One compute DAG, or a user's kernel, on one target, opened once per session and per build worker:
// what depends on the two alone is made when it is opened, never per candidate. All calls are
// thread-safe. What its programs must answer is not its matter: one reference judges every back end
// (host/space/reference.h).
class Task {
 public:
  virtual ~Task() = default;
  virtual const space::SearchSpace& space() const = 0;
  // BuildError: this configuration cannot be built; anything else is our bug.
  virtual Result<wire::BuildOutputT> build(const space::Configuration& configuration) const = 0;
  // The facts that build tells, without compiling. BuildError as build.
  virtual Result<wire::ProgramFactsT> facts(const space::Configuration& configuration) const = 0;
  // The cost model's view of the program, without compiling it: the same vector as
  // build's. BuildError as build. Empty where lowers() is not.
  virtual Result<std::vector<float>> features(const space::Configuration& configuration) const = 0;
  // False: its programs are not lowered from a DAG, and have no features: a model sees knobs only.
  virtual bool lowers() const { return true; }
  // The program loop by loop, as AutoTVM's features of that name: as many numbers for every
  // configuration of the task. BuildError as build. Unsupported: its programs are not lowered from
  // loops.
  virtual Result<std::vector<float>> itervar_features(
      const space::Configuration& configuration) const;
  // Why a program of these features is not worth building; null: it may be.
  virtual const char* screen(std::span<const float> features) const = 0;
  // IR, assembly, facts: what `fettle explain` prints. dump_after: a pass's name or "".
  virtual Result<std::string> explain(const space::Configuration& configuration,
                                      const std::string& dump_after) const = 0;
  // The program's time as pictures: HTML that needs no style and no script, without a page around
  // it. Unsupported: of this back end's programs there are none.
  virtual Result<std::string> timeline(const space::Configuration& configuration) const;
};

// Thread-safe.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual const char* name() const = 0;
  virtual wire::DeviceKind kind() const = 0;  // of the devices that it builds for
  // Whether it builds for them: for those of kind(), and what is the same behind another driver.
  virtual bool serves(wire::DeviceKind device) const { return device == kind(); }

  // Whether its devices do some operators of a network, on channels in blocks, beside a CPU that
  // does the rest.
  virtual bool accelerates() const { return false; }

  // What code is made for on that device, which it serves, by what it says and what the user says
  // against it: keys of hardware_keys(), within their bounds. Unsupported: not for this device;
  // InvalidArgument: the corrections do not fit it.
  virtual Result<space::Target> target_for(const wire::DeviceInfoT& device,
                                           std::span<const HardwareValue> hardware) const = 0;
  virtual std::span<const HardwareKey> hardware_keys() const = 0;

  // Unsupported: this back end has no sketch for the DAG. InvalidArgument: not a target of it.
  virtual Result<std::unique_ptr<const Task>> open(space::ComputeDag dag,
                                                   const space::Target& target) const = 0;
  // The same for a kernel of a user. Unsupported: this back end takes none in that language.
  virtual Result<std::unique_ptr<const Task>> open_kernel(space::OwnKernel kernel,
                                                          const space::Target& target) const;
  virtual std::vector<std::string> feature_names() const = 0;
  // Whether times measured on `recorded` say which programs are fast on `target`.
  virtual bool teaches(const space::Target& recorded, const space::Target& target) const = 0;
  // Devices that an agent on this very machine can be.
  virtual std::vector<LocalDevice> local_devices() const = 0;
  // Programs that measure a device's ceilings. Unsupported: it has none.
  virtual Result<std::vector<CalibrationProgram>> calibration(
      const space::Target& target) const = 0;
};

// All rows, those of this build first.
std::span<const Backend* const> backends();
// Null when there is none of that name.
const Backend* find_backend(const std::string& name);
// One more row, of a program that brings its own back end; before anything else is asked.
void add_backend(const Backend& backend);

// As the back end's of the device's kind. Unsupported: there is none.
Result<space::Target> target_for(const wire::DeviceInfoT& device,
                                 std::span<const HardwareValue> hardware = {});
// As find_backend(target.backend())->open(dag, target), or open_kernel. Unsupported: no back end of
// that name.
Result<std::unique_ptr<const Task>> open_task(space::ComputeDag dag, const space::Target& target);
Result<std::unique_ptr<const Task>> open_task(const space::Workload& workload,
                                              const space::Target& target);

}  // namespace fettle::backend
