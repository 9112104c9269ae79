// Knobs and schedule of the GPU sketch for products with long sums (gpu_split.h).
#include "host/space/sketches/gpu_split.h"

#include <algorithm>

#include "host/space/sketches/gpu_parts.h"
#include "host/space/sketches/gpu_steps.h"
#include "host/space/sketches/gpu_tiled.h"

namespace fettle::space {

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
  Steps steps = begin_product(p, space, c);
  const MatrixProduct partial = cut_sums(steps, p, space.value(c, "parts")[0]);
  std::vector<std::string> placed = place_product(steps, partial, space, c);
  add_parts(steps, p, target, placed);
  launch_others(steps, placed, target, plain_elements(target));
  return steps.finish();
}

}  // namespace fettle::space
