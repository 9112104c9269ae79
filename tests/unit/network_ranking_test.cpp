// Classes and places: what ONNX's own tests say of one operator holds between others, compiled; and
// what they leave open.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "host/model/graph/node_stages.h"
#include "tests/support/network_agrees.h"

namespace fettle::network {
namespace {

using Model = testing::OnnxModel;
using Shape = std::vector<std::int64_t>;

class NetworkRanking : public testing::NetworkAgrees {
 protected:
  // The outputs of the graph, which takes one tensor of float32.
  std::vector<model::TensorBytes> values(const Model& model, const std::vector<float>& x) {
    auto graph = imported(model.text());
    EXPECT_TRUE(graph) << graph.error().text();
    if (!graph) return {};
    const auto* begin = reinterpret_cast<const std::uint8_t*>(x.data());
    auto made = model::evaluate_graph(*graph, {std::make_shared<const std::vector<std::uint8_t>>(
                                                  begin, begin + x.size() * sizeof(float))});
    EXPECT_TRUE(made) << made.error().text();
    return made ? std::move(*made) : std::vector<model::TensorBytes>();
  }
  template <typename T>
  static std::vector<T> as(const model::TensorBytes& bytes) {
    std::vector<T> out(bytes->size() / sizeof(T));
    std::memcpy(out.data(), bytes->data(), bytes->size());
    return out;
  }
};

TEST_F(NetworkRanking, ClassesBehindConvolutions) {
  for (const char* op : {"ArgMax", "ArgMin"}) {
    for (const std::int64_t axis : {1, -1}) {
      const bool last = (std::string(op) == "ArgMax") == (axis == 1);
      Model model;
      model.input("x", {2, 4, 5, 6});
      model.weights("w", {7, 4, 1, 1});
      model.node("Conv", {"x", "w"}, "c");
      model.node("Floor", {"c"}, "f");  // so that some are equal
      auto& node = model.node(op, {"f"}, "y");
      Model::integer(node, "axis", axis), Model::integer(node, "select_last_index", last);
      Model::integer(node, "keepdims", last);
      model.output("y");
      SCOPED_TRACE(std::string(op) + std::to_string(axis));
      agrees(model);
    }
  }
}

TEST_F(NetworkRanking, WhatIsNoNumberNamesNoPlaceOutside) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const char* op : {"ArgMax", "ArgMin"}) {
    for (const bool last : {false, true}) {
      Model model;
      model.input("x", {3});
      Model::integer(model.node(op, {"x"}, "y"), "select_last_index", last);
      model.output("y");
      const auto made = values(model, {nan, nan, nan});
      ASSERT_EQ(made.size(), 1u);
      const auto place = as<std::int64_t>(made[0])[0];
      EXPECT_TRUE(place >= 0 && place < 3) << op << place;
    }
  }
}

// What is far from 1, and what is infinite.
TEST_F(NetworkRanking, SumsOfExponentialsKeepWhatTheyAre) {
  const float inf = std::numeric_limits<float>::infinity();
  Model sums;
  sums.input("x", {3, 2});
  Model::integers(sums.node("ReduceLogSumExp", {"x"}, "y"), "axes", {1});
  sums.output("y");
  const auto far = as<float>(values(sums, {inf, 1, -inf, -inf, -inf, 3}).at(0));
  EXPECT_EQ(far[0], inf);
  EXPECT_EQ(far[1], -inf);
  EXPECT_EQ(far[2], 3);
  agrees(sums);
  Model softplus;
  softplus.input("x", {4});
  softplus.node("Softplus", {"x"}, "y");
  softplus.output("y");
  const auto small = as<float>(values(softplus, {-20, -7, -6.8f, 2}).at(0));
  const double x[] = {-20, -7, double(-6.8f), 2};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(small[i] / std::log1p(std::exp(x[i])), 1, 3e-4) << x[i];
  }
  agrees(softplus);
}

