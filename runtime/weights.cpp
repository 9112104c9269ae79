// Which buffers are weights (weights.h).
#include "runtime/weights.h"

#include <algorithm>

namespace fettle::runtime {
namespace {

std::vector<bool> used_in(const wire::ProgramT& program, wire::Phase phase) {
  std::vector<bool> used(program.buffers.size());
  for (const auto& launch : program.launches) {
    if (launch->phase != phase) continue;
    for (const wire::Arg& arg : launch->args) {
      if (arg.kind() == wire::ArgKind::Buffer) used[arg.buffer()] = true;
    }
  }
  return used;
}

}  // namespace

std::vector<bool> weights_of(const wire::ProgramT& program) {
  const std::vector<bool> prepared = used_in(program, wire::Phase::Prepare);
  std::vector<bool> weights = used_in(program, wire::Phase::Run);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const wire::BufferRole role = program.buffers[i]->role;
    const bool constant = role == wire::BufferRole::Constant;
    weights[i] = weights[i] && (constant || (role == wire::BufferRole::Scratch && prepared[i]));
  }
  return weights;
}

std::uint32_t copies_of_weights(const wire::ProgramT& program, std::uint64_t bytes) {
  const std::vector<bool> weights = weights_of(program);
  std::uint64_t once = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i]) once += program.buffers[i]->bytes;
  }
  if (once == 0) return 1;
  const std::uint64_t copies = bytes / once + (bytes % once > 0 ? 1 : 0);
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(copies, 1, kMostCopies));
}

}  // namespace fettle::runtime
