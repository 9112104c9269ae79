// Images that grow or shrink: Resize and ConvTranspose beside what ONNX says of them, and
// compiled.
#include <cmath>
#include <cstring>
#include <functional>

#include "tests/support/network_agrees.h"

namespace fettle::network {
namespace {

using Model = testing::OnnxModel;
using Shape = std::vector<std::int64_t>;

class NetworkResample : public testing::NetworkAgrees {
 protected:
  // The graph's value of the float32 input [1, 1, rows, columns] whose element i is i * i mod 17.
  std::vector<float> values(const Model& model) {
    auto graph = imported(model.text());
    EXPECT_TRUE(graph) << graph.error().text();
    if (!graph) return {};
    std::vector<float> x(std::size_t(graph->type(graph->inputs[0]).elements()));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = element(i);
    const auto* begin = reinterpret_cast<const std::uint8_t*>(x.data());
    const auto given =
        std::make_shared<const std::vector<std::uint8_t>>(begin, begin + x.size() * sizeof(float));
    const auto made = model::evaluate_graph(*graph, {given});
    EXPECT_TRUE(made) << made.error().text();
    if (!made) return {};
    std::vector<float> out(made->front()->size() / sizeof(float));
    std::memcpy(out.data(), made->front()->data(), made->front()->size());
    return out;
  }
  static float element(std::size_t i) { return static_cast<float>(i * i % 17); }

