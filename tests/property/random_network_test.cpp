// Random networks: what a graph's cutting, layouts and schedules make of it is what its nodes say.
#include <algorithm>
#include <numeric>

#include "tests/support/network_agrees.h"

namespace fettle::network {
namespace {

using Model = testing::OnnxModel;
using Shape = std::vector<std::int64_t>;

// A file of up to eight nodes, each on a value that is there: of images, of rows behind them.
class RandomModel {
 public:
  explicit RandomModel(std::uint32_t seed) : random_(seed) {
    model_.opset(17);
    const Shape shape = {below(2) + 1, one_of({1, 3, 4, 8, 9}), below(7) + 3, below(7) + 3};
    model_.input("x", shape);
    values_.push_back({"x", shape});
    for (std::int64_t i = below(6) + 3; i > 0; --i) grow();
    model_.output(values_.back().name);
    if (below(3) == 0 && values_.size() > 2) model_.output(values_[values_.size() / 2].name);
  }
  const Model& model() const { return model_; }
  const std::string& text() const { return text_; }

 private:
  struct Value {
    std::string name;
    Shape shape;
  };

  std::int64_t below(std::int64_t bound) {
    return std::uniform_int_distribution<std::int64_t>(0, bound - 1)(random_);
  }
  std::int64_t one_of(const Shape& list) { return list[std::size_t(below(std::ssize(list)))]; }

  onnx::NodeProto& node(const std::string& op, std::vector<std::string> inputs, Shape shape) {
    const std::string name = "v" + std::to_string(values_.size());
    text_ += op + "(";
    for (const std::string& input : inputs) text_ += input + " ";
    text_ += ") " + name + "; ";
    values_.push_back({name, std::move(shape)});
    return model_.node(op, inputs, name);
  }
  std::string weights(const Shape& shape) {
    const std::string name = "w" + std::to_string(weights_++);
    model_.weights(name, shape, 0.1f);
    return name;
  }

  void grow() {
    // Mostly the newest, so that nodes stand behind each other.
    const Value value =
        below(4) ? values_.back() : values_[std::size_t(below(std::ssize(values_)))];
    if (value.shape.size() == 4 && below(3)) return of_image(value);
    if (value.shape.size() == 2 && below(2)) return of_rows(value);
    of_any(value);
  }

  void of_image(const Value& value) {
    const Shape& x = value.shape;
    const std::int64_t c = x[1];
    switch (below(10)) {
      case 8:
        return grown(value);
      case 9:
        return resized(value);
      case 0:
      case 1: {
        const std::int64_t kernel = one_of({1, 2, 3}), before = below(2), behind = below(2);
        const std::int64_t stride = below(2) + 1, groups = below(3) ? 1 : c;
        const std::int64_t to = groups == 1 ? one_of({1, 4, 5, 16}) : c;
        const auto extent = [&](std::int64_t size) {
          return (size + before + behind - kernel) / stride + 1;
        };
        if (std::min(x[2], x[3]) < kernel) return;
        std::vector<std::string> inputs = {value.name, weights({to, c / groups, kernel, kernel})};
        if (below(2)) inputs.push_back(weights({to}));
        auto& conv = node("Conv", inputs, {x[0], to, extent(x[2]), extent(x[3])});
        Model::integers(conv, "pads", {before, before, behind, behind});
        Model::integers(conv, "strides", {stride, stride});
        Model::integer(conv, "group", groups);
        return;
      }
      case 2: {
        const std::int64_t kernel = one_of({2, 3}), stride = below(2) + 1, before = below(2);
        if (std::min(x[2], x[3]) < kernel) return;
        const auto extent = [&](std::int64_t size) {
          return (size + before - kernel) / stride + 1;
        };
        auto& pool = node(below(2) ? "MaxPool" : "AveragePool", {value.name},
                          {x[0], c, extent(x[2]), extent(x[3])});
        Model::integers(pool, "kernel_shape", {kernel, kernel});
        Model::integers(pool, "pads", {before, before, 0, 0});
        Model::integers(pool, "strides", {stride, stride});
        return;
      }
      case 3:
        Model::integer(node("LRN", {value.name}, x), "size", 3);
        return;
      case 4: {
        std::vector<std::string> inputs = {value.name};
        for (int i = 0; i < 4; ++i) inputs.push_back(weights({c}));
        node("BatchNormalization", inputs, x);
        return;
      }
      case 5:
        node("InstanceNormalization", {value.name, weights({c}), weights({c})}, x);
        return;
      case 6: {
        const std::int64_t keep = below(2);
        auto& mean = node(below(2) ? "ReduceMean" : "ReduceMax", {value.name},
                          keep ? Shape{x[0], c, 1, 1} : Shape{x[0], c});
        Model::integers(mean, "axes", below(2) ? Shape{2, 3} : Shape{-1, -2});
        Model::integer(mean, "keepdims", keep);
        return;
      }
      default:
        node("Flatten", {value.name}, {x[0], c * x[2] * x[3]});
    }
  }

