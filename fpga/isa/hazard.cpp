// Accumulator hazards, without running the loops (hazard.h).
#include "fpga/isa/hazard.h"

#include <algorithm>

namespace fettle::vta {
namespace {

// All pairs of steps ((o, i, u), (o + outer, i + inner, later)) with o in [0, outer_count) and i
// in [inner_from, inner_from + inner_count).
struct Pairs {
  std::int64_t outer, inner;
  std::int64_t outer_count, inner_from, inner_count;
};

// An (o, i) of the pairs with o * a + i * b + c == 0; goes over the shorter of the two ranges.
std::optional<std::pair<std::int64_t, std::int64_t>> root(std::int64_t a, std::int64_t b,
                                                          std::int64_t c, const Pairs& pairs) {
  const std::int64_t inner_end = pairs.inner_from + pairs.inner_count;
  const auto solve = [](std::int64_t rest, std::int64_t factor, std::int64_t from,
                        std::int64_t end) -> std::optional<std::int64_t> {
    if (factor == 0) return rest == 0 ? std::optional(from) : std::nullopt;
    if (rest % factor != 0) return std::nullopt;
    const std::int64_t at = -rest / factor;
    return at >= from && at < end ? std::optional(at) : std::nullopt;
  };
  if (a == 0) {
    const auto i = solve(c, b, pairs.inner_from, inner_end);
    return i ? std::optional(std::pair(std::int64_t{0}, *i)) : std::nullopt;
  }
  if (pairs.outer_count > pairs.inner_count) {
    for (std::int64_t i = pairs.inner_from; i < inner_end; ++i) {
      if (const auto o = solve(c + i * b, a, 0, pairs.outer_count)) return std::pair(*o, i);
    }
    return std::nullopt;
  }
  for (std::int64_t o = 0; o < pairs.outer_count; ++o) {
    if (const auto i = solve(c + o * a, b, pairs.inner_from, inner_end)) return std::pair(o, *i);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Hazard> find_hazard(std::span<const MicroOp> uops, const Loops& loops, bool reads_src,
                                  std::uint32_t within) {
  const std::int64_t count = static_cast<std::int64_t>(uops.size());
  const std::int64_t iter_out = loops.iter_out, iter_in = loops.iter_in;
  if (count == 0 || iter_out == 0 || iter_in == 0) return std::nullopt;
  for (std::uint32_t distance = 1; distance <= within; ++distance) {
    for (std::int64_t u = 0; u < count; ++u) {
      const std::int64_t later = (u + distance) % count;
      const std::int64_t carry = (u + distance) / count;  // iterations of the inner loop on
      const MicroOp &first = uops[static_cast<std::size_t>(u)],
                    &second = uops[static_cast<std::size_t>(later)];
      // Within one outer iteration, and over the end of the inner loop into the next ones.
      std::int64_t i = 0;
      while (i < iter_in) {
        const std::int64_t outer = (i + carry) / iter_in;
        // The i from here on that wrap as often.
        const std::int64_t end = std::min(iter_in, (outer + 1) * iter_in - carry);
        const Pairs pairs{outer, carry - outer * iter_in, iter_out - outer, i, end - i};
        i = end;
        if (pairs.outer_count <= 0) continue;
        const auto found = [&](std::int64_t o, std::int64_t inner) {
          return Hazard{static_cast<std::uint32_t>(first.dst + o * loops.dst_factor_out +
                                                   inner * loops.dst_factor_in),
                        distance, static_cast<std::uint16_t>(later)};
        };
        const std::int64_t moved = pairs.outer * loops.dst_factor_out +
                                   pairs.inner * loops.dst_factor_in + second.dst - first.dst;
        if (moved == 0) return found(0, pairs.inner_from);
        if (!reads_src) continue;
        const auto at = root(loops.src_factor_out - loops.dst_factor_out,
                             loops.src_factor_in - loops.dst_factor_in,
                             pairs.outer * loops.src_factor_out +
                                 pairs.inner * loops.src_factor_in + second.src - first.dst,
                             pairs);
        if (at) return found(at->first, at->second);
      }
    }
  }
  return std::nullopt;
}

}  // namespace fettle::vta
