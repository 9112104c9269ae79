// The list of layers (pipeline_layers.h).
#include "tests/bench/pipeline_layers.h"
#include "host/space/workload.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

namespace fettle::bench {
namespace {

using Json = nlohmann::json;

struct Layer {
  int side, in, out;  // pixels of each side going in, channels
  double operations() const { return 2.0 * 9 * (side / 2) * (side / 2) * in * out; }
};

constexpr Layer kLayers[] = {
    {96, 3, 8},       // MobileNet at 96x96 with a quarter of its channels, the first
    {32, 16, 32},     // ResNet-20 on CIFAR-10
    {28, 64, 128},    // ResNet-18 at 112x112
    {40, 64, 128},    // ResNet-18 at 160x160
    {48, 64, 128},    // ResNet-18 at 192x192
    {56, 64, 128},    // ResNet-18
    {64, 64, 128},    // ResNet-18 at 256x256
    {80, 64, 128},    // ResNet-18 at 320x320
    {28, 256, 512},   // Darknet-53 at 224x224
    {32, 256, 512},   // YOLOv3 at 256x256
    {40, 256, 512},   // YOLOv3 at 320x320
    {52, 256, 512},   // YOLOv3 at 416x416
    {64, 256, 512},   // YOLOv3 at 512x512
    {76, 256, 512},   // YOLOv3 at 608x608
    {128, 256, 512},  // YOLOv3 at 1024x1024
};

Result<space::Workload> workload_of(const Layer& layer) {
  return space::Workload::parse(Json{{"op", "conv2d"},
                                     {"layout", "NHWC"},
                                     {"batch", 1},
                                     {"height", layer.side},
                                     {"width", layer.side},
                                     {"in_channels", layer.in},
                                     {"out_channels", layer.out},
                                     {"kernel", {3, 3}},
                                     {"stride", {2, 2}},
                                     {"pad", {1, 1}},
                                     {"dilation", {1, 1}},
                                     {"groups", 1},
                                     {"dtype", "float32"},
                                     {"tail", {"bias", "relu"}}});
}

}  // namespace

Result<space::Workload> sizing_layer() { return workload_of({56, 64, 128}); }

Result<space::Workload> layer_of_operations(double operations) {
  const auto distance = [&](const Layer& layer) {
    return std::fabs(std::log(layer.operations() / operations));
  };
  return workload_of(
      *std::min_element(std::begin(kLayers), std::end(kLayers),
                        [&](const Layer& a, const Layer& b) { return distance(a) < distance(b); }));
}

}  // namespace fettle::bench
