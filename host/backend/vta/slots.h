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

// How many tiles are loaded for these requests, in their order, with 1, 2, … `most` slots: a tile
// is still there if fewer others than there are slots were asked for since.
inline std::vector<std::size_t> loads_of(std::span<const std::int64_t> tiles, std::size_t most) {
  std::vector<std::size_t> found(most, 0);  // by how many others were asked for since
  std::vector<std::int64_t> recent;         // the last one asked for comes first
  for (const std::int64_t tile : tiles) {
    const auto there = std::find(recent.begin(), recent.end(), tile);
    if (there != recent.end()) {
      ++found[static_cast<std::size_t>(there - recent.begin())];
      recent.erase(there);
    } else if (recent.size() == most) {
      recent.pop_back();
    }
    recent.insert(recent.begin(), tile);
  }
  std::vector<std::size_t> loads;
  for (const std::size_t more : found) {
    loads.push_back((loads.empty() ? tiles.size() : loads.back()) - more);
  }
  return loads;
}

// The fewest slots, at most `most`, with which nothing is loaded more often than with all of them;
// and one more where tiles are loaded over others, so that loading can go on beside the work.
inline std::size_t slots_for(std::span<const std::int64_t> tiles, std::size_t most) {
  const std::vector<std::size_t> loads = loads_of(tiles, most);
  const std::size_t least = loads.back();
  const std::size_t slots =
      static_cast<std::size_t>(std::find(loads.begin(), loads.end(), least) - loads.begin()) + 1;
  return least > slots ? std::min(slots + 1, most) : slots;
}

}  // namespace fettle::vta::host