  void grown(const Value& value) {
    const Shape& x = value.shape;
    const std::int64_t kernel = one_of({1, 2, 3, 4}), stride = below(3) + 1, pad = below(2);
    const std::int64_t groups = below(3) ? 1 : x[1], to = one_of({1, 4, 5});
    const auto extent = [&](std::int64_t size) { return (size - 1) * stride + kernel - pad; };
    if (std::min(extent(x[2]), extent(x[3])) < 1 || extent(x[2]) > 40) return;
    auto& conv = node("ConvTranspose", {value.name, weights({x[1], to, kernel, kernel})},
                      {x[0], to * groups, extent(x[2]), extent(x[3])});
    Model::integers(conv, "strides", {stride, stride});
    Model::integers(conv, "pads", {pad, 0, 0, pad});
    Model::integer(conv, "group", groups);
  }
  void resized(const Value& value) {
    const Shape& x = value.shape;
    const Shape to = {x[0], x[1], below(20) + 1, below(20) + 1};
    const std::string sizes = "sizes" + std::to_string(weights_++);
    model_.whole_numbers(sizes, {4}, to);
    auto& resize = node("Resize", {value.name, "", "", sizes}, to);
    Model::word(resize, "mode", below(3) ? "linear" : below(2) ? "nearest" : "cubic");
    const char* places[] = {"half_pixel", "align_corners", "asymmetric"};
    Model::word(resize, "coordinate_transformation_mode", places[below(3)]);
  }

  void of_rows(const Value& value) {
    const std::int64_t rows = value.shape[0], from = value.shape[1], to = one_of({1, 2, 5, 16});
    const bool flip = below(2) != 0;
    std::vector<std::string> inputs = {value.name,
                                       weights(flip ? Shape{to, from} : Shape{from, to})};
    const Shape added[] = {{to}, {1, to}, {rows, 1}, {rows, to}, {1}};
    if (below(3)) inputs.push_back(weights(added[below(5)]));
    auto& gemm = node("Gemm", inputs, {rows, to});
    Model::integer(gemm, "transB", flip);
    if (below(4) == 0) Model::number(gemm, "alpha", 0.5);
    if (below(4) == 0) Model::number(gemm, "beta", 2);
  }

  void of_any(const Value& value) {
    const Shape& x = value.shape;
    const std::int64_t rank = std::ssize(x);
    switch (below(6)) {
      case 0: {
        Shape order(x.size()), to;
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin(), order.end(), random_);
        for (const std::int64_t axis : order) to.push_back(x[std::size_t(axis)]);
        Model::integers(node("Transpose", {value.name}, to), "perm", order);
        return;
      }
      case 1:
        Model::integer(node("Softmax", {value.name}, x), "axis", below(rank));
        return;
      case 2: {
        const std::int64_t axis = below(rank);
        const Shape scaled(x.begin() + axis, x.end());
        auto& norm = below(2) ? node("LayerNormalization", {value.name, weights(scaled)}, x)
                              : node("LayerNormalization",
                                     {value.name, weights(scaled), weights(scaled)}, x);
        Model::integer(norm, "axis", axis);
        Model::number(norm, "epsilon", below(2) ? 1e-5f : 1e-3f);
        return;
      }
      case 3: {  // by a constant that broadcasts, or by a value of the same shape
        Shape other = x;
        for (std::int64_t& extent : other) extent = below(2) ? extent : 1;
        other.erase(other.begin(), other.begin() + below(rank));
        std::string name;
        for (const Value& one : values_) {
          if (one.shape == x && below(2)) name = one.name;
        }
        if (name.empty()) name = weights(other);
        node(below(2) ? "Add" : "Mul", {value.name, name}, x);
        return;
      }
      default: {
        const char* plain[] = {"Relu",      "Sigmoid", "Tanh", "LeakyRelu", "Elu",
                               "HardSwish", "Neg",     "Sin",  "Cos",       "Softplus"};
        node(plain[below(10)], {value.name}, x);
      }
    }
  }

  std::mt19937 random_;
  Model model_;
  std::vector<Value> values_;
  std::string text_;
  int weights_ = 0;
};

class RandomNetwork : public testing::NetworkAgrees {};

TEST_F(RandomNetwork, ComputesWhatItsNodesSay) {
  int computed = 0, refused = 0;
  for (std::uint32_t seed = 1; seed <= 80 && !HasFailure(); ++seed) {
    const RandomModel random(seed);
    SCOPED_TRACE(std::to_string(seed) + ": " + random.text());
    const auto compared = compare(random.model());
    EXPECT_TRUE(compared || compared.error().code == ErrorCode::Unsupported)
        << compared.error().text();
    ++(compared ? computed : refused);
  }
  EXPECT_GE(computed, 70) << refused << " refused";
}

}  // namespace
}  // namespace fettle::network
