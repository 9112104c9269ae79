// The stack machine: what loads and runs its images, as runtime/ wants it of a kind.
#pragma once

#include "runtime/executor.h"
#include "runtime/loader.h"

namespace fettle::extension {

class MachineLoader final : public runtime::Loader {
 public:
  // LoadError: the image is cut short, or names what is not there.
  Result<std::unique_ptr<runtime::LoadedImage>> load(const wire::ImageT& image,
                                                     ByteView bytes) override;
};

// Ticks are nanoseconds of CLOCK_MONOTONIC_RAW.
class MachineExecutor final : public runtime::Executor {
 public:
  // `stack`: values that it holds; code that needs more ends the process.
  explicit MachineExecutor(std::uint32_t stack) : stack_(stack) {}
  std::unique_ptr<runtime::LaunchSeries> make_series() override;

 private:
  std::uint32_t stack_;
};

}  // namespace fettle::extension
