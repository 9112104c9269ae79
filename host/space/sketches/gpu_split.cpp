// Knobs and schedule of the GPU sketch for products with long sums (gpu_split.h).
#include "host/space/sketches/gpu_split.h"

#include <algorithm>

#include "host/space/sketches/gpu_steps.h"
#include "host/space/sketches/gpu_tiled.h"

namespace fettle::space {

namespace {

constexpr std::int64_t kMostParts = 64;
constexpr std::int64_t kShortestPart = 16;
constexpr std::int64_t kMostUnrolled = 64;  // parts added up

// Parts that are equally long.
Options parts_of(const MatrixProduct& p) {
  Options out;
  for (std::int64_t n = 2; n <= kMostParts; n *= 2) {
    if (p.k % n == 0 && p.k / n >= kShortestPart) out.push_back({n});
  }
  return out;
}

}  // namespace

bool gpu_split_fits(const MatrixProduct& p, const GpuTarget& target) {
  return gpu_tiled_fits(p, target) && !p.batched && p.m > kFewRows && p.n > kFewRows &&
         leaves_threads_idle(p.m * p.n, target) && !parts_of(p).empty();
}

Sketch gpu_split_sketch(const MatrixProduct& p, const GpuTarget& target) {
  Sketch sketch = gpu_tiled_sketch(p, target);
  sketch.name = "gpu_split";
  sketch.knobs.push_back({"parts", parts_of(p)});
  sketch.constraints.push_back({"whole steps", {"step", "parts"}, [k = p.k](auto values) {
                                  return k / (*values[1])[0] % (*values[0])[0] == 0;
                                }});
  const bool staged = std::any_of(sketch.knobs.begin(), sketch.knobs.end(),
                                  [](const Knob& knob) { return knob.name == "stages"; });
  if (!staged) return sketch;
  sketch.constraints.push_back(
      {"stages of a part", {"step", "parts", "stages"}, [k = p.k](auto values) {
         const std::int64_t steps = k / (*values[1])[0] / (*values[0])[0];
         return (*values[2])[0] == 1 || steps >= (*values[2])[0];
       }});
  return sketch;
}

Result<Schedule> gpu_split_schedule(const MatrixProduct& p, const GpuTarget& target,
                                    const SearchSpace& space, const Configuration& c) {
  const std::int64_t parts = space.value(c, "parts")[0];
  Steps steps = begin_product(p, space, c);
  const std::string k = steps.dag().find(p.sums)->reduce_axes[0].name;
  steps(RfactorStep{p.sums, k, parts, "part", false, false});
  // Problems side by side, one for each part.
  MatrixProduct partial = p;
  partial.result = p.sums + ".part";
  steps(CacheWriteStep{partial.result});
  partial.sums = partial.result + ".local";
  partial.batched = true, partial.batch = parts, partial.k = p.k / parts;
  std::vector<std::string> placed = place_product(steps, partial, space, c);
  const Elements elements = plain_elements(target);
  const std::string at = launch_elements(steps, p.result, elements);
  steps(ComputeAtStep{p.sums, p.result, at, ir::Scope::Register});
  reduce_in_registers(steps, p.sums, elements, kMostUnrolled);
  placed.insert(placed.end(), {p.sums, p.result});
  launch_others(steps, placed, target, elements);
  return steps.finish();
}

}  // namespace fettle::space
