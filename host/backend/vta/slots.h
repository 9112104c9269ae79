// Places for tiles in an on-chip memory: what was loaded stays until its place is needed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace fettle::vta::host {

class Slots {
 public:
  explicit Slots(std::size_t count) : tiles_(count, -1), used_(count, 0) {}

  struct Place {
    std::size_t slot;
    bool load;  // it is not there: it must be loaded, over what was used longest ago
  };
  // tile: any number from 0 on.
  Place request(std::int64_t tile) {
    const auto there = std::find(tiles_.begin(), tiles_.end(), tile);
    const std::size_t slot = static_cast<std::size_t>(
        there != tiles_.end() ? there - tiles_.begin()
                              : std::min_element(used_.begin(), used_.end()) - used_.begin());
    used_[slot] = ++now_;
    const bool load = tiles_[slot] != tile;
    tiles_[slot] = tile;
    return {slot, load};
  }

 private:
  std::vector<std::int64_t> tiles_;
  std::vector<std::uint64_t> used_;
  std::uint64_t now_ = 0;
};

// How many tiles are loaded for these requests, in their order.
inline std::size_t loads_of(std::span<const std::int64_t> tiles, std::size_t slots) {
  Slots places(slots);
  return static_cast<std::size_t>(std::count_if(
      tiles.begin(), tiles.end(), [&](std::int64_t tile) { return places.request(tile).load; }));
}

// The fewest slots, at most `most`, with which nothing is loaded more often than with all of them;
// and one more where tiles are loaded over others, so that loading can go on beside the work.
inline std::size_t slots_for(std::span<const std::int64_t> tiles, std::size_t most) {
  const std::size_t least = loads_of(tiles, most);
  std::size_t slots = 1;
  while (slots < most && loads_of(tiles, slots) > least) ++slots;
  return least > slots ? std::min(slots + 1, most) : slots;
}

}  // namespace fettle::vta::host