// Bounds that are known as the network runs, and scales that are broadcast.
TEST_F(NetworkRanking, BoundsAndScalesOfAllShapes) {
  Model clip;
  clip.input("x", {4});
  Model::integer(clip.node("ReduceMin", {"x"}, "least"), "keepdims", 0);
  clip.node("Abs", {"least"}, "low");
  clip.node("Clip", {"x", "low"}, "y");
  clip.output("y");
  EXPECT_EQ(as<float>(values(clip, {-1, 0, 3, 2}).at(0)), (std::vector<float>{1, 1, 3, 2}));
  agrees(clip);
  Model norm;
  norm.opset(17);
  norm.input("x", {2, 3, 4});
  norm.weights("scale", {4}), norm.weights("shift", {3, 1});
  Model::integer(norm.node("LayerNormalization", {"x", "scale", "shift"}, "y"), "axis", -2);
  norm.output("y");
  agrees(norm);
}

TEST_F(NetworkRanking, WholeNumbersBeyondDoublesAreNotFolded) {
  const std::int64_t large = std::int64_t{1} << 62;
  for (const std::int64_t number : {large, std::int64_t{5}, std::int64_t{INT64_MAX}}) {
    Model model;
    model.input("x", {1});
    model.whole_numbers("a", {1}, {number}), model.whole_numbers("b", {1}, {1});
    Model::integer(model.node("Concat", {"a", "b"}, "c"), "axis", 0);
    Model::integer(model.node("Cast", {"x"}, "whole"), "to", onnx::TensorProto::INT64);
    model.node("Add", {"whole", "c"}, "y");
    model.output("y");
    const auto graph = imported(model.text());
    ASSERT_TRUE(graph) << graph.error().text();
    const auto joined = std::count_if(graph->nodes.begin(), graph->nodes.end(),
                                      [](const auto& node) { return node.op == "Concat"; });
    EXPECT_EQ(joined, number == large ? 1 : 0) << number;
  }
}

TEST_F(NetworkRanking, QuotientsOfWholeNumbersGoTowardZero) {
  for (const std::int64_t by : {2, -2}) {
    Model model;
    model.input("x", {4});
    model.whole_numbers("by", {1}, {by});
    Model::integer(model.node("Cast", {"x"}, "whole"), "to", onnx::TensorProto::INT64);
    model.node("Div", {"whole", "by"}, "q");
    Model::integer(model.node("Cast", {"q"}, "y"), "to", onnx::TensorProto::FLOAT);
    model.output("y");
    const float one = by > 0 ? 1 : -1;
    EXPECT_EQ(as<float>(values(model, {-7, 7, 1, -4}).at(0)),
              (std::vector<float>{-3 * one, 3 * one, 0, -2 * one}));
    agrees(model);
  }
}

// As exporters write x.shape[:0] + (3, 2).
TEST_F(NetworkRanking, EmptyListsInShapes) {
  Model model;
  model.input("x", {2, 3});
  model.node("Shape", {"x"}, "shape");
  model.whole_numbers("zero", {1}, {0}), model.whole_numbers("more", {2}, {3, 2});
  model.whole_numbers("none", {0}, {});
  model.node("Slice", {"shape", "zero", "zero"}, "nothing");
  Model::integer(model.node("Concat", {"nothing", "none", "more"}, "wanted"), "axis", 0);
  model.node("Reshape", {"x", "wanted"}, "y");
  model.output("y");
  const auto graph = imported(model.text());
  ASSERT_TRUE(graph) << graph.error().text();
  EXPECT_EQ(graph->values[graph->outputs.front()].type.shape, (Shape{3, 2}));
  agrees(model);
}

TEST_F(NetworkRanking, AConstantOfNoShapeIsOneNumber) {
  Model model;
  model.input("x", {});
  model.whole_numbers("none", {0}, {});
  model.node("ConstantOfShape", {"none"}, "c");
  model.node("Add", {"x", "c"}, "y");
  model.output("y");
  const auto graph = imported(model.text());
  ASSERT_TRUE(graph) << graph.error().text();
  EXPECT_TRUE(graph->values[graph->outputs.front()].type.shape.empty());
}

