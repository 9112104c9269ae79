// What a CPU needs (cpu_features.h).
#include "host/network/cpu_features.h"

#include <algorithm>

#include "host/space/cpu_target.h"

namespace fettle::network {
namespace {

bool has_halves(const model::Bindings& bindings) {
  for (const model::BoundPiece& piece : bindings.pieces) {
    for (const space::Stage& stage : piece.workload.dag().stages) {
      if (stage.buffer->type.scalar == ir::Scalar::Float16) return true;
    }
  }
  return false;
}

}  // namespace

std::vector<std::string> cpu_features(const space::Target& target,
                                      const model::Bindings& bindings) {
  std::vector<std::string> names;
  if (target.backend() != space::CpuTarget::kBackend) return names;
  const auto cpu = space::CpuTarget::parse(target);
  if (!cpu) return names;
  for (const std::string& feature : cpu->features) {
    if (feature.starts_with('+')) names.push_back(feature.substr(1));
  }
  // Halves are converted as the core's name says that it does (converts_float16()), and others of
  // its architecture do not.
  const bool named = std::find(names.begin(), names.end(), "fp16") != names.end();
  if (cpu->arch == "armv7" && cpu->converts_float16() && !named && has_halves(bindings)) {
    names.emplace_back("fp16");
  }
  return names;
}

}  // namespace fettle::network
