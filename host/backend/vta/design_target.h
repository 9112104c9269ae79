// DesignTarget: what code for the VTA accelerator is made for, a design that this build knows.
#pragma once

#include "fpga/config/design.h"
#include "host/space/target.h"
#include "schemas/device_generated.h"
#include "schemas/wire/result.h"

namespace fettle::vta::host {

inline constexpr const char* kBackend = "vta";

// Of devices that run its streams, by themselves or through XRT.
bool is_accelerator(wire::DeviceKind kind);

struct DesignTarget {
  Design design;
  std::int64_t memory_bytes = 0;  // the device's limit for one program; 0: not known

  // "backend", the design by "configuration" (its name and identity), "memory_bytes".
  space::Target target() const;
  // InvalidArgument: no target of this back end. NotFound, WrongConfiguration: its design is none
  // of this build, or another one of that name.
  static Result<DesignTarget> parse(const space::Target& target);
  // Unsupported: no VTA, or one that does not say its design. NotFound, WrongConfiguration as
  // parse.
  static Result<DesignTarget> of(const wire::DeviceInfoT& device);
};

}  // namespace fettle::vta::host
