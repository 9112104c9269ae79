// MobileNets.
#include "host/model/zoo/blocks.h"
#include "host/model/zoo/zoo.h"

namespace fettle::model {
namespace {

Tensor depthwise(NetworkWriter& w, const Tensor& x, std::int64_t stride) {
  return conv_norm(w, x, x.channels, NetworkWriter::square(3, stride, x.channels));
}
Tensor relu6(NetworkWriter& w, const Tensor& x) { return w.clip(x, 0, 6); }

// Widened by `expand`, filtered, narrowed without an activation.
Tensor inverted(NetworkWriter& w, const Tensor& x, std::int64_t channels, std::int64_t stride,
                std::int64_t expand) {
  Tensor y = x;
  if (expand > 1) y = relu6(w, conv_norm(w, y, x.channels * expand, {}));
  y = conv_norm(w, relu6(w, depthwise(w, y, stride)), channels, {});
  return stride == 1 && channels == x.channels ? w.plain("Add", {y, x}) : y;
}

}  // namespace

Tensor write_mobilenet_v1(NetworkWriter& w) {
  Tensor x = conv_norm_relu(w, image(w), 32, NetworkWriter::square(3, 2));
  constexpr std::int64_t kLayers[][2] = {{64, 1},  {128, 2},  {128, 1}, {256, 2}, {256, 1},
                                         {512, 2}, {512, 1},  {512, 1}, {512, 1}, {512, 1},
                                         {512, 1}, {1024, 2}, {1024, 1}};
  for (const auto& [channels, stride] : kLayers) {
    x = conv_norm_relu(w, relu(w, depthwise(w, x, stride)), channels, {});
  }
  return classifier(w, x);
}

Tensor write_mobilenet_v2(NetworkWriter& w) {
  Tensor x = relu6(w, conv_norm(w, image(w), 32, NetworkWriter::square(3, 2)));
  // expand, channels, blocks, stride of the first
  constexpr std::int64_t kStages[][4] = {{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2},
                                         {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2},
                                         {6, 320, 1, 1}};
  for (const auto& [expand, channels, blocks, stride] : kStages) {
    for (std::int64_t i = 0; i < blocks; ++i) x = inverted(w, x, channels, i ? 1 : stride, expand);
  }
  return classifier(w, relu6(w, conv_norm(w, x, 1280, {})));
}

}  // namespace fettle::model
