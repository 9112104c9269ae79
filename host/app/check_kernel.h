// The kernel that `fettle devices check` runs: small, the same for all boards of a kind, made
// without any records, with the outputs that the reference computes.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "host/tune/expected_outputs.h"
#include "schemas/device_generated.h"
#include "schemas/measure_generated.h"
#include "schemas/wire/result.h"

namespace fettle::app {

struct CheckKernel {
  std::string title;  // of what it computes
  std::string id;     // the same for the same program, options and outputs: times may be compared
  wire::MeasureRequestT request;
  tune::Expected expected;  // its blobs are to be offered before
};

// For that device as it describes itself. Unsupported: no back end, or none of the kernels is
// anything for it.
Result<CheckKernel> check_kernel(const wire::DeviceInfoT& device);

}  // namespace fettle::app
