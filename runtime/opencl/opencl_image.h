// OpenCL C, compiled on the device.
#pragma once

#include <string>
#include <vector>

#include "runtime/loader.h"
#include "runtime/opencl/opencl_driver.h"

namespace fettle::runtime {

// What an entry point of an OpenClImage is: each launch makes a kernel of its own of it, since
// a kernel holds its arguments.
struct OpenClEntry {
  cl_program program;
  std::string name;
};

class OpenClImage final : public LoadedImage {
 public:
  OpenClImage(const OpenClDriver& driver, cl_program program, const wire::ImageT& image);
  ~OpenClImage() override { driver_.call().ReleaseProgram(program_); }
  OpenClImage(const OpenClImage&) = delete;
  OpenClImage& operator=(const OpenClImage&) = delete;

  const void* entry(std::uint32_t index) const override { return &entries_[index]; }
  AddressRange code() const override { return {}; }

 private:
  const OpenClDriver& driver_;
  cl_program program_;
  std::vector<OpenClEntry> entries_;
};

class OpenClLoader final : public Loader {
 public:
  explicit OpenClLoader(const OpenClQueue& queue) : queue_(queue) {}
  // BuildError with the compiler's log.
  Result<std::unique_ptr<LoadedImage>> load(const wire::ImageT& image, ByteView bytes) override;

 private:
  const OpenClQueue& queue_;
};

}  // namespace fettle::runtime
