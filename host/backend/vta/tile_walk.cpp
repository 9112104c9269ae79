// Orders of tiles (tile_walk.h).
#include "host/backend/vta/tile_walk.h"

#include <algorithm>

namespace fettle::vta::host {
namespace {

// Every combination of places along the outer axes.
std::vector<std::vector<std::int64_t>> outer_places(const Product& product) {
  std::vector<std::vector<std::int64_t>> all{{}};
  for (const SpatialAxis& axis : product.outer) {
    std::vector<std::vector<std::int64_t>> more;
    for (const auto& place : all) {
      for (std::int64_t i = 0; i < axis.extent; ++i) {
        more.push_back(place);
        more.back().push_back(i);
      }
    }
    all = std::move(more);
  }
  return all;
}

// What may be cut into tiles that go together: every `threads` neighbours.
struct Groups {
  std::vector<Range> tiles;
  std::size_t threads;
  std::size_t count() const { return (tiles.size() + threads - 1) / threads; }
  std::size_t end(std::size_t group) const { return std::min(tiles.size(), (group + 1) * threads); }
};

}  // namespace

std::vector<Range> cut(std::int64_t extent, std::int64_t size) {
  std::vector<Range> ranges;
  for (std::int64_t first = 0; first < extent; first += size) {
    ranges.push_back({first, std::min(size, extent - first)});
  }
  return ranges;
}

std::vector<std::vector<Tile>> walk(const Product& product, const Tiling& tiling) {
  const Groups rows{cut(product.rows.extent, tiling.rows),
                    static_cast<std::size_t>(tiling.row_threads)},
      out{cut(product.out.extent, tiling.out), static_cast<std::size_t>(tiling.out_threads)};
  const std::vector<Range> columns = cut(product.columns.extent, tiling.columns);
  const auto outer = outer_places(product);
  std::vector<std::vector<Tile>> groups;
  const auto add = [&](std::size_t image, std::size_t row_group, std::size_t column,
                       std::size_t out_group) {
    std::vector<Tile>& group = groups.emplace_back();
    for (std::size_t r = row_group * rows.threads; r < rows.end(row_group); ++r) {
      const std::size_t place = (image * rows.tiles.size() + r) * columns.size() + column;
      for (std::size_t o = out_group * out.threads; o < out.end(out_group); ++o) {
        group.push_back({rows.tiles[r], columns[column], out.tiles[o], outer[image],
                         static_cast<std::int64_t>(place), static_cast<std::int64_t>(o)});
      }
    }
  };
  const std::size_t around = tiling.inputs_stay ? 1 : out.count(),
                    inside = tiling.inputs_stay ? out.count() : 1;
  for (std::size_t a = 0; a < around; ++a) {
    for (std::size_t image = 0; image < outer.size(); ++image) {
      for (std::size_t r = 0; r < rows.count(); ++r) {
        for (std::size_t c = 0; c < columns.size(); ++c) {
          for (std::size_t i = 0; i < inside; ++i) add(image, r, c, tiling.inputs_stay ? i : a);
        }
      }
    }
  }
  return groups;
}

}  // namespace fettle::vta::host
