// Runs OpenCL programs in this process, on a device that an agent's worker would open.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agent/device/device.h"
#include "schemas/program_generated.h"
#include "schemas/wire/result.h"

namespace fettle::testing {

class OpenClRun {
 public:
  // library: as --opencl-library; "": the usual ones.
  static Result<OpenClRun> open(const std::string& library = "");

  const wire::DeviceInfoT& info() const { return device_->info(); }
  // What each buffer holds after one run; StrayWrite where it wrote elsewhere. Outputs hold the
  // device's pattern of what was not written before.
  Result<std::vector<Bytes>> run(const wire::ProgramT& program);

 private:
  explicit OpenClRun(std::unique_ptr<agent::Device> device) : device_(std::move(device)) {}
  std::unique_ptr<agent::Device> device_;
};

}  // namespace fettle::testing
