// Layer: a workload as plain tensors and numbers, for implementations that know
// nothing of compute DAGs. Values are those that fettle's own programs get.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "host/space/tolerance.h"
#include "host/space/workload.h"
#include "schemas/wire/result.h"

namespace fettle::bench {

enum class LayerKind { Convolution, Dense, BatchMatmul, Softmax, LayerNorm };

// Kinds of layers whose ratios are not to be mixed: a mean over both hides the worse.
enum class LayerGroup { Convolutions, Products, Others };
LayerGroup group_of(const space::Workload& workload);
const char* name_of(LayerGroup group);  // "convolutions", "products", "others"

// Dense is a convolution of a 1x1 picture: height, width and kernel are 1; so are softmax and
// layer_norm of rows, as many channels out as in. A batch_matmul has its m as height.
struct Shape {
  std::int64_t batch = 1, groups = 1;
  std::int64_t height = 1, width = 1, in_channels = 0;
  std::int64_t out_height = 1, out_width = 1, out_channels = 0;
  std::array<std::int64_t, 2> kernel{1, 1}, stride{1, 1}, pad{0, 0}, dilation{1, 1};
  // Of volumes: along depth.
  std::int64_t depth = 1, out_depth = 1;
  std::int64_t deep_kernel = 1, deep_stride = 1, deep_pad = 0, deep_dilation = 1;
};

struct Layer {
  space::Workload workload;
  LayerKind kind = LayerKind::Convolution;
  bool volume = false;          // conv3d
  bool channels_first = false;  // NCHW
  bool int8 = false;  // input and weight are int8, bias and output int32; all held as floats,
                      // which sums up to 2^24 fit
  bool half = false;  // all but the tail's constants are float16
  Shape shape;
  // Row-major: [n][y][x][c]; [kernel y][kernel x][in / groups][out]; [out]; as the output.
  // Channels first: [n][c][y][x]; [out][in / groups][kernel y][kernel x]. Volumes: with z before
  // y. A batch_matmul's weight is its second input, [b][k][n]; a layer_norm's its scale.
  std::vector<float> input, weight;
  std::vector<float> bias, residual;  // empty: the tail has none; a layer_norm's bias: its shift
  bool relu = false, gelu = false;
  // Of the reference evaluator. Int8: peers get even weights of 7 bits, our program fills in 8.
  std::vector<float> expected, our_expected;
  space::Tolerance tolerance;
};

// Unsupported: an operator other than conv2d, depthwise_conv2d, conv3d, dense, batch_matmul,
// softmax and layer_norm, a type other than float32, float16 and int8, or a tail other than the
// steps bias, add (float32), and relu or gelu in this order; batch_matmul, softmax and layer_norm
// with any tail.
Result<Layer> make_layer(const space::Workload& workload);

// Elements of float32, float16, int8 or int32 as floats, and back.
std::vector<float> as_floats(const std::vector<std::uint8_t>& bytes, ir::Scalar type);
std::vector<std::uint8_t> as_bytes(const std::vector<float>& values, ir::Scalar type);
// Of its outputs.
ir::Scalar output_type(const Layer& layer);

// "" when `output` is the layer's. Made for peers: whether they were given the same
// problem. Programs of ours are held to their own tolerance elsewhere.
std::string wrong_answer(const std::vector<float>& output, const Layer& layer);

}  // namespace fettle::bench