TEST_F(NetworkRanking, TheFirstInOrder) {
  for (const bool largest : {false, true}) {
    Model model;
    model.input("x", {2, 5});
    model.whole_numbers("k", {1}, {3});
    auto& node = model.node("TopK", {"x", "k"}, "v");
    node.add_output("p");
    Model::integer(node, "largest", largest);
    model.output("v"), model.output("p");
    agrees(model);
    const auto made = values(model, {1, 3, 2, 3, 0, -1, -1, -1, -1, -1});
    ASSERT_EQ(made.size(), 2u);
    using Values = std::vector<float>;
    using Places = std::vector<std::int64_t>;
    EXPECT_EQ(as<float>(made[0]),
              (largest ? Values{3, 3, 2, -1, -1, -1} : Values{0, 1, 2, -1, -1, -1}));
    EXPECT_EQ(as<std::int64_t>(made[1]),
              (largest ? Places{1, 3, 2, 0, 1, 2} : Places{4, 0, 2, 0, 1, 2}));
  }
  // What is no number is larger than all, as numpy's and onnxruntime's are.
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const bool largest : {false, true}) {
    Model model;
    model.input("x", {6});
    model.whole_numbers("k", {1}, {3});
    auto& node = model.node("TopK", {"x", "k"}, "v");
    node.add_output("p");
    Model::integer(node, "largest", largest);
    model.output("p");
    const auto made = values(model, {1, nan, 5, 3, nan, 4});
    ASSERT_EQ(made.size(), 1u);
    using Places = std::vector<std::int64_t>;
    EXPECT_EQ(as<std::int64_t>(made[0]), (largest ? Places{1, 4, 2} : Places{0, 3, 5}));
  }
  for (const auto& [k, extent] : {std::pair{0, 5}, {6, 5}, {1, 16385}}) {
    Model model;
    model.input("x", {extent});
    model.whole_numbers("k", {1}, {k});
    model.node("TopK", {"x", "k"}, "y");
    model.output("y");
    EXPECT_FALSE(imported(model.text())) << k << " of " << extent;
  }
}

// Toward zero, at the ends of the type too.
TEST_F(NetworkRanking, QuotientsAtTheEndsOfInt32) {
  constexpr std::int32_t kLeast = std::numeric_limits<std::int32_t>::min();
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  const std::vector<std::int32_t> x = {kLeast, kLeast + 1, -8, -7, -6, -1, 0, 6, 7, kMost};
  const std::vector<std::int32_t> divisors = {1, 7, kMost};
  Model model;
  model.input("x", {std::ssize(x)});
  model.of_type(onnx::TensorProto::INT32);
  for (const std::int32_t by : divisors) {
    onnx::TensorProto& tensor = *model.proto().mutable_graph()->add_initializer();
    tensor.set_name("by" + std::to_string(by)), tensor.set_data_type(onnx::TensorProto::INT32);
    tensor.add_int32_data(by);
    model.node("Div", {"x", tensor.name()}, "over" + tensor.name());
    model.output("over" + tensor.name());
  }
  const auto graph = imported(model.text());
  ASSERT_TRUE(graph) << graph.error().text();
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(x.data());
  const auto outputs = model::evaluate_graph(
      *graph, {std::make_shared<const std::vector<std::uint8_t>>(bytes, bytes + x.size() * 4)});
  ASSERT_TRUE(outputs) << outputs.error().text();
  for (std::size_t o = 0; o < divisors.size(); ++o) {
    std::vector<std::int32_t> y(x.size()), right = x;
    for (std::int32_t& number : right) number /= divisors[o];
    ASSERT_EQ(outputs->at(o)->size(), y.size() * 4);
    std::memcpy(y.data(), outputs->at(o)->data(), y.size() * 4);
    EXPECT_EQ(y, right) << divisors[o];
  }
  agrees(model);
}

// Exporters write them for a bound that is not there.
TEST_F(NetworkRanking, BoundsAtTheEndsOfInt64AreNone) {
  Model model;
  model.input("x", {7});
  model.of_type(onnx::TensorProto::INT64);
  model.whole_numbers("least", {}, {std::numeric_limits<std::int64_t>::min()});
  model.whole_numbers("most", {}, {std::numeric_limits<std::int64_t>::max()});
  model.whole_numbers("two", {}, {2});
  model.node("Clip", {"x", "least", "most"}, "all"), model.output("all");
  model.node("Clip", {"x", "two", "most"}, "above"), model.output("above");
  model.node("Clip", {"x", "least", "two"}, "below"), model.output("below");
  agrees(model);
}

