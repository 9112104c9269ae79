// Inception v3: blocks of branches, whose outputs are joined.
#include "host/model/zoo/blocks.h"
#include "host/model/zoo/zoo.h"

namespace fettle::model {
namespace {

constexpr Window kHalve = {{3, 3}, 2, {0, 0}, 1};
constexpr Window kRow = {{1, 7}, 1, {0, 3}, 1}, kColumn = {{7, 1}, 1, {3, 0}, 1};
constexpr Window kShortRow = {{1, 3}, 1, {0, 1}, 1}, kShortColumn = {{3, 1}, 1, {1, 0}, 1};

// One layer behind the other.
struct Layer {
  std::int64_t channels;
  Window window;
};
Tensor chain(NetworkWriter& w, Tensor x, const std::vector<Layer>& layers) {
  for (const Layer& layer : layers) x = conv_norm_relu(w, x, layer.channels, layer.window);
  return x;
}
Tensor pooled(NetworkWriter& w, const Tensor& x, std::int64_t channels) {
  return conv_norm_relu(w, w.average_pool(x, NetworkWriter::square(3)), channels, {});
}

Tensor block_35(NetworkWriter& w, const Tensor& x, std::int64_t pool) {
  return w.concat(
      {chain(w, x, {{64, {}}}), chain(w, x, {{48, {}}, {64, NetworkWriter::square(5)}}),
       chain(w, x, {{64, {}}, {96, NetworkWriter::square(3)}, {96, NetworkWriter::square(3)}}),
       pooled(w, x, pool)});
}

Tensor block_17(NetworkWriter& w, const Tensor& x, std::int64_t narrow) {
  return w.concat(
      {chain(w, x, {{192, {}}}), chain(w, x, {{narrow, {}}, {narrow, kRow}, {192, kColumn}}),
       chain(w, x,
             {{narrow, {}}, {narrow, kColumn}, {narrow, kRow}, {narrow, kColumn}, {192, kRow}}),
       pooled(w, x, 192)});
}

Tensor block_8(NetworkWriter& w, const Tensor& x) {
  const Tensor first = chain(w, x, {{384, {}}});
  const Tensor second = chain(w, x, {{448, {}}, {384, NetworkWriter::square(3)}});
  return w.concat(
      {chain(w, x, {{320, {}}}),
       w.concat({chain(w, first, {{384, kShortRow}}), chain(w, first, {{384, kShortColumn}})}),
       w.concat({chain(w, second, {{384, kShortRow}}), chain(w, second, {{384, kShortColumn}})}),
       pooled(w, x, 192)});
}

}  // namespace

Tensor write_inception_v3(NetworkWriter& w) {
  Tensor x = chain(w, image(w, 299),
                   {{32, kHalve}, {32, {{3, 3}, 1, {0, 0}, 1}}, {64, NetworkWriter::square(3)}});
  x = chain(w, w.max_pool(x, kHalve), {{80, {}}, {192, {{3, 3}, 1, {0, 0}, 1}}});
  x = w.max_pool(x, kHalve);
  for (const std::int64_t pool : {32, 64, 64}) x = block_35(w, x, pool);
  x = w.concat({chain(w, x, {{384, kHalve}}),
                chain(w, x, {{64, {}}, {96, NetworkWriter::square(3)}, {96, kHalve}}),
                w.max_pool(x, kHalve)});
  for (const std::int64_t narrow : {128, 160, 160, 192}) x = block_17(w, x, narrow);
  x = w.concat({chain(w, x, {{192, {}}, {320, kHalve}}),
                chain(w, x, {{192, {}}, {192, kRow}, {192, kColumn}, {192, kHalve}}),
                w.max_pool(x, kHalve)});
  return classifier(w, block_8(w, block_8(w, x)));
}

}  // namespace fettle::model
