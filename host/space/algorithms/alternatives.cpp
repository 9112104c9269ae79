// Which algorithms a DAG has (alternatives.h).
#include "host/space/algorithms/alternatives.h"

#include <algorithm>
#include <cmath>

#include "host/space/algorithms/channels_last.h"
#include "host/space/algorithms/dot_product.h"
#include "host/space/algorithms/window.h"
#include "host/space/algorithms/winograd.h"

namespace fettle::space {

namespace {

constexpr std::int64_t kFewestChannels = 8;

// Of at least 8 channels on both sides and a tile of pixels: fewer have no work to save. A tile
// that is not square saves less than the larger square one and is worth trying only where that
// one's weights leave no room in the last cache.
bool is_worth_winograd(const ComputeDag& dag, const AlgorithmFacts& target, int y, int x) {
  for (const Stage& stage : dag.stages) {
    const auto w = winograd_window(dag, stage);
    if (!w) continue;
    if (y != x) {
      const std::int64_t larger = std::max(winograd(y).inputs, winograd(x).inputs);
      const std::int64_t bytes = larger * larger * w->in.extent * w->out.extent * 4;
      if (bytes <= target.last_cache_bytes) return false;
    }
    return w->in.extent >= kFewestChannels && w->out.extent >= kFewestChannels;
  }
  return false;
}

void append(std::vector<Alternative>& out, const ComputeDag& dag, const AlgorithmFacts& target,
            bool channels_last) {
  const std::string suffix = channels_last ? "_channels_last" : "";
  out.push_back(
      {channels_last ? "channels_last" : "direct", Algorithm::Direct, channels_last, dag});
  if (const ir::IntrinsicRow* row = target.byte_products) {
    if (auto packed = with_dot_products(dag, row->takes_unsigned())) {
      out.push_back({"dot_product" + suffix, Algorithm::DotProduct, channels_last,
                     std::move(packed).value()});
    }
  }
  for (const auto& [y, x] : {std::pair{2, 2}, {4, 2}, {4, 4}}) {
    if (!is_worth_winograd(dag, target, y, x)) continue;
    auto made = with_winograd(dag, y, x, target.last_tile);
    if (!made) continue;
    const std::string tile = std::to_string(y) + (y == x ? "" : "x" + std::to_string(x));
    out.push_back(
        {"winograd_" + tile + suffix, Algorithm::Winograd, channels_last, std::move(made->dag),
         std::sqrt(winograd(y).error_growth * winograd(x).error_growth), std::move(made->stages)});
  }
}

}  // namespace

std::vector<Alternative> alternatives_of(const ComputeDag& dag, const AlgorithmFacts& target) {
  std::vector<Alternative> out;
  append(out, dag, target, false);
  if (auto last = with_channels_last(dag)) append(out, *last, target, true);
  return out;
}

}  // namespace fettle::space
