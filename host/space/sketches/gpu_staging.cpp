// Staging of matrices (gpu_staging.h).
#include "host/space/sketches/gpu_staging.h"

#include <algorithm>

#include "host/ir/mutator.h"
#include "host/space/axis_roles.h"
#include "host/space/rewrite.h"
#include "host/space/sketches/gpu_steps.h"

namespace fettle::space {

namespace {

constexpr std::int64_t kMostStages = 4;
constexpr std::int64_t kMostKept = 16;    // elements of a matrix that a thread keeps meanwhile
constexpr std::int64_t kAlignment = 64;   // of each array
constexpr std::int64_t kLeastCopied = 4;  // bytes, by copies beside the threads

}  // namespace

Matrices matrices_of(const MatrixProduct& p) {
  const auto bytes = [&](const std::string& stage) {
    return p.dag.find(stage)->buffer->type.bytes();
  };
  return {bytes(p.first), bytes(p.second), p.k};
}

Knob stages_knob(const Matrices& matrices, const GpuTarget& target) {
  Knob knob{"stages", {{1, 0}, {2, 0}}, 0};
  const bool copies = target.copies_async() &&
                      std::max(matrices.first_bytes, matrices.second_bytes) >= kLeastCopied;
  for (std::int64_t stages = 2; copies && stages <= kMostStages; ++stages) {
    knob.options.push_back({stages, 1});
  }
  return knob;
}

std::int64_t shared_bytes(const Matrices& matrices, const Copied& copied, std::int64_t stages) {
  std::int64_t bytes = 0;
  for (const auto& [extent, each] : {std::pair{copied.first, matrices.first_bytes},
                                     std::pair{copied.second, matrices.second_bytes}}) {
    bytes += (stages * copied.steps * extent * each + kAlignment - 1) / kAlignment * kAlignment;
  }
  return bytes;
}

bool stages_fit(const Matrices& matrices, const Copied& copied, const KnobValue& stages,
                std::int64_t registers) {
  if (stages[0] == 1) return true;
  if (copied.first + copied.second == 0 || matrices.k / copied.steps < stages[0]) return false;
  if (stages[1] == 1) return true;
  std::int64_t kept = 0;
  for (const std::int64_t extent : {copied.first, copied.second}) {
    const std::int64_t each = (copied.steps * extent + copied.threads - 1) / copied.threads;
    if (each > kMostKept) return false;
    kept += each;
  }
  return kept <= registers;
}

void stage_together(Steps& steps, const std::string& stage, const std::string& consumer,
                    const std::string& loop, bool by_steps, std::int64_t x, std::int64_t y) {
  steps(ComputeAtStep{stage, consumer, loop, ir::Scope::BlockShared});
  const Stage* copy = steps.dag().find(stage);
  if (!copy) return;
  const auto& axes = copy->axes;
  // The steps', the others'.
  std::vector<std::string> loops{axes[axes.size() - 2].name, axes.back().name};
  if (by_steps) std::swap(loops[0], loops[1]);
  if (axes.size() > 2) loops.insert(loops.begin(), axes.front().name);
  steps(ReorderStep{stage, loops});
  load_together(steps, stage, loops, x, y);
}

}  // namespace fettle::space
