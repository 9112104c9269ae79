// An accelerator beside the CPU, for networks that have images for one: its memory holds all of the
// network's buffers, so that both reach them.
#pragma once

#include <memory>

#include "runtime/loaded_program.h"

namespace fettle::runtime {

class NetworkAccelerator {
 public:
  virtual ~NetworkAccelerator() = default;
  virtual Memory& memory() = 0;
  virtual Kind kind() = 0;
};

// One for that image, with memory for the program; WrongConfiguration, OutOfMemory, Unsupported.
using MakeAccelerator = Result<std::unique_ptr<NetworkAccelerator>> (*)(
    const wire::ImageT& image, const wire::ProgramT& program);

// VTA's simulator.
Result<std::unique_ptr<NetworkAccelerator>> make_simulated_network_accelerator(
    const wire::ImageT& image, const wire::ProgramT& program);

}  // namespace fettle::runtime
