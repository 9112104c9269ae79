// Writes networks as ONNX files, with seeded weights: the same file for the same seed on every
// machine.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "schemas/wire/result.h"

namespace fettle::model {

class NetworkWriter {
 public:
  using Shape = std::vector<std::int64_t>;
  // A value and, of images [n][c][y][x], its channels; of rows their length.
  struct Tensor {
    std::string name;
    std::int64_t channels = 0;
  };
  struct Window {
    std::array<std::int64_t, 2> kernel = {1, 1};
    std::int64_t stride = 1;
    std::array<std::int64_t, 2> pad = {0, 0};
    std::int64_t groups = 1;
  };
  // A square window, padded so that a stride of 1 keeps the size.
  static Window square(std::int64_t kernel, std::int64_t stride = 1, std::int64_t groups = 1) {
    return {{kernel, kernel}, stride, {kernel / 2, kernel / 2}, groups};
  }

  NetworkWriter(const std::string& name, std::uint64_t seed);
  ~NetworkWriter();
  NetworkWriter(const NetworkWriter&) = delete;

  Tensor input(const std::string& name, const Shape& shape, std::int64_t channels);
  Tensor conv(const Tensor& x, std::int64_t channels, const Window& window, bool bias = false);
  Tensor batch_norm(const Tensor& x);
  Tensor max_pool(const Tensor& x, const Window& window, bool round_up = false);
  Tensor average_pool(const Tensor& x, const Window& window);
  Tensor dense(const Tensor& x, std::int64_t features);  // of rows, by Gemm
  Tensor projection(const Tensor& x,
                    std::int64_t features);  // along the last axis, by MatMul and Add
  Tensor layer_norm(const Tensor& x);
  Tensor concat(const std::vector<Tensor>& parts);
  Tensor clip(const Tensor& x, float low, float high);
  Tensor reshape(const Tensor& x, const Shape& shape);
  Tensor transpose(const Tensor& x, const Shape& order);
  // An operator without attributes.
  Tensor plain(const std::string& op, const std::vector<Tensor>& inputs);
  Tensor softmax(const Tensor& x);  // along the last axis
  Tensor constant(float value);

  // With one output. The parts of `path`'s folder exist; no half-written file stays. Internal: it
  // cannot be written.
  Result<void> save(const Tensor& output, const Shape& shape, const std::string& path);

 private:
  struct Parts;
  // Numbers in [middle - spread, middle + spread).
  std::string weights(const std::string& what, const Shape& shape, double middle, double spread);
  std::unique_ptr<Parts> parts_;
};

}  // namespace fettle::model
