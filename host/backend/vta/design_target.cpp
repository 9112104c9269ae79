// DesignTarget as text, and from what a device says (design_target.h).
#include "host/backend/vta/design_target.h"

#include <cassert>

#include <nlohmann/json.hpp>

namespace fettle::vta::host {
namespace {

Result<Design> design_of(const std::string& configuration) {
  auto design = find_design(configuration.substr(0, configuration.find(' ')));
  if (!design) return design;
  if (auto same = check_configuration(*design, configuration); !same) {
    return std::move(same).error();
  }
  return design;
}

}  // namespace

bool is_accelerator(wire::DeviceKind kind) {
  return kind == wire::DeviceKind::Vta || kind == wire::DeviceKind::Xrt;
}

space::Target DesignTarget::target() const {
  const nlohmann::json text{{"backend", kBackend},
                            {"configuration", configuration_of(design)},
                            {"memory_bytes", memory_bytes}};
  auto target = space::Target::parse(text.dump());
  assert(target);
  return std::move(*target);
}

Result<DesignTarget> DesignTarget::parse(const space::Target& target) {
  const nlohmann::json text = nlohmann::json::parse(target.canonical());
  const auto configuration = text.find("configuration");
  if (target.backend() != kBackend || configuration == text.end() || !configuration->is_string()) {
    return Error{ErrorCode::InvalidArgument, "no target of the VTA accelerator"};
  }
  auto design = design_of(configuration->get<std::string>());
  if (!design) return std::move(design).error().in("target");
  return DesignTarget{std::move(*design), target.memory_bytes()};
}

Result<DesignTarget> DesignTarget::of(const wire::DeviceInfoT& device) {
  if (!is_accelerator(device.kind)) {
    return Error{ErrorCode::Unsupported, "device " + device.key + " is no VTA accelerator"};
  }
  if (!device.fpga || device.fpga->configuration.empty()) {
    return Error{ErrorCode::Unsupported,
                 "device " + device.key + " does not say which design of the accelerator it has"};
  }
  auto design = design_of(device.fpga->configuration);
  if (!design) return std::move(design).error().in("device " + device.key);
  return DesignTarget{std::move(*design), static_cast<std::int64_t>(device.memory_limit_bytes)};
}

}  // namespace fettle::vta::host
