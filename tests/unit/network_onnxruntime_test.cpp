// What onnxruntime's quantisation writes: operators of its own between scales that are known, and
// scales that follow from what is there.
#include <cmath>
#include <cstring>

#include "host/model/graph/node_stages.h"
#include "tests/support/network_agrees.h"

namespace fettle::network {
namespace {

using Model = testing::OnnxModel;

class NetworkOnnxruntime : public testing::NetworkAgrees {
 protected:
  Model model;
  NetworkOnnxruntime() { model.opset(13); }

  void bytes(const std::string& name, const std::vector<std::int64_t>& shape,
             const std::vector<int>& numbers, int type) {
    onnx::TensorProto& tensor = *model.proto().mutable_graph()->add_initializer();
    tensor.set_name(name), tensor.set_data_type(type);
    for (const std::int64_t extent : shape) tensor.add_dims(extent);
    for (const int number : numbers) tensor.add_int32_data(number);
  }
  // name.s and name.z
  std::vector<std::string> scaled(const std::string& name, float scale, int zero) {
    model.numbers(name + ".s", {}, scale);
    bytes(name + ".z", {}, {zero}, onnx::TensorProto::UINT8);
    return {name + ".s", name + ".z"};
  }
  static std::vector<std::string> joined(std::initializer_list<std::vector<std::string>> lists) {
    std::vector<std::string> all;
    for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
    return all;
  }
  onnx::NodeProto& own(const std::string& op, const std::vector<std::string>& inputs,
                       const std::string& output) {
    auto& node = model.node(op, inputs, output);
    node.set_domain("com.microsoft");
    return node;
  }
  // q, of x, with a scale of 1/32 and a zero point of 128.
  void quantized_input(const std::vector<std::int64_t>& shape) {
    model.input("x", shape);
    at_x = scaled("x", 0.03125f, 128);
    model.node("QuantizeLinear", joined({{"x"}, at_x}), "q");
  }
  std::vector<std::string> at_x;

