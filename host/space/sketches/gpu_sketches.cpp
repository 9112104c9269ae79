// A GPU's sketches (gpu_sketches.h).
#include "host/space/sketches/gpu_sketches.h"

#include <algorithm>

#include "host/space/sketches/gpu_rows.h"
#include "host/space/sketches/gpu_spatial.h"
#include "host/space/sketches/gpu_split.h"
#include "host/space/sketches/gpu_steps.h"
#include "host/space/sketches/gpu_sums.h"
#include "host/space/sketches/gpu_tiled.h"
#include "host/space/sketches/gpu_warps.h"
#include "host/space/sketches/gpu_winograd.h"

namespace fettle::space {

namespace {

constexpr std::int64_t kShortRow = 2;  // warps' worth of elements
// Where steps of a sum are loaded by many threads, sums of more products are of a multiple of so
// many; elsewhere a product that is no product costs more than a short step.
constexpr std::int64_t kStepMultiple = 8;

constexpr std::int64_t kTexel = 4;  // elements

// Whether there is something that could be read through images: of floats, that vectors of
// threads take by fours, and not too large.
bool has_texels(const ComputeDag& dag, const GpuTarget& target) {
  if (target.image_texels == 0 || target.vector_width < kTexel) return false;
  return std::any_of(dag.stages.begin(), dag.stages.end(), [&](const Stage& stage) {
    const std::int64_t elements = stage.buffer->elements();
    return stage.role != ir::Role::Output && stage.buffer->type.is_float() &&
           elements % kTexel == 0 && elements / kTexel <= target.image_texels;
  });
}

// How buffers that a launch only reads are read, 0: as memory, 1: as texels of images where that
// is possible.
Knob images_knob() { return {"images", {{0}, {1}}, 0}; }

// Of what a sketch knows of a task, made once.
template <typename Known>
TaskSpace::Entry entry_of(Sketch sketch, Known known, const GpuTarget& target,
                          Result<Schedule> (*schedule)(const Known&, const GpuTarget&,
                                                       const SearchSpace&, const Configuration&)) {
  TaskSpace::Entry entry;
  entry.sketch = std::move(sketch);
  entry.schedule = [schedule, target, known = std::make_shared<const Known>(std::move(known))](
                       const SearchSpace& space, const Configuration& configuration) {
    auto made = schedule(*known, target, space, configuration);
    if (!made || value_or(space, configuration, "images", 0) == 0) return made;
    auto done = made->apply(ReadTexelsStep{target.image_texels});
    return done ? std::move(made) : Result<Schedule>(std::move(done).error());
  };
  return entry;
}

// Winograd's algorithm where there is work to save. A GPU's last cache is not known: of its tiles
// the square ones, and a larger one where arithmetic is cheap beside memory. Two threads that
// computed one pixel would not round alike.
void append_winograd(const ComputeDag& dag, const GpuTarget& target, std::int64_t multiple,
                     std::vector<TaskSpace::Entry>& entries) {
  AlgorithmFacts facts;
  facts.last_tile = LastTile::IsCut;
  facts.tiles = {{2, 2}, {4, 4}, {6, 6}};
  facts.float16 = true;
  for (const Alternative& a : alternatives_of(dag, facts)) {
    if (!a.winograd) continue;
    auto product = winograd_product(a, target, multiple);
    if (!product) continue;
    Sketch sketch = gpu_winograd_sketch(*product, target);
    entries.push_back(
        entry_of(std::move(sketch), std::move(*product), target, gpu_winograd_schedule));
    entries.back().error_growth = a.error_growth;
  }
}

}  // namespace

Result<GpuSpace> open_gpu_space(ComputeDag dag, const GpuTarget& target) {
  std::vector<TaskSpace::Entry> entries;
  const std::int64_t multiple = target.shared_is_global ? 1 : kStepMultiple;
  // The product as it is written, then by instructions that sum several at once.
  std::vector<const ir::IntrinsicRow*> ways{nullptr};
  for (const ir::IntrinsicRow* row : target.instructions()) {
    if (row->threads == 1) ways.push_back(row);
  }
  for (const ir::IntrinsicRow* row : ways) {
    const auto product = with_matrix_product(dag, multiple, row);
    if (!product || !gpu_tiled_fits(*product, target)) continue;
    entries.push_back(
        entry_of(gpu_tiled_sketch(*product, target), *product, target, gpu_tiled_schedule));
    if (!row && gpu_split_fits(*product, target)) {
      entries.push_back(
          entry_of(gpu_split_sketch(*product, target), *product, target, gpu_split_schedule));
    }
  }
  if (!entries.empty()) append_winograd(dag, target, multiple, entries);
  if (auto warp = warp_product(dag, target); warp && gpu_tiled_fits(warp->product, target)) {
    if (auto sketch = gpu_warps_sketch(*warp, target)) {
      const double error_growth = warp->error_growth;
      entries.push_back(entry_of(std::move(*sketch), std::move(*warp), target, gpu_warps_schedule));
      entries.back().error_growth = error_growth;
    }
  }
  if (entries.empty()) {
    const bool rows = gpu_rows_fits(dag, target);
    if (rows) {
      entries.push_back(entry_of(gpu_rows_sketch(dag, target), dag, target, gpu_rows_schedule));
    }
    // A thread that reduces a long row leaves its neighbours nothing to read together.
    if (!rows || longest_row(dag) <= kShortRow * target.warp) {
      entries.push_back(
          entry_of(gpu_spatial_sketch(dag, target), dag, target, gpu_spatial_schedule));
    }
  }
  if (auto reduction = long_reduction(dag, target)) {
    Sketch sketch = gpu_sums_sketch(*reduction, target);
    entries.push_back(
        entry_of(std::move(sketch), std::move(*reduction), target, gpu_sums_schedule));
  }
  if (has_texels(dag, target)) {
    for (TaskSpace::Entry& entry : entries) entry.sketch.knobs.push_back(images_knob());
  }
  std::int64_t elements = 1;
  for (const Axis& axis : dag.stages.back().axes) elements *= axis.extent;
  if (elements / target.warp > target.grid_x) {
    return Error{ErrorCode::Unsupported,
                 "no sketch of a GPU fits: its output is longer than a grid"};
  }
  return GpuSpace(TaskSpace(std::move(dag), std::move(entries)), target);
}

}  // namespace fettle::space