TEST_F(NetworkRanking, MarksOfClasses) {
  Model model;
  model.input("x", {2, 3, 4});
  Model::integer(model.node("Hardmax", {"x"}, "h"), "axis", 1);
  Model::integer(model.node("ArgMax", {"x"}, "a"), "axis", 2);
  model.whole_numbers("depth", {}, {5});
  model.weights("values", {2});
  Model::integer(model.node("OneHot", {"a", "depth", "values"}, "o"), "axis", 1);
  Model::integer(model.node("LogSoftmax", {"x"}, "l"), "axis", 1);
  model.output("h"), model.output("o"), model.output("l");
  agrees(model);
}

// As ONNX says, by float64.
class Sampled {
 public:
  Sampled(std::vector<float> image, std::int64_t height, std::int64_t width, std::string padding,
          bool aligned)
      : image_(std::move(image)),
        sizes_{height, width},
        padding_(std::move(padding)),
        aligned_(aligned) {}

  double at(double x, double y, bool nearest) const {
    const double row = place(y, 0), column = place(x, 1);
    if (nearest) return element(std::nearbyint(row), std::nearbyint(column));
    const double r = std::floor(row), c = std::floor(column);
    const double down = row - r, right = column - c;
    return (1 - down) * ((1 - right) * element(r, c) + right * element(r, c + 1)) +
           down * ((1 - right) * element(r + 1, c) + right * element(r + 1, c + 1));
  }

 private:
  std::vector<float> image_;
  std::int64_t sizes_[2];
  std::string padding_;
  bool aligned_;

  double place(double named, int d) const {
    const auto n = static_cast<double>(sizes_[d]);
    double at = aligned_ ? (named + 1) / 2 * (n - 1) : ((named + 1) * n - 1) / 2;
    if (padding_ == "zeros") return at;
    const double low = aligned_ ? 0 : -0.5, high = aligned_ ? n - 1 : n - 0.5;
    while (padding_ == "reflection" && (at < low || at > high)) {
      at = at < low ? 2 * low - at : 2 * high - at;
    }
    return std::clamp(at, 0.0, n - 1);
  }
  double element(double row, double column) const {
    const auto inside = [&](double at, int d) {
      return at >= 0 && at < static_cast<double>(sizes_[d]);
    };
    if (padding_ != "zeros") {
      row = std::clamp(row, 0.0, static_cast<double>(sizes_[0] - 1));
      column = std::clamp(column, 0.0, static_cast<double>(sizes_[1] - 1));
    }
    if (!inside(row, 0) || !inside(column, 1)) return 0;
    return static_cast<double>(
        image_[static_cast<std::size_t>(row) * static_cast<std::size_t>(sizes_[1]) +
               static_cast<std::size_t>(column)]);
  }
};

TEST_F(NetworkRanking, ImagesBetweenTheirElements) {
  constexpr std::int64_t kHeight = 5, kWidth = 4, kPlaces = 60;
  for (const char* padding : {"zeros", "border", "reflection"}) {
    for (const char* mode : {"bilinear", "nearest"}) {
      for (const bool aligned : {false, true}) {
        SCOPED_TRACE(std::string(padding) + mode + (aligned ? " aligned" : ""));
        Model model;
        model.opset(16);
        model.input("grid", {1, 1, kPlaces, 2});
        model.weights("image", {1, 1, kHeight, kWidth});
        auto& node = model.node("GridSample", {"image", "grid"}, "y");
        Model::word(node, "mode", mode), Model::word(node, "padding_mode", padding);
        Model::integer(node, "align_corners", aligned);
        model.output("y");
        if (aligned == (mode[0] == 'n')) agrees(model);
        std::vector<float> grid;
        for (std::int64_t i = 0; i < kPlaces; ++i) {
          grid.push_back(-3.03f + 0.1013f * static_cast<float>(i));
          grid.push_back(2.77f - 0.0917f * static_cast<float>(i));
        }
        const auto& stored = model.proto().graph().initializer(0).float_data();
        const Sampled right({stored.begin(), stored.end()}, kHeight, kWidth, padding, aligned);
        const auto made = values(model, grid);
        ASSERT_EQ(made.size(), 1u);
        const auto ours = as<float>(made[0]);
        for (std::size_t i = 0; i < ours.size(); ++i) {
          EXPECT_NEAR(ours[i], right.at(grid[2 * i], grid[2 * i + 1], mode[0] == 'n'), 1e-5) << i;
        }
        // Far outside, and nowhere.
        const float far[] = {1e30f, -1e30f, std::numeric_limits<float>::quiet_NaN(),
                             std::numeric_limits<float>::infinity()};
        for (std::size_t i = 0; i < grid.size(); ++i) grid[i] = far[i % 4];
        EXPECT_EQ(values(model, grid).size(), 1u);
      }
    }
  }
}

