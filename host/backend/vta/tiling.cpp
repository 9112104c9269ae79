// Knobs, and which of their values go together (tiling.h).
#include "host/backend/vta/tiling.h"

#include <algorithm>
#include <memory>

#include <nlohmann/json.hpp>

#include "host/backend/vta/boxes.h"
#include "host/backend/vta/pooling.h"
#include "host/backend/vta/tile_boxes.h"
#include "host/backend/vta/tile_walk.h"

namespace fettle::vta::host {
namespace {

using space::KnobValue;

constexpr const char* kSketch = "vta_product";
constexpr const char* kRows = "tile_h";
constexpr const char* kColumns = "tile_w";
constexpr const char* kIn = "tile_ci";
constexpr const char* kOut = "tile_co";
constexpr const char* kOutThreads = "oc_nthread";
constexpr const char* kRowThreads = "h_nthread";
constexpr const char* kInputsStay = "inputs_stay";
constexpr const char* kStorePieces = "store_pieces";

// Sizes with which the tiles are about equal, for every count of tiles, up to `most`.
std::vector<KnobValue> sizes(std::int64_t extent, std::int64_t most) {
  std::vector<KnobValue> sizes;
  for (std::int64_t count = extent; count >= 1; --count) {
    const std::int64_t size = (extent + count - 1) / count;
    if (size <= most && (sizes.empty() || sizes.back().front() != size)) sizes.push_back({size});
  }
  return sizes;
}

std::int64_t count_of(std::int64_t extent, std::int64_t size) { return (extent + size - 1) / size; }

// Of the last tile.
std::int64_t rest_of(std::int64_t extent, std::int64_t size) {
  return extent - (count_of(extent, size) - 1) * size;
}

// A constraint on fields of a Tiling, of which the others have their defaults.
space::Constraint constraint(std::string name, std::vector<std::string> knobs,
                             std::function<bool(const Tiling&)> holds) {
  return {std::move(name), knobs, [knobs, holds](std::span<const KnobValue* const> values) {
            Tiling tiling;
            for (std::size_t i = 0; i < knobs.size(); ++i) {
              const std::int64_t value = values[i]->front();
              if (knobs[i] == kRows) tiling.rows = value;
              if (knobs[i] == kColumns) tiling.columns = value;
              if (knobs[i] == kIn) tiling.in = value;
              if (knobs[i] == kOut) tiling.out = value;
              if (knobs[i] == kOutThreads) tiling.out_threads = value;
              if (knobs[i] == kRowThreads) tiling.row_threads = value;
              if (knobs[i] == kStorePieces) tiling.store_pieces = value;
            }
            return holds(tiling);
          }};
}

// Whether any combination of options fulfils the constraints: most often the smallest tiles do.
bool anything_fits(const space::Sketch& sketch) {
  for (const space::Knob& knob : sketch.knobs) {
    if (knob.options.empty()) return false;
  }
  const space::SearchSpace space({sketch});
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(space.size()); ++i) {
    if (space.contains(space.at(i))) return true;
  }
  return false;
}

Error nothing_fits() {
  return {ErrorCode::Unsupported,
          "no part of it fits the VTA accelerator: its memories, micro-ops or pipeline",
          {}};
}

// The fewest outputs of a tile along an axis that one place of the window is compared with.
std::int64_t pipelined(const SpatialAxis& axis, std::int64_t size) {
  std::int64_t least = size;
  for (const Range& tile : cut(axis.extent, size)) {
    for (std::int64_t w = 0; w < axis.window; ++w) {
      const std::int64_t count = inside_of(axis, tile, w).count;
      if (count > 0) least = std::min(least, count);
    }
  }
  return least;
}

}  // namespace

