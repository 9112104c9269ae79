// Dense layers by OpenBLAS (openblas_peer.h).
#include "tests/bench/kernels/openblas_peer.h"

#include <cblas.h>
#include <algorithm>
#include <limits>

namespace fettle::bench {
namespace {

class OpenBlasPeer final : public Contender {
 public:
  explicit OpenBlasPeer(const Layer& layer)
      : layer_(layer),
        name_("openblas"),
        implementation_(std::string(layer.shape.batch == 1 ? "sgemv" : "sgemm") + ", " +
                        openblas_get_corename()),
        output_(layer.expected.size()) {}

  const std::string& name() const override { return name_; }
  const std::string& implementation() const override { return implementation_; }

  Result<void> run(std::uint32_t times) override {
    for (std::uint32_t i = 0; i < times; ++i) run_once();
    return {};
  }

  Result<std::vector<float>> output() override {
    std::fill(output_.begin(), output_.end(), std::numeric_limits<float>::quiet_NaN());
    run_once();
    return output_;
  }

 private:
  void run_once() {
    const auto rows = static_cast<blasint>(layer_.shape.batch);
    const auto columns = static_cast<blasint>(layer_.shape.out_channels);
    const auto depth = static_cast<blasint>(layer_.shape.in_channels);
    start_output();
    if (rows == 1) {
      cblas_sgemv(CblasRowMajor, CblasTrans, depth, columns, 1.0f, layer_.weight.data(), columns,
                  layer_.input.data(), 1, 1.0f, output_.data(), 1);
    } else {
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, columns, depth, 1.0f,
                  layer_.input.data(), depth, layer_.weight.data(), columns, 1.0f, output_.data(),
                  columns);
    }
    if (layer_.relu) {
      for (float& value : output_) value = std::max(value, 0.0f);
    }
  }

  // Residual plus bias of the column; zeros without either.
  void start_output() {
    if (layer_.residual.empty()) {
      std::fill(output_.begin(), output_.end(), 0.0f);
    } else {
      std::copy(layer_.residual.begin(), layer_.residual.end(), output_.begin());
    }
    if (layer_.bias.empty()) return;
    const std::size_t columns = layer_.bias.size();
    for (std::size_t row = 0; row < output_.size(); row += columns) {
      for (std::size_t i = 0; i < columns; ++i) output_[row + i] += layer_.bias[i];
    }
  }

  const Layer& layer_;
  std::string name_, implementation_;
  std::vector<float> output_;
};

}  // namespace

Result<std::unique_ptr<Contender>> make_openblas_peer(const Layer& layer, unsigned threads) {
  if (layer.int8 || layer.half) {
    return Error{ErrorCode::Unsupported, "openblas: only float32", {}};
  }
  if (layer.kind != LayerKind::Dense || layer.gelu)
    return Error{ErrorCode::Unsupported, "openblas: only dense layers", {}};
  openblas_set_num_threads(static_cast<int>(threads));
  return std::unique_ptr<Contender>(new OpenBlasPeer(layer));
}

}  // namespace fettle::bench