  std::vector<std::uint8_t> made(const std::vector<float>& x, std::size_t output = 0) {
    auto graph = imported(model.text());
    EXPECT_TRUE(graph) << graph.error().text();
    if (!graph) return {};
    const auto* begin = reinterpret_cast<const std::uint8_t*>(x.data());
    const auto values =
        model::evaluate_graph(*graph, {std::make_shared<const std::vector<std::uint8_t>>(
                                          begin, begin + x.size() * sizeof(float))});
    EXPECT_TRUE(values) << values.error().text();
    return values ? *(*values)[output] : std::vector<std::uint8_t>();
  }
};

TEST_F(NetworkOnnxruntime, FunctionsBetweenKnownScales) {
  quantized_input({1, 4, 6, 6});
  const auto to = scaled("y", 0.0625f, 120);
  own("QLinearAdd", joined({{"q"}, at_x, {"q"}, at_x, to}), "sum");
  own("QLinearMul", joined({{"sum"}, to, {"q"}, at_x, to}), "product");
  own("QLinearSigmoid", joined({{"product"}, to, scaled("g", 0.00390625f, 0)}), "gate");
  Model::number(own("QLinearLeakyRelu", joined({{"product"}, to, to}), "leaky"), "alpha", 0.25f);
  Model::integer(own("QLinearConcat", joined({to, {"sum"}, to, {"leaky"}, to}), "all"), "axis", 1);
  auto& pool = own("QLinearAveragePool", joined({{"all"}, to, to}), "pooled");
  Model::integers(pool, "kernel_shape", {2, 2}), Model::integers(pool, "strides", {2, 2});
  own("QLinearGlobalAveragePool", joined({{"pooled"}, to, to}), "mean");
  model.output("gate"), model.output("mean");
  agrees(model);
}

TEST_F(NetworkOnnxruntime, SumsAreWhatTheirScalesSay) {
  quantized_input({4});
  const auto to = scaled("y", 0.0625f, 120);
  own("QLinearAdd", joined({{"q"}, at_x, {"q"}, at_x, to}), "y");
  model.output("y");
  // 2 x / 0.0625 + 120
  EXPECT_EQ(made({0, 0.5f, -1, 3}), (std::vector<std::uint8_t>{120, 136, 88, 216}));
  EXPECT_EQ(made({0, 100, -100, 1e9f}), (std::vector<std::uint8_t>{120, 247, 0, 247}));
}

TEST_F(NetworkOnnxruntime, ProductsOfMatrices) {
  for (const bool transposed : {false, true}) {
    for (const bool floats : {false, true}) {
      model = Model();
      quantized_input({3, 4});
      std::vector<int> weights;
      for (int i = 0; i < 8; ++i) weights.push_back(i * 37 % 120 - 50);
      bytes("w", transposed ? std::vector<std::int64_t>{2, 4} : std::vector<std::int64_t>{4, 2},
            weights, onnx::TensorProto::INT8);
      model.weights("w.s", {2}, 0.01f);
      bytes("w.z", {2}, {0, 0}, onnx::TensorProto::INT8);
      bytes("b", {2}, {100, -7}, onnx::TensorProto::INT32);
      auto inputs = joined({{"q"}, at_x, {"w", "w.s", "w.z", "b"}});
      if (!floats) inputs = joined({inputs, scaled("y", 0.5f, 10)});
      Model::integer(own("QGemm", inputs, "y"), "transB", transposed);
      model.output("y");
      agrees(model);
      if (!floats) continue;
      // 1, 0, 0, 0: the first row of weights, and the bias at the scale of the product.
      const auto stored = made({1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
      float y[2];
      ASSERT_EQ(stored.size(), 6 * sizeof(float));
      std::memcpy(y, stored.data(), sizeof y);
      const auto& scales = model.proto().graph().initializer(3).float_data();
      EXPECT_NEAR(y[0], scales[0] * (float(weights[0]) + 100 * 0.03125f), 1e-5);
      EXPECT_NEAR(y[1], scales[1] * (float(weights[transposed ? 4 : 1]) - 7 * 0.03125f), 1e-5);
    }
  }
}

TEST_F(NetworkOnnxruntime, ScalesByWhatIsThere) {
  model.input("x", {2, 3, 5, 5});
  auto& node = model.node("DynamicQuantizeLinear", {"x"}, "q");
  node.add_output("q.s"), node.add_output("q.z");
  std::vector<int> weights;
  for (int i = 0; i < 4 * 3 * 9; ++i) weights.push_back(i * 41 % 250 - 120);
  bytes("w", {4, 3, 3, 3}, weights, onnx::TensorProto::INT8);
  bytes("w.z", {}, {3}, onnx::TensorProto::INT8);
  Model::integers(model.node("ConvInteger", {"q", "w", "q.z", "w.z"}, "c"), "pads", {1, 1, 1, 1});
  Model::integer(model.node("Cast", {"c"}, "f"), "to", onnx::TensorProto::FLOAT);
  model.node("Mul", {"f", "q.s"}, "y");
  model.output("y"), model.output("q"), model.output("q.z");
  agrees(model);
  // Nothing but zeros has a scale, too.
  const auto zeros = made(std::vector<float>(150));
  ASSERT_EQ(zeros.size(), 200 * sizeof(float));
  for (const std::uint8_t byte : zeros) EXPECT_EQ(byte, 0);
  // From -1 to 1.55 in steps of 0.01: 0 is the hundredth.
  std::vector<float> x(150, 0.2f);
  x[0] = -1, x[1] = 1.55f;
  EXPECT_EQ(made(x, 2), std::vector<std::uint8_t>{100});
  const auto stored = made(x, 1);
  EXPECT_EQ(stored[0], 0);
  EXPECT_EQ(stored[1], 255);
  EXPECT_EQ(stored[2], 120);
}

TEST_F(NetworkOnnxruntime, WhatItsOptimiserJoins) {
  model.input("x", {2, 3, 8});
  model.weights("skip", {2, 3, 8}), model.weights("scale", {8}), model.weights("bias", {8});
  auto& norm = own("SkipLayerNormalization", {"x", "skip", "scale", "bias"}, "n");
  for (const char* output : {"", "", "sum"}) norm.add_output(output);
  own("BiasGelu", {"n", "bias"}, "g");
  own("FastGelu", {"g"}, "f"), own("QuickGelu", {"f"}, "y");
  model.output("y"), model.output("sum");
  agrees(model);
}

TEST_F(NetworkOnnxruntime, OtherDomainsOperatorsAreNotMistaken) {
  model.input("x", {4});
  auto& node = model.node("Relu", {"x"}, "y");
  node.set_domain("com.example");
  model.output("y");
  const auto graph = imported(model.text());
  ASSERT_FALSE(graph);
  EXPECT_NE(graph.error().message.find("com.example.Relu"), std::string::npos);
  for (auto* one : {&node}) one->set_domain(""), one->set_op_type("QLinearAdd");
  EXPECT_FALSE(imported(model.text())) << "which ONNX does not have";
}

}  // namespace
}  // namespace fettle::network
