// Runs OpenCL programs in this process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agent/device/device.h"
#include "runtime/opencl/opencl_driver.h"
#include "schemas/program_generated.h"
#include "schemas/wire/result.h"

namespace fettle::testing {

// On a device that an agent's worker would open: buffers have guards.
class OpenClRun {
 public:
  static Result<OpenClRun> open();

  const wire::DeviceInfoT& info() const { return device_->info(); }
  // What each buffer holds after one run; StrayWrite where it wrote elsewhere. Outputs hold the
  // device's pattern of what was not written before.
  Result<std::vector<Bytes>> run(const wire::ProgramT& program, const BlobLookup& blobs = {});

 private:
  explicit OpenClRun(std::unique_ptr<agent::Device> device) : device_(std::move(device)) {}
  std::unique_ptr<agent::Device> device_;
};

// By a library that watches every access: buffers are as long as the program says.
class WatchedOpenCl {
 public:
  // library: a file. NotFound: it is not there.
  static Result<WatchedOpenCl> open(const std::string& library);
  WatchedOpenCl(WatchedOpenCl&&) noexcept = default;

  // As OpenClRun's; outputs hold 0xFF before.
  Result<std::vector<Bytes>> run(const wire::ProgramT& program);

 private:
  explicit WatchedOpenCl(std::unique_ptr<runtime::OpenClDriver> driver)
      : driver_(std::move(driver)), queue_{*driver_} {}
  std::unique_ptr<runtime::OpenClDriver> driver_;
  runtime::OpenClQueue queue_;
};

}  // namespace fettle::testing
