// What several networks of the zoo are made of.
#pragma once

#include "host/model/zoo/network_writer.h"

namespace fettle::model {

using Tensor = NetworkWriter::Tensor;
using Window = NetworkWriter::Window;

inline Tensor image(NetworkWriter& w, std::int64_t size = 224) {
  return w.input("image", {1, 3, size, size}, 3);
}
inline Tensor relu(NetworkWriter& w, const Tensor& x) { return w.plain("Relu", {x}); }
inline Tensor conv_norm(NetworkWriter& w, const Tensor& x, std::int64_t channels,
                        const Window& window) {
  return w.batch_norm(w.conv(x, channels, window));
}
inline Tensor conv_norm_relu(NetworkWriter& w, const Tensor& x, std::int64_t channels,
                             const Window& window) {
  return relu(w, conv_norm(w, x, channels, window));
}
// The mean of each channel, as a row.
inline Tensor pooled_row(NetworkWriter& w, const Tensor& x) {
  return w.plain("Flatten", {w.plain("GlobalAveragePool", {x})});
}
inline Tensor classifier(NetworkWriter& w, const Tensor& x) {
  return w.softmax(w.dense(pooled_row(w, x), 1000));
}

}  // namespace fettle::model
