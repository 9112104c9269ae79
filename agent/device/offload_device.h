// What devices with memory of their own have in common: programs that lie there, are run, read
// and looked after through runtime/. A kind of device brings its parts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/device/device.h"
#include "runtime/loaded_program.h"

namespace fettle::agent {

// What an option said (DeviceInfo.extra).
std::string extra_of(const wire::DeviceInfoT& info, const char* name, const char* otherwise);

class OffloadDevice : public Device {
 public:
  const wire::DeviceInfoT& info() const override { return info_; }
  Result<std::uint64_t> prepare(const wire::ProgramT& program, const PrepareOptions& options,
                                const BlobLookup& blobs) override;
  Result<Sample> run(std::uint32_t times, bool launch_ticks) override;
  Result<void> poison_outputs() override;
  Result<ByteView> read(std::uint32_t buffer) override;
  std::uint8_t unwritten_byte(wire::ScalarType type) const override {
    return runtime::unwritten_byte(type);
  }
  // Tells of the first damage and mends all.
  Result<void> check_surroundings() override;
  void reset() override;

 protected:
  explicit OffloadDevice(wire::DeviceInfoT info) : info_(std::move(info)) {}

  struct Parts {
    runtime::Memory& memory;
    std::vector<runtime::Kind> kinds;
  };
  virtual Parts parts() = 0;
  // All of a buffer, of `parts().memory`.
  virtual Result<void> download(const runtime::BufferMemory& from, Bytes& to) = 0;
  virtual Result<void> synchronize() = 0;

  std::string extra(const char* name, const char* otherwise) const {
    return extra_of(info_, name, otherwise);
  }
  // Of inputs, and as many of buffers to use again.
  std::uint64_t kept_bytes() const;

  wire::DeviceInfoT info_;

 private:
  Result<void> check_fit(const wire::ProgramT& program, const PrepareOptions& options) const;

  bool unchecked_ = false;  // code of the program ran since the last look at its surroundings
  Bytes read_;
  std::vector<std::string> names_;
  std::optional<runtime::LoadedProgram> program_;
};

}  // namespace fettle::agent