TEST_F(NetworkRanking, RowsAndColumnsOfPlaces) {
  Model model;
  model.input("x", {2, 3, 4});
  model.weights("w", {4, 40});
  model.whole_numbers("width", {}, {8}), model.whole_numbers("less", {}, {13});
  model.node("MatMul", {"x", "w"}, "m");
  Model::integer(model.node("ArgMax", {"m"}, "a"), "axis", -1);
  model.node("Sub", {"a", "less"}, "p");  // some are below 0
  model.node("Div", {"p", "width"}, "row");
  Model::integer(model.node("Mod", {"p", "width"}, "column"), "fmod", 0);
  Model::integer(model.node("Mod", {"p", "width"}, "rest"), "fmod", 1);
  for (const char* output : {"row", "column", "rest"}) model.output(output);
  agrees(model);
  for (const std::int64_t by : {0, -3}) {
    Model other;
    other.input("x", {4});
    other.of_type(onnx::TensorProto::INT64);
    other.whole_numbers("by", {}, {by});
    other.node("Mod", {"x", "by"}, "y");
    other.output("y");
    EXPECT_FALSE(imported(other.text())) << by;
  }
}

TEST_F(NetworkRanking, NormalisationsOfNewerFiles) {
  Model model;
  model.opset(21);
  model.input("x", {2, 6, 4, 3});
  model.weights("s", {6}), model.weights("b", {6}), model.weights("last", {3});
  auto& groups = model.node("GroupNormalization", {"x", "s", "b"}, "g");
  Model::integer(groups, "num_groups", 3);
  model.node("RMSNormalization", {"x", "last"}, "r");
  Model::integer(model.node("LpNormalization", {"x"}, "p"), "axis", 1);
  model.node("MeanVarianceNormalization", {"x"}, "m");
  Model::word(model.node("Gelu", {"x"}, "t"), "approximate", "tanh");
  for (const char* output : {"g", "r", "p", "m", "t"}) model.output(output);
  agrees(model);
  std::vector<float> x(2 * 6 * 4 * 3);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
  const auto made = values(model, x);
  ASSERT_EQ(made.size(), 5u);
  const auto g = as<float>(made[0]), r = as<float>(made[1]), t = as<float>(made[4]);
  const auto weight = [&](int tensor, std::size_t i) {
    return static_cast<double>(
        model.proto().graph().initializer(tensor).float_data(static_cast<int>(i)));
  };
  // A group is two channels of twelve elements each.
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t first = i / 24 * 24, channel = i / 12 % 6;
    double mean = 0, square = 0;
    for (std::size_t k = first; k < first + 24; ++k) mean += double{x[k]} / 24;
    for (std::size_t k = first; k < first + 24; ++k)
      square += std::pow(double{x[k]} - mean, 2) / 24;
    const double right =
        (double{x[i]} - mean) / std::sqrt(square + 1e-5) * weight(0, channel) + weight(1, channel);
    EXPECT_NEAR(g[i], right, 1e-5) << i;
    double root = 0;
    for (std::size_t k = i / 3 * 3; k < i / 3 * 3 + 3; ++k) root += double{x[k]} * double{x[k]} / 3;
    EXPECT_NEAR(r[i], double{x[i]} / std::sqrt(root + 1e-5) * weight(2, i % 3), 1e-5) << i;
    const double v = double{x[i]};
    const double gate = std::tanh(std::sqrt(2 / 3.14159265358979) * (v + 0.044715 * v * v * v));
    EXPECT_NEAR(t[i], v / 2 * (1 + gate), 1e-6) << i;
  }
}

}  // namespace
}  // namespace fettle::network