std::int64_t kept_entries(const Product& product, const Design&, Memory memory) {
  std::int64_t entries = 0;
  bool diagonal = false;
  for (const TailStep& step : product.tail) {
    if (step.kind == TailStep::Kind::AddChannel && memory == Memory::Accumulator) {
      entries += product.out.extent;
    }
    diagonal |= step.kind == TailStep::Kind::AddElement;
  }
  return diagonal && memory == Memory::Weight ? entries + 1 : entries;
}

std::int64_t tile_entries(const Product& product, const Tiling& tiling, Memory memory) {
  const std::int64_t outputs = tiling.out * tiling.rows * tiling.columns;
  switch (memory) {
    case Memory::Input: {
      const std::int64_t inputs = tiling.in * places_of(product.rows, tiling.rows) *
                                  places_of(product.columns, tiling.columns);
      const bool adds = std::any_of(product.tail.begin(), product.tail.end(), [](auto& step) {
        return step.kind == TailStep::Kind::AddElement;
      });
      return adds ? std::max(inputs, outputs) : inputs;
    }
    case Memory::Weight:
      return tiling.out * tiling.in * product.rows.window * product.columns.window;
    case Memory::Accumulator:
    case Memory::Output:
      return outputs;
    case Memory::Uop:
      break;
  }
  return 0;
}

Result<space::Sketch> sketch_of(const Product& product, const Design& design) {
  const std::int64_t sums =
      std::min(design.depth(Memory::Accumulator), design.depth(Memory::Output)) -
      kept_entries(product, design, Memory::Accumulator);
  const std::int64_t weights =
      design.depth(Memory::Weight) - kept_entries(product, design, Memory::Weight);
  const std::int64_t inputs = design.depth(Memory::Input);
  const auto shared = std::make_shared<const Product>(product);
  space::Sketch sketch{kSketch,
                       {{kRows, sizes(product.rows.extent, sums)},
                        {kColumns, sizes(product.columns.extent, sums)},
                        {kIn, sizes(product.in.extent, weights)},
                        {kOut, sizes(product.out.extent, std::min(weights, sums))},
                        {kOutThreads, {{1}, {2}}},
                        {kRowThreads, {{1}, {2}}},
                        {kInputsStay, {{0}, {1}}},
                        {kStorePieces, {{1}, {2}, {4}}}}};
  const auto fits = [shared](Memory memory, std::int64_t room) {
    return [shared, memory, room](const Tiling& tiling) {
      const std::int64_t threads =
          memory == Memory::Accumulator ? tiling.out_threads * tiling.row_threads : 1;
      return tile_entries(*shared, tiling, memory) * threads <= room;
    };
  };
  sketch.constraints = {
      constraint("the inputs of a tile fit their memory", {kRows, kColumns, kIn, kOut},
                 fits(Memory::Input, inputs)),
      constraint("the weights of a tile fit their memory", {kIn, kOut},
                 fits(Memory::Weight, weights)),
      constraint("the sums of all virtual threads fit their memory",
                 {kRows, kColumns, kOut, kOutThreads, kRowThreads},
                 fits(Memory::Accumulator, sums)),
      constraint("two virtual threads at most", {kOutThreads, kRowThreads},
                 [](const Tiling& tiling) { return tiling.out_threads * tiling.row_threads <= 2; }),
      constraint("each virtual thread along output channels has a tile", {kOut, kOutThreads},
                 [shared](const Tiling& tiling) {
                   return tiling.out_threads <= count_of(shared->out.extent, tiling.out);
                 }),
      constraint("each virtual thread along rows has a tile", {kRows, kRowThreads},
                 [shared](const Tiling& tiling) {
                   return tiling.row_threads <= count_of(shared->rows.extent, tiling.rows);
                 }),
      constraint(
          "a tile's micro-ops fit their memory", {kRows, kColumns, kIn, kOut},
          [shared, design](const Tiling& tiling) { return has_nest(*shared, design, tiling); })};
  if (design.hazard_steps > 0) {
    sketch.constraints.push_back(constraint(
        "sums of the smallest tile are enough for the core's pipeline", {kRows, kColumns, kOut},
        [shared, least = std::int64_t{design.hazard_steps}](const Tiling& tiling) {
          return rest_of(shared->rows.extent, tiling.rows) *
                     rest_of(shared->columns.extent, tiling.columns) *
                     rest_of(shared->out.extent, tiling.out) >
                 least;
        }));
  }
  if (!anything_fits(sketch)) return nothing_fits();
  return sketch;
}

