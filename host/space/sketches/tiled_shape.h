// What the tiled CPU sketch knows of a DAG (cpu_tiled.h): its parts by their roles.
#pragma once

#include <string>
#include <vector>

#include "host/space/axis_roles.h"
#include "host/space/cpu_target.h"

namespace fettle::space {

// Axes of a stage by their roles, each by the stage's own name. tiled: what register tiles and
// vectors run along; the channel, or the groups where a vector spans them.
struct TiledAxes {
  std::string y, x, tiled, channel;  // y: empty where there is one spatial axis
  std::vector<std::string> batch;    // problems side by side, outside of the spatial axes
  std::vector<std::string> outer;    // other spatial axes
  std::vector<std::string> groups;   // problems side by side, inside, but `tiled`
  std::vector<std::string> rows;     // all but `tiled` and the channel, in their order
};

struct TiledShape {
  std::string reduction, output, second;  // stages; second: the second factor
  std::string pad;                        // the first factor's copy; empty: none
  bool spans = false;                     // a vector holds several groups
  bool constant = true;                   // the second factor is,
  bool made_second = false;               // and computed as it is packed
  bool stored_apart = false;              // the output: elsewhere than at its axes
  bool inlines_pad = false;               // the copy may be read as the input with conditions

  TiledAxes sums, out;  // of the reduction and of the output
  std::int64_t y_extent = 1, x_extent = 1, tiled_extent = 1;
  std::int64_t per = 1;  // channels of each group that a vector spans
  std::vector<Axis> reduce;
  std::vector<AxisRole> reduce_roles;
  std::vector<std::string> skips;  // windows whose iterations in the padding may be left out
  std::int64_t inner = 1;          // of the last reduction axis
  std::string tiled_of_second;     // the second factor's own name of `tiled`
  std::vector<std::string> batch_of_second;  // and of what comes before its tiles

  std::int64_t channels() const { return tiled_extent * per; }  // that vectors run along
  std::vector<std::string> windows() const;                     // reduction axes that are
};

// spans: with vectors over several groups. The DAG must fit (cpu_tiled.h).
TiledShape tiled_shape(const ComputeDag& dag, bool spans);

// Its register tiles (cpu_tiled.h). Where vectors span groups they hold whole ones, and tiles do
// not overlap: a task's copy of the first factor begins at a multiple of its tiles.
std::vector<std::vector<std::int64_t>> register_tiles(const TiledShape& shape,
                                                      const CpuTarget& target);

}  // namespace fettle::space
