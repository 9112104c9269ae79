// A user's kernel as a task of a back end: its space, and programs of its sources.
#pragma once

#include <memory>
#include <string>

#include "host/backend/backend.h"
#include "host/space/own_kernel/kernel_space.h"

namespace fettle::backend {

// How a back end makes an image of a kernel's sources. Thread-safe.
class KernelCompiler {
 public:
  virtual ~KernelCompiler() = default;
  // Its entry points are those of `entries`, in their order, by whatever names. BuildError: in the
  // compiler's words.
  virtual Result<wire::ImageT> compile(const space::OwnKernel& kernel,
                                       const space::KernelPoint& point,
                                       const std::vector<std::string>& entries) const = 0;
  // What `fettle explain` shows of the code beside the source: "--- PTX\n…", or nothing.
  virtual Result<std::string> listing(const space::OwnKernel& kernel,
                                      const space::KernelPoint& point,
                                      const std::vector<std::string>& entries) const = 0;
};

// InvalidArgument: as KernelSpace::open, or the arguments are larger than the device's memory.
Result<std::unique_ptr<const Task>> open_kernel_task(
    space::OwnKernel kernel, const space::Target& target,
    std::unique_ptr<const KernelCompiler> compiler);

}  // namespace fettle::backend