std::int64_t tile_entries(const Pooling& pooling, const Tiling& tiling, Memory memory) {
  const std::int64_t inputs =
      places_of(pooling.rows, tiling.rows) * places_of(pooling.columns, tiling.columns);
  switch (memory) {
    case Memory::Input:
      return inputs;
    case Memory::Weight:
      return 1;
    case Memory::Accumulator:
      return inputs + tiling.rows * tiling.columns;
    case Memory::Output:
      return tiling.rows * tiling.columns;
    case Memory::Uop:
      break;
  }
  return 0;
}

Result<space::Sketch> sketch_of(const Pooling& pooling, const Design& design) {
  const auto shared = std::make_shared<const Pooling>(pooling);
  const std::int64_t sums =
      std::min(design.depth(Memory::Accumulator), design.depth(Memory::Output));
  space::Sketch sketch{
      "vta_pooling",
      {{kRows, sizes(pooling.rows.extent, sums)}, {kColumns, sizes(pooling.columns.extent, sums)}}};
  const auto fits = [shared](Memory memory, std::int64_t room) {
    return [shared, memory, room](const Tiling& tiling) {
      return tile_entries(*shared, tiling, memory) <= room;
    };
  };
  sketch.constraints = {constraint("the inputs of a tile fit their memory", {kRows, kColumns},
                                   fits(Memory::Input, design.depth(Memory::Input))),
                        constraint("the inputs and outputs of a tile fit the accumulators",
                                   {kRows, kColumns}, fits(Memory::Accumulator, sums))};
  if (design.hazard_steps > 0) {
    sketch.constraints.push_back(constraint(
        "outputs of the smallest tile are enough for the core's pipeline", {kRows, kColumns},
        [shared, least = std::int64_t{design.hazard_steps}](const Tiling& tiling) {
          return pipelined(shared->rows, tiling.rows) * pipelined(shared->columns, tiling.columns) >
                 least;
        }));
  }
  if (!anything_fits(sketch)) return nothing_fits();
  return sketch;
}

Tiling pooling_tiling_of(const space::SearchSpace& space,
                         const space::Configuration& configuration) {
  Tiling tiling;
  tiling.rows = space.value(configuration, kRows).front();
  tiling.columns = space.value(configuration, kColumns).front();
  return tiling;
}

Tiling tiling_of(const space::SearchSpace& space, const space::Configuration& configuration) {
  const auto value = [&](const char* knob) { return space.value(configuration, knob).front(); };
  return {value(kRows),
          value(kColumns),
          value(kIn),
          value(kOut),
          value(kOutThreads),
          value(kRowThreads),
          value(kInputsStay) == 1,
          value(kStorePieces)};
}

Result<space::Configuration> configuration_of(const space::SearchSpace& space,
                                              const Tiling& tiling) {
  const auto value = [](std::int64_t one) { return nlohmann::json::array({one}); };
  const nlohmann::json knobs = {{kRows, value(tiling.rows)},
                                {kColumns, value(tiling.columns)},
                                {kIn, value(tiling.in)},
                                {kOut, value(tiling.out)},
                                {kOutThreads, value(tiling.out_threads)},
                                {kRowThreads, value(tiling.row_threads)},
                                {kInputsStay, value(tiling.inputs_stay ? 1 : 0)},
                                {kStorePieces, value(tiling.store_pieces)}};
  return space.parse(nlohmann::json{{"sketch", kSketch}, {"knobs", knobs}}.dump());
}

}  // namespace fettle::vta::host