  static Model resized(const Shape& x, const Shape& to, const std::string& mode,
                       const std::string& places, const std::string& nearest = "") {
    Model model;
    model.opset(17);
    model.input("x", x);
    model.whole_numbers("sizes", {std::ssize(to)}, to);
    auto& node = model.node("Resize", {"x", "", "", "sizes"}, "y");
    Model::word(node, "mode", mode);
    Model::word(node, "coordinate_transformation_mode", places);
    if (!nearest.empty()) Model::word(node, "nearest_mode", nearest);
    model.output("y");
    return model;
  }
};

double place_of(const std::string& places, double i, double from, double to) {
  if (places == "asymmetric") return i * from / to;
  if (places == "align_corners") return to > 1 ? i * (from - 1) / (to - 1) : 0;
  if (places == "pytorch_half_pixel" && to == 1) return 0;
  return (i + 0.5) * from / to - 0.5;
}

double cubic_weight(double t) {
  constexpr double a = -0.75;
  t = std::fabs(t);
  if (t <= 1) return (a + 2) * t * t * t - (a + 3) * t * t + 1;
  return t < 2 ? a * t * t * t - 5 * a * t * t + 8 * a * t - 4 * a : 0;
}

TEST_F(NetworkResample, InterpolatesWhereOnnxSays) {
  for (const char* mode : {"linear", "cubic"}) {
    for (const char* places : {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"}) {
      for (const std::int64_t to : {1, 3, 7, 14, 21, 5}) {
        const auto ours = values(resized({1, 1, 1, 7}, {1, 1, 1, to}, mode, places));
        ASSERT_EQ(std::ssize(ours), to);
        for (std::int64_t i = 0; i < to; ++i) {
          const double at = place_of(places, double(i), 7, double(to));
          double right = 0;
          for (int tap = -1; tap < 3; ++tap) {
            const double near = std::floor(at) + tap, distance = std::fabs(at - near);
            const double weight =
                std::string(mode) == "cubic" ? cubic_weight(distance) : std::max(0.0, 1 - distance);
            right += weight * element(std::size_t(std::clamp(near, 0.0, 6.0)));
          }
          EXPECT_NEAR(ours[std::size_t(i)], right, 1e-4) << mode << places << to << " at " << i;
        }
      }
    }
  }
}

TEST_F(NetworkResample, TakesTheNeighbourThatOnnxSays) {
  const std::pair<const char*, double (*)(double)> ways[] = {
      {"floor", [](double x) { return std::floor(x); }},
      {"ceil", [](double x) { return std::ceil(x); }},
      {"round_prefer_floor", [](double x) { return std::ceil(x - 0.5); }},
      {"round_prefer_ceil", [](double x) { return std::floor(x + 0.5); }}};
  for (const auto& [way, round] : ways) {
    for (const char* places : {"half_pixel", "align_corners", "asymmetric"}) {
      for (const std::int64_t to : {1, 4, 8, 16, 11, 5}) {
        const auto ours = values(resized({1, 1, 1, 8}, {1, 1, 1, to}, "nearest", places, way));
        ASSERT_EQ(std::ssize(ours), to);
        for (std::int64_t i = 0; i < to; ++i) {
          // In whole numbers, as halves are where the ways part.
          const double numerator = std::string(places) == "half_pixel"
                                       ? (2.0 * double(i) + 1) * 8 - double(to)
                                   : std::string(places) == "asymmetric" ? 2.0 * double(i) * 8
                                                                         : 2.0 * double(i) * 7;
          const double under =
              std::string(places) == "align_corners" ? std::max(1.0, double(to - 1)) : double(to);
          const double at = std::clamp(round(numerator / (2 * under)), 0.0, 7.0);
          EXPECT_EQ(ours[std::size_t(i)], element(std::size_t(at)))
              << way << " " << places << " " << to << " at " << i;
        }
      }
    }
  }
}

TEST_F(NetworkResample, AScaleIsNotTheRatioOfTheSizes) {
  Model model;
  model.opset(17);
  model.input("x", {1, 1, 1, 5});
  model.weights("scales", {4});
  auto& tensor = *model.proto().mutable_graph()->mutable_initializer(0);
  tensor.clear_float_data();
  for (const float one : {1.f, 1.f, 1.f, 1.5f}) tensor.add_float_data(one);
  Model::word(model.node("Resize", {"x", "", "scales"}, "y"), "mode", "linear");
  model.output("y");
  const auto ours = values(model);
  ASSERT_EQ(ours.size(), 7u);
  for (std::size_t i = 0; i < 7; ++i) {
    const double at = (double(i) + 0.5) / 1.5 - 0.5, near = std::floor(at), f = at - near;
    const auto x = [&](double p) { return double(element(std::size_t(std::clamp(p, 0.0, 4.0)))); };
    EXPECT_NEAR(ours[i], x(near) * (1 - f) + x(near + 1) * f, 1e-5) << i;
  }
}

// Behind a convolution too, where the channels lie last.
TEST_F(NetworkResample, ResizesAgreeWhenCompiled) {
  for (const char* mode : {"linear", "cubic", "nearest"}) {
    for (const bool behind : {false, true}) {
      for (const Shape& size : {Shape{12, 10}, Shape{13, 3}, Shape{6, 17}, Shape{1, 1}}) {
        Model model;
        model.opset(17);
        model.input("x", {2, 3, 6, 5});
        if (behind) {
          model.weights("w", {8, 3, 3, 3});
          Model::integers(model.node("Conv", {"x", "w"}, "c"), "pads", {1, 1, 1, 1});
        }
        model.whole_numbers("sizes", {4}, {2, behind ? 8 : 3, size[0], size[1]});
        Model::word(model.node("Resize", {behind ? "c" : "x", "", "", "sizes"}, "r"), "mode", mode);
        model.node("Relu", {"r"}, "y");
        model.output("y");
        SCOPED_TRACE(std::string(mode) + std::to_string(size[0]));
        agrees(model);
      }
    }
  }
}

struct Transposed {
  std::int64_t groups, in, out, kernel, stride, dilation, before, behind, longer;
};

// From its definition: each element of the input is added where the window stands.
TEST_F(NetworkResample, TransposedConvolutionsAreWhatOnnxSays) {
  for (const Transposed& t : {Transposed{1, 2, 3, 2, 2, 1, 0, 0, 0},
                              {1, 2, 3, 3, 2, 1, 1, 1, 1},
                              {1, 1, 2, 4, 2, 1, 1, 1, 0},
                              {2, 4, 2, 3, 3, 1, 0, 2, 1},
                              {1, 2, 2, 3, 1, 2, 2, 0, 0},
                              {3, 3, 1, 5, 2, 1, 2, 1, 0},
                              {1, 2, 2, 1, 3, 1, 0, 0, 0},
                              {1, 2, 2, 2, 3, 1, 0, 0, 2}}) {
    constexpr std::int64_t kRows = 1, kColumns = 5;
    Model model;
    model.opset(17);
    model.input("x", {1, t.in, kRows, kColumns});
    model.weights("w", {t.in, t.out, 1, t.kernel});
    model.weights("b", {t.out * t.groups});
    auto& node = model.node("ConvTranspose", {"x", "w", "b"}, "y");
    Model::integers(node, "strides", {1, t.stride});
    Model::integers(node, "dilations", {1, t.dilation});
    Model::integers(node, "pads", {0, t.before, 0, t.behind});
    Model::integers(node, "output_padding", {0, t.longer});
    Model::integer(node, "group", t.groups);
    model.output("y");
    const auto& weights = model.proto().graph().initializer(0).float_data();
    const auto& bias = model.proto().graph().initializer(1).float_data();
    const std::int64_t extent = (kColumns - 1) * t.stride + (t.kernel - 1) * t.dilation + 1 +
                                t.longer - t.before - t.behind;
    const auto ours = values(model);
    ASSERT_EQ(std::ssize(ours), t.out * t.groups * extent);
    std::vector<double> right(ours.size());
    const std::int64_t within = t.in / t.groups;
    for (std::int64_t ic = 0; ic < t.in; ++ic) {
      for (std::int64_t oc = 0; oc < t.out; ++oc) {
        const std::int64_t to = ic / within * t.out + oc;
        for (std::int64_t i = 0; i < kColumns; ++i) {
          for (std::int64_t k = 0; k < t.kernel; ++k) {
            const std::int64_t at = i * t.stride + k * t.dilation - t.before;
            if (at < 0 || at >= extent) continue;
            right[std::size_t(to * extent + at)] +=
                double(element(std::size_t(ic * kColumns + i))) *
                double(weights.Get(int((ic * t.out + oc) * t.kernel + k)));
          }
        }
      }
    }
    for (std::size_t i = 0; i < right.size(); ++i) {
      EXPECT_NEAR(ours[i], right[i] + double(bias.Get(int(std::int64_t(i) / extent))), 1e-4)
          << t.kernel << " by " << t.stride << " at " << i;
    }
    agrees(model);
  }
}

TEST_F(NetworkResample, TransposedConvolutionsAgreeBetweenOthers) {
  Model model;
  model.opset(17);
  model.input("x", {1, 3, 8, 8});
  model.weights("w1", {16, 3, 3, 3});
  model.weights("w2", {16, 8, 2, 2});
  model.weights("b2", {8});
  model.weights("w3", {4, 8, 3, 3});
  auto& down = model.node("Conv", {"x", "w1"}, "c");
  Model::integers(down, "strides", {2, 2}), Model::integers(down, "pads", {1, 1, 1, 1});
  model.node("Relu", {"c"}, "r");
  Model::integers(model.node("ConvTranspose", {"r", "w2", "b2"}, "u"), "strides", {2, 2});
  model.node("Mish", {"u"}, "s");
  Model::integers(model.node("Conv", {"s", "w3"}, "y"), "pads", {1, 1, 1, 1});
  model.output("y");
  agrees(model);
}

TEST_F(NetworkResample, RefusesWhatHasNoPlaces) {
  const auto told = [&](const std::function<void(onnx::NodeProto&)>& change) {
    Model model = resized({1, 1, 4, 4}, {1, 1, 8, 8}, "linear", "half_pixel");
    change(*model.proto().mutable_graph()->mutable_node(0));
    const auto graph = imported(model.text());
    return graph ? std::string("taken") : graph.error().message;
  };
  const auto says = [&](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const auto word = [](const char* name, const char* value) {
    return [name, value](onnx::NodeProto& node) {
      for (auto& attribute : *node.mutable_attribute()) {
        if (attribute.name() == name) attribute.set_s(value);
      }
    };
  };
  says(told([](auto&) {}), "taken");
  says(told(word("mode", "sharp")), "the mode 'sharp'");
  says(told(word("coordinate_transformation_mode", "tf_crop_and_resize")), "places by tf_crop");
  says(told([](auto& node) { Model::integer(node, "antialias", 1); }), "taken");
  Model model = resized({1, 1, 8, 8}, {1, 1, 4, 4}, "linear", "half_pixel");
  Model::integer(*model.proto().mutable_graph()->mutable_node(0), "antialias", 1);
  says(imported(model.text()).error().message, "antialias of what becomes smaller");
}

}  // namespace
}  // namespace fettle::network
