// The reference of a user's kernel that is a kernel itself: run once on the device that is tuned
// for, before the session begins.
#pragma once

#include <map>
#include <string>

#include "host/backend/backend.h"
#include "host/space/workload.h"
#include "host/tune/expected_outputs.h"
#include "host/tune/pipeline.h"

namespace fettle::app {

// Expected outputs by workload's key.
using MeasuredReferences = std::map<std::string, tune::Expected>;

// Adds that of the workload, if it has such a reference. `opened`: its task on `target`.
Result<void> add_device_reference(const space::Workload& workload, const backend::Task& opened,
                                  const space::Target& target, tune::Builder& builder,
                                  tune::Runner& runner, tune::StopSignal& stop,
                                  MeasuredReferences& references);

}  // namespace fettle::app
