// BERT-base's encoder: 12 layers of attention and two projections, over embeddings of 128 tokens.
#include <cmath>

#include "host/model/zoo/blocks.h"
#include "host/model/zoo/zoo.h"

namespace fettle::model {
namespace {

constexpr std::int64_t kTokens = 128, kWidth = 768, kHeads = 12, kEach = kWidth / kHeads;

// [1][tokens][width] to [1][heads][tokens][each], or, for keys, with the last two swapped.
Tensor heads(NetworkWriter& w, const Tensor& x, bool keys) {
  const Tensor parts = w.reshape(x, {1, kTokens, kHeads, kEach});
  return w.transpose(parts,
                     keys ? NetworkWriter::Shape{0, 2, 3, 1} : NetworkWriter::Shape{0, 2, 1, 3});
}

Tensor attention(NetworkWriter& w, const Tensor& x) {
  const Tensor query = heads(w, w.projection(x, kWidth), false);
  const Tensor key = heads(w, w.projection(x, kWidth), true);
  const Tensor value = heads(w, w.projection(x, kWidth), false);
  const Tensor scores = w.plain("MatMul", {query, key});
  const Tensor scaled = w.plain("Div", {scores, w.constant(std::sqrt(static_cast<float>(kEach)))});
  const Tensor mixed = w.plain("MatMul", {w.softmax(scaled), value});
  const Tensor joined = w.reshape(w.transpose(mixed, {0, 2, 1, 3}), {1, kTokens, kWidth});
  return w.projection(joined, kWidth);
}

// x (1 + erf(x / sqrt 2)) / 2: opset 17 has no Gelu.
Tensor gelu(NetworkWriter& w, const Tensor& x) {
  const Tensor error = w.plain("Erf", {w.plain("Div", {x, w.constant(std::sqrt(2.0f))})});
  const Tensor both = w.plain("Mul", {x, w.plain("Add", {error, w.constant(1)})});
  return w.plain("Mul", {both, w.constant(0.5f)});
}

}  // namespace

Tensor write_bert_base(NetworkWriter& w) {
  Tensor x = w.input("embeddings", {1, kTokens, kWidth}, kWidth);
  for (int layer = 0; layer < 12; ++layer) {
    x = w.layer_norm(w.plain("Add", {attention(w, x), x}));
    const Tensor wide = gelu(w, w.projection(x, 4 * kWidth));
    x = w.layer_norm(w.plain("Add", {w.projection(wide, kWidth), x}));
  }
  return x;
}

}  // namespace fettle::model
