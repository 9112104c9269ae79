// Winograd's algorithm (winograd.h) for a convolution by 3x3 windows without strides, as a DAG.
#pragma once

#include <string>

#include "host/space/compute_dag.h"
#include "schemas/wire/result.h"

namespace fettle::space {

// The stages that take the convolution's place, by name, and their axes; one axis has one name in
// all of them. u and v count products along a tile's rows and columns, ty and tx tiles, a and b
// a tile's pixels.
struct WinogradStages {
  // Of the constant, once, on loading: [u][kw][in][out], then [u][v][in][out].
  std::string weight_rows, weights;
  // Of the data: a tile's pixels [n][ty][tx][i][j][in], [n][ty][tx][u][j][in], then
  // [u][v][n][ty][tx][in].
  std::string tile, data_rows, pixels;
  std::string products;  // [u][v][n][ty][tx][out], sums over in, as they are stored
  std::string sum_rows;  // [n][ty][tx][a][v][out]
  int outputs_y, outputs_x;
};

struct WinogradDag {
  ComputeDag dag;
  WinogradStages stages;
};

// What becomes of pixels past the border, where tiles do not divide an image.
enum class LastTile : std::uint8_t {
  Overlaps,  // there are none: it begins early, and some pixels are computed by two tiles
  IsCut      // they are computed from zeros, and not stored
};

// The DAG's one reduction, the sum over channels and a 3x3 window of a data pixel times a
// constant, becomes the sum over channels of transformed pixels times transformed weights, one
// for each of (outputs_y + 2) * (outputs_x + 2) products. Tiles of outputs_y x outputs_x pixels,
// 2, 4 or 6 each. What is transformed of float16 is stored as float16, and so are the sums where
// both factors are; they are summed in float32. The output, with the elementwise stages part of it,
// runs over [n][ty][tx][a][b][out], stored where it was; where the last tile is cut, over the axes
// that it had. InvalidArgument: the DAG is not of that form, or has fewer pixels than a tile.
Result<WinogradDag> with_winograd(ComputeDag dag, int outputs_y, int outputs_x,
                                  LastTile last = LastTile::Overlaps);

}  // namespace fettle::space
