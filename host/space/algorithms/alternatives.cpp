// Which algorithms a DAG has (alternatives.h).
#include "host/space/algorithms/alternatives.h"

#include <algorithm>
#include <cmath>

#include "host/space/algorithms/channels_last.h"
#include "host/space/algorithms/dot_product.h"
#include "host/space/algorithms/window.h"
#include "host/space/algorithms/winograd.h"
#include "host/space/tolerance.h"

namespace fettle::space {

namespace {

constexpr std::int64_t kFewestChannels = 8;

// What the algorithm takes, of at least 8 channels on both sides: fewer have no work to save.
std::optional<Window> window_of(const ComputeDag& dag, const AlgorithmFacts& target) {
  for (const Stage& stage : dag.stages) {
    const auto w = winograd_window(dag, stage);
    if (!w) continue;
    const bool narrow = w->data->type != stage.body->type || w->weight->type != stage.body->type;
    const bool channels = w->in.extent >= kFewestChannels && w->out.extent >= kFewestChannels;
    return channels && (target.float16 || !narrow) ? w : std::nullopt;
  }
  return std::nullopt;
}

// A tile that is not square saves less than the larger square one and is worth trying only where
// that one's weights leave no room in the last cache.
bool is_worth_trying(const Window& w, const AlgorithmFacts& target, int y, int x) {
  if (y == x) return true;
  const std::int64_t larger = std::max(winograd(y).inputs, winograd(x).inputs);
  return larger * larger * w.in.extent * w.out.extent * 4 > target.last_cache_bytes;
}

// Of tiles of that size, over the plain sum's.
double growth_of(const ComputeDag& dag, const Window& w, int y, int x) {
  const bool halves = w.data->type.bytes() == 2 || w.weight->type.bytes() == 2;
  const double growth = std::sqrt(winograd(y).error_growth * winograd(x).error_growth);
  return error_growth_of(dag, Rounding{growth, halves});
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
  const auto window = window_of(dag, target);
  if (!window) return;
  for (const auto& [y, x] : target.tiles) {
    const double growth = growth_of(dag, *window, y, x);
    if (!is_worth_trying(*window, target, y, x) || !tells_a_missing_term(dag, growth)) continue;
    auto made = with_winograd(dag, y, x, target.last_tile);
    if (!made) continue;
    const std::string tile = std::to_string(y) + (y == x ? "" : "x" + std::to_string(x));
    out.push_back({"winograd_" + tile + suffix, Algorithm::Winograd, channels_last,
                   std::move(made->dag), growth, std::move(made->stages)});
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
