// VGG and SqueezeNet: convolutions with a bias and nothing to normalise.
#include "host/model/zoo/blocks.h"
#include "host/model/zoo/zoo.h"

namespace fettle::model {
namespace {

Tensor conv_relu(NetworkWriter& w, const Tensor& x, std::int64_t channels, const Window& window) {
  return relu(w, w.conv(x, channels, window, true));
}

// Squeezed to few channels, then widened by 1x1 and 3x3 side by side.
Tensor fire(NetworkWriter& w, const Tensor& x, std::int64_t narrow, std::int64_t wide) {
  const Tensor squeezed = conv_relu(w, x, narrow, {});
  return w.concat(
      {conv_relu(w, squeezed, wide, {}), conv_relu(w, squeezed, wide, NetworkWriter::square(3))});
}

}  // namespace

Tensor write_vgg_16(NetworkWriter& w) {
  Tensor x = image(w);
  constexpr std::int64_t kStages[][2] = {{64, 2}, {128, 2}, {256, 3}, {512, 3}, {512, 3}};
  for (const auto& [channels, layers] : kStages) {
    for (std::int64_t i = 0; i < layers; ++i)
      x = conv_relu(w, x, channels, NetworkWriter::square(3));
    x = w.max_pool(x, {{2, 2}, 2, {0, 0}, 1});
  }
  x = w.plain("Flatten", {x});
  x.channels *= 7 * 7;
  x = relu(w, w.dense(x, 4096));
  return w.softmax(w.dense(relu(w, w.dense(x, 4096)), 1000));
}

Tensor write_squeezenet(NetworkWriter& w) {
  const Window halve = {{3, 3}, 2, {0, 0}, 1};
  Tensor x = conv_relu(w, image(w), 64, halve);
  x = w.max_pool(x, halve, true);
  x = fire(w, fire(w, x, 16, 64), 16, 64);
  x = w.max_pool(x, halve, true);
  x = fire(w, fire(w, x, 32, 128), 32, 128);
  x = w.max_pool(x, halve, true);
  x = fire(w, fire(w, x, 48, 192), 48, 192);
  x = fire(w, fire(w, x, 64, 256), 64, 256);
  return w.softmax(pooled_row(w, conv_relu(w, x, 1000, {})));
}

}  // namespace fettle::model
