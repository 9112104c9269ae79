// Cutting sums and adding up their parts (gpu_parts.h).
#include "host/space/sketches/gpu_parts.h"

#include "host/space/sketches/gpu_steps.h"

namespace fettle::space {

namespace {

constexpr std::int64_t kMostParts = 64;
constexpr std::int64_t kShortestPart = 16;
constexpr std::int64_t kMostUnrolled = 64;  // parts added up

}  // namespace

Options parts_of(const MatrixProduct& p) {
  Options out;
  for (std::int64_t n = 2; n <= kMostParts; n *= 2) {
    if (p.k % n == 0 && p.k / n >= kShortestPart) out.push_back({n});
  }
  return out;
}

MatrixProduct cut_sums(Steps& steps, const MatrixProduct& p, std::int64_t parts) {
  const std::string k = steps.dag().find(p.sums)->reduce_axes[0].name;
  steps(RfactorStep{p.sums, k, parts, "part", false, false});
  MatrixProduct partial = p;
  partial.result = p.sums + ".part";
  steps(CacheWriteStep{partial.result});
  partial.sums = partial.result + ".local";
  partial.batched = true, partial.batch = parts, partial.k = p.k / parts;
  return partial;
}

void add_parts(Steps& steps, const MatrixProduct& p, const GpuTarget& target,
               std::vector<std::string>& placed) {
  const Elements elements = plain_elements(target);
  const std::string at = launch_elements(steps, p.result, elements);
  steps(ComputeAtStep{p.sums, p.result, at, ir::Scope::Register});
  reduce_in_registers(steps, p.sums, elements, kMostUnrolled);
  placed.insert(placed.end(), {p.sums, p.result});
}

}  // namespace fettle::space
