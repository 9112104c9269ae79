// DenseNet: each layer reads what all before it in its block have made.
#include "host/model/zoo/blocks.h"
#include "host/model/zoo/zoo.h"

namespace fettle::model {
namespace {

constexpr std::int64_t kGrowth = 32;

Tensor norm_relu(NetworkWriter& w, const Tensor& x) { return relu(w, w.batch_norm(x)); }

}  // namespace

Tensor write_densenet_121(NetworkWriter& w) {
  Tensor x = conv_norm_relu(w, image(w), 64, NetworkWriter::square(7, 2));
  x = w.max_pool(x, NetworkWriter::square(3, 2));
  constexpr int kBlocks[] = {6, 12, 24, 16};
  for (const int& layers : kBlocks) {
    for (int i = 0; i < layers; ++i) {
      const Tensor narrow = w.conv(norm_relu(w, x), 4 * kGrowth, {});
      x = w.concat({x, w.conv(norm_relu(w, narrow), kGrowth, NetworkWriter::square(3))});
    }
    if (&layers == std::end(kBlocks) - 1) break;
    x = w.average_pool(w.conv(norm_relu(w, x), x.channels / 2, {}), {{2, 2}, 2, {0, 0}, 1});
  }
  return classifier(w, norm_relu(w, x));
}

}  // namespace fettle::model
