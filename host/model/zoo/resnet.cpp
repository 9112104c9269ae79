// ResNets v1.
#include "host/model/zoo/blocks.h"
#include "host/model/zoo/zoo.h"

namespace fettle::model {
namespace {

Tensor shortcut(NetworkWriter& w, const Tensor& x, std::int64_t channels, std::int64_t stride) {
  if (x.channels == channels && stride == 1) return x;
  return conv_norm(w, x, channels, {{1, 1}, stride, {0, 0}, 1});
}

Tensor basic(NetworkWriter& w, const Tensor& x, std::int64_t channels, std::int64_t stride) {
  const Tensor a = conv_norm_relu(w, x, channels, NetworkWriter::square(3, stride));
  const Tensor b = conv_norm(w, a, channels, NetworkWriter::square(3));
  return relu(w, w.plain("Add", {b, shortcut(w, x, channels, stride)}));
}

Tensor bottleneck(NetworkWriter& w, const Tensor& x, std::int64_t channels, std::int64_t stride) {
  const Tensor a = conv_norm_relu(w, x, channels, {});
  const Tensor b = conv_norm_relu(w, a, channels, NetworkWriter::square(3, stride));
  const Tensor c = conv_norm(w, b, 4 * channels, {});
  return relu(w, w.plain("Add", {c, shortcut(w, x, 4 * channels, stride)}));
}

using Block = Tensor (*)(NetworkWriter&, const Tensor&, std::int64_t, std::int64_t);

Tensor resnet(NetworkWriter& w, Block block, const std::array<int, 4>& blocks) {
  Tensor x = conv_norm_relu(w, image(w), 64, NetworkWriter::square(7, 2));
  x = w.max_pool(x, NetworkWriter::square(3, 2));
  for (int stage = 0; stage < 4; ++stage) {
    for (int i = 0; i < blocks[static_cast<std::size_t>(stage)]; ++i) {
      x = block(w, x, 64 << stage, stage > 0 && i == 0 ? 2 : 1);
    }
  }
  return classifier(w, x);
}

}  // namespace

Tensor write_resnet_18(NetworkWriter& w) { return resnet(w, basic, {2, 2, 2, 2}); }
Tensor write_resnet_34(NetworkWriter& w) { return resnet(w, basic, {3, 4, 6, 3}); }
Tensor write_resnet_50(NetworkWriter& w) { return resnet(w, bottleneck, {3, 4, 6, 3}); }

}  // namespace fettle::model
