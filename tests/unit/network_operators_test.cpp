// Operators in forms that the library has no operator for, or one that nearly fits.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "host/model/graph/node_stages.h"
#include "tests/support/native_run.h"
#include "tests/support/network_agrees.h"

namespace fettle::network {
namespace {

using Model = testing::OnnxModel;
using Shape = std::vector<std::int64_t>;

class NetworkOperators : public testing::NetworkAgrees {
 protected:
  // x through one node, `weights` its other inputs, and what comes behind it.
  void agree(const Shape& x, const std::string& op, const std::vector<Shape>& weights,
             const std::function<void(onnx::NodeProto&)>& attributes,
             const std::string& behind = "Neg") {
    SCOPED_TRACE(op);
    Model model;
    model.opset(17);
    model.input("x", x);
    std::vector<std::string> inputs = {"x"};
    for (const Shape& shape : weights) {
      inputs.push_back("w" + std::to_string(inputs.size()));
      model.weights(inputs.back(), shape, 0.25);
    }
    attributes(model.node(op, inputs, "m"));
    model.node(behind, {"m"}, "y");
    model.output("y");
    agrees(model);
  }
};

// A column that is as long as a row is no bias of the columns.
TEST_F(NetworkOperators, GemmsThirdInputIsBroadcast) {
  for (const Shape& added : {Shape{4, 1}, Shape{4}, Shape{1, 4}, Shape{4, 4}, Shape{1}}) {
    agree({4, 7}, "Gemm", {{7, 4}, added}, [](auto&) {});
  }
  agree({4, 7}, "Gemm", {{7, 1}, Shape{}}, [](auto&) {});
  agree({4, 7}, "Gemm", {{7, 1}, {4, 1}}, [](auto&) {});
}

// Of embeddings of places: 10000 to each of some known powers; weights before it do not keep it
// from being computed.
TEST_F(NetworkOperators, KnownPowersAreComputed) {
  Model model;
  model.opset(17);
  model.input("x", {2, 3});
  model.weights("large", {1024, 1024});
  std::string before = "large";
  for (int i = 0; i < 70; ++i) {  // more than is computed before the run
    const std::string name = "turned" + std::to_string(i);
    model.node("Transpose", {before}, name);
    before = name;
  }
  model.numbers("base", {}, 4);
  model.numbers("half", {1}, 0.5), model.numbers("two", {1}, 2), model.numbers("none", {1}, 0);
  Model::integer(model.node("Concat", {"half", "two", "none"}, "exponents"), "axis", 0);
  model.node("Pow", {"base", "exponents"}, "powers");
  model.node("Mul", {"x", "powers"}, "y");
  model.output("y");
  const auto graph = imported(model.text());
  ASSERT_TRUE(graph) << graph.error().text();
  ASSERT_EQ(graph->nodes.size(), 1u);
  const auto& powers = graph->values[graph->nodes[0].inputs[1]];
  ASSERT_TRUE(powers.constant);
  std::vector<float> numbers(3);
  ASSERT_EQ(powers.constant->size(), sizeof(float) * 3);
  std::memcpy(numbers.data(), powers.constant->data(), sizeof(float) * 3);
  EXPECT_EQ(numbers, (std::vector<float>{2, 16, 1}));
  agrees(model);
}

// An exponent of more axes gives them to the result.
TEST_F(NetworkOperators, PowersTakeTheShapeOfBoth) {
  Model model;
  model.opset(17);
  model.input("x", {3});
  model.numbers("two", {1, 1}, 2);
  model.node("Pow", {"x", "two"}, "p");
  Model::integer(model.node("Softmax", {"p"}, "y"), "axis", 0);
  model.output("y");
  const auto graph = imported(model.text());
  ASSERT_TRUE(graph) << graph.error().text();
  EXPECT_EQ(graph->type(graph->outputs[0]).shape, (Shape{1, 3}));
  agrees(model);
}

// The library's operator makes int32 of them.
TEST_F(NetworkOperators, ElementByElementOfInt8) {
  for (const char* op : {"Add", "Sub", "Mul", "Max", "Min"}) {
    SCOPED_TRACE(op);
    Model model;
    model.opset(17);
    model.input("x", {1, 4, 5, 3});
    Model::integer(model.node("Cast", {"x"}, "a"), "to", onnx::TensorProto::INT8);
    model.node("Neg", {"a"}, "b");
    model.node(op, {"a", "b"}, "c");
    Model::integer(model.node("Cast", {"c"}, "y"), "to", onnx::TensorProto::FLOAT);
    model.output("y");
    agrees(model);
  }
}

// The library's biases are float32 beside float16: what comes with the run is not.
TEST_F(NetworkOperators, BiasesOfFloat16ThatTheRunBrings) {
  if (!testing::native_target().converts_float16()) GTEST_SKIP() << "no instructions for float16";
  Model model;
  model.opset(17);
  model.input("x", {1, 8}), model.input("b", {8});
  model.weights("w", {8, 8}), model.weights("k", {8, 1, 1, 1});
  for (const char* name : {"x", "b", "w", "k"}) {
    Model::integer(model.node("Cast", {name}, std::string(name) + "h"), "to",
                   onnx::TensorProto::FLOAT16);
  }
  model.node("Gemm", {"xh", "wh", "bh"}, "g");
  model.whole_numbers("image", {4}, {1, 1, 2, 4});
  model.node("Reshape", {"g", "image"}, "i");
  model.node("Conv", {"i", "kh", "bh"}, "c");
  Model::integer(model.node("Cast", {"c"}, "y"), "to", onnx::TensorProto::FLOAT);
  model.output("y");
  agrees(model);
}

// A bound that is not there is none, though int32 has an end.
TEST_F(NetworkOperators, WholeNumbersWithOneBound) {
  for (const bool low : {false, true}) {
    Model model;
    model.input("x", {4});
    model.of_type(onnx::TensorProto::INT64);
    model.whole_numbers("bound", {}, {low ? -2 : 2});
    model.whole_numbers("far", {}, {std::int64_t{1} << 40});
    model.node("Mul", {"x", "far"}, "m");
    model.node(
        "Clip",
        low ? std::vector<std::string>{"m", "bound"} : std::vector<std::string>{"m", "", "bound"},
        "y");
    model.output("y");
    auto graph = imported(model.text());
    ASSERT_TRUE(graph) << graph.error().text();
    const std::int64_t x[] = {3, -3, 0, 1};
    const auto* begin = reinterpret_cast<const std::uint8_t*>(x);
    const auto made = model::evaluate_graph(
        *graph, {std::make_shared<const std::vector<std::uint8_t>>(begin, begin + sizeof x)});
    ASSERT_TRUE(made) << made.error().text();
    std::int64_t y[4];
    std::memcpy(y, made->front()->data(), sizeof y);
    for (int i = 0; i < 4; ++i) {
      const std::int64_t product = x[i] * (std::int64_t{1} << 40);
      EXPECT_EQ(y[i],
                low ? std::max<std::int64_t>(product, -2) : std::min<std::int64_t>(product, 2));
    }
    agrees(model);
  }
}

// Each of the summed tensors has numbers so small that a task's sums are about 1: its tolerance is
// that of such.
TEST_F(NetworkOperators, SumsOfATaskAreAboutOne) {
  const auto highest = [&](const std::string& op, const Shape& x, const std::vector<Shape>& weights,
                           std::size_t input, const std::function<void(onnx::NodeProto&)>& change) {
    Model model;
    model.opset(17);
    model.input("x", x);
    std::vector<std::string> inputs = {"x"};
    for (const Shape& shape : weights) {
      inputs.push_back("w" + std::to_string(inputs.size()));
      model.weights(inputs.back(), shape);
    }
    change(model.node(op, inputs, "y"));
    model.output("y");
    const auto graph = imported(model.text());
    EXPECT_TRUE(graph) << graph.error().text();
    const model::Node& node = graph->nodes.back();
    std::vector<const model::TensorType*> types;
    for (const model::ValueId id : node.inputs) types.push_back(&graph->type(id));
    const auto stages = model::stages_of(node.op, node.attributes, types);
    return stages ? stages->stages.at(input).fill.high : 0;
  };
  const auto plain = [](onnx::NodeProto&) {};
  EXPECT_NEAR(highest("Conv", {1, 16, 9}, {{4, 16, 4}}, 1, plain), 1.0 / 8, 1e-9);
  EXPECT_NEAR(highest("ConvTranspose", {1, 16, 9}, {{16, 4, 4}}, 1, plain), 1.0 / 8, 1e-9);
  EXPECT_NEAR(highest("MatMul", {2, 3, 64}, {{64}}, 1, plain), 1.0 / 8, 1e-9);
  EXPECT_NEAR(
      highest("ReduceSum", {64, 3}, {}, 0, [](auto& node) { Model::integer(node, "keepdims", 0); }),
      1 / std::sqrt(64.0 * 3), 1e-9);
  EXPECT_NEAR(highest("ReduceMean", {64, 3}, {}, 0, plain), 1, 1e-9);
}

TEST_F(NetworkOperators, SumsByLettersRepeatAxesWithoutThemAsMatMulDoes) {
  Model model;
  model.input("x", {2, 1, 3, 4});
  model.weights("w", {5, 4, 2});
  Model::word(model.node("Einsum", {"x", "w"}, "e"), "equation", "...ij,...jk");
  model.node("MatMul", {"x", "w"}, "m");
  model.node("Sub", {"e", "m"}, "d");
  model.node("Abs", {"d"}, "a");
  Model::integer(model.node("ReduceMax", {"a"}, "y"), "keepdims", 0);
  model.output("y");
  const auto graph = imported(model.text());
  ASSERT_TRUE(graph) << graph.error().text();
  std::vector<std::uint8_t> ones;
  for (int i = 0; i < 24; ++i) ones.insert(ones.end(), {0, 0, 0x80, 0x3f});
  const auto outputs =
      model::evaluate_graph(*graph, {std::make_shared<const std::vector<std::uint8_t>>(ones)});
  ASSERT_TRUE(outputs) << outputs.error().text();
  float most = -1;
  std::memcpy(&most, outputs->front()->data(), sizeof most);
  EXPECT_GE(most, 0);
  EXPECT_LT(most, 1e-5);
  const auto refused = [&](const char* equation) {
    Model wrong;
    wrong.input("x", {2, 3, 4});
    Model::word(wrong.node("Einsum", {"x"}, "y"), "equation", equation);
    wrong.output("y");
    const auto asked = imported(wrong.text());
    return asked ? "" : asked.error().message;
  };
  EXPECT_NE(refused("...i->i").find("sums over axes without letters"), std::string::npos);
  EXPECT_NE(refused("...abcd->...").find("a letter for each axis is missing"), std::string::npos);
  EXPECT_NE(refused("..a->a").find("its equation is none"), std::string::npos) << refused("..a->a");
  EXPECT_NE(refused("...a...->...").find("a letter for each axis is missing"), std::string::npos);
}

TEST_F(NetworkOperators, MeansOfImagesWithTheirAxesOrWithout) {
  for (const std::int64_t keep : {0, 1}) {
    for (const Shape& axes : {Shape{2, 3}, Shape{3, 2}, Shape{-1, -2}, Shape{1}}) {
      for (const char* behind : {"Neg", "Relu"}) {
        agree(
            {1, 9, 6, 5}, "ReduceMean", {},
            [&](auto& node) {
              Model::integers(node, "axes", axes);
              Model::integer(node, "keepdims", keep);
            },
            behind);
      }
    }
  }
}

TEST_F(NetworkOperators, ProductsThatBroadcastBothWays) {
  agree({1, 2, 3, 4}, "MatMul", {{2, 1, 4, 5}}, [](auto&) {});
  agree({2, 1, 3, 4}, "MatMul", {{1, 2, 4, 5}}, [](auto&) {});
  agree({2, 2, 3, 4}, "MatMul", {{2, 2, 4, 5}}, [](auto&) {});
}

TEST_F(NetworkOperators, SumsByLetters) {
  const auto form = [&](const char* equation, const Shape& x, const std::vector<Shape>& others) {
    agree(x, "Einsum", others, [&](auto& node) { Model::word(node, "equation", equation); });
  };
  form("bhid, bhjd -> bhij", {2, 3, 4, 5}, {{2, 3, 6, 5}});
  form("ij,jk", {3, 4}, {{4, 5}});
  form("bi,bj,bk->bijk", {2, 3}, {{2, 2}, {2, 4}});
  form("ii->i", {4, 4}, {});
  form("ij->", {3, 4}, {});
  form("ba", {3, 4}, {});
  form("...ii->...i", {2, 3, 4, 4}, {});
  form("..., f -> ... f", {2, 3}, {{4}});
  form("...i,...i", {2, 1, 4}, {{3, 4}});
  form("i...->...", {3, 4}, {});
}

TEST_F(NetworkOperators, NormsAndSoftmaxAlongAnyAxes) {
  for (const std::int64_t axis : {0, 1, 2, 3, -2}) {
    agree({2, 3, 4, 5}, "Softmax", {}, [&](auto& node) { Model::integer(node, "axis", axis); });
  }
  for (const float epsilon : {1e-12f, 1e-6f, 1e-5f, 1e-3f}) {
    agree({2, 3, 16}, "LayerNormalization", {{16}, {16}},
          [&](auto& node) { Model::number(node, "epsilon", epsilon); });
  }
  agree({2, 3, 16}, "LayerNormalization", {{16}}, [](auto&) {});
  agree({2, 3, 4}, "LayerNormalization", {{3, 4}, {3, 4}},
        [](auto& node) { Model::integer(node, "axis", 1); });
  agree({2, 3, 8, 7}, "InstanceNormalization", {{3}, {3}}, [](auto&) {});
}

// As attention is exported: a row that the mask leaves nothing of is not a number, and then
// nothing.
TEST_F(NetworkOperators, SoftmaxOfARowThatIsWhollyMasked) {
  Model model;
  model.opset(17);
  model.input("x", {3, 4});
  model.numbers("open", {1, 4}, 0);
  model.numbers("masked", {1, 4}, -std::numeric_limits<float>::infinity());
  model.numbers("half", {1, 2}, -std::numeric_limits<float>::infinity());
  model.numbers("other half", {1, 2}, 0);
  Model::integer(model.node("Concat", {"half", "other half"}, "partly"), "axis", 1);
  Model::integer(model.node("Concat", {"open", "masked", "partly"}, "mask"), "axis", 0);
  model.node("Add", {"x", "mask"}, "scores");
  Model::integer(model.node("Softmax", {"scores"}, "share"), "axis", -1);
  model.node("IsNaN", {"share"}, "nothing");
  model.numbers("zero", {}, 0);
  model.node("Where", {"nothing", "zero", "share"}, "y");
  model.output("y");
  agrees(model);
  const auto graph = imported(model.text());
  ASSERT_TRUE(graph) << graph.error().text();
  const auto zeros = std::make_shared<const std::vector<std::uint8_t>>(12 * sizeof(float));
  const auto outputs = model::evaluate_graph(*graph, {zeros});
  ASSERT_TRUE(outputs) << outputs.error().text();
  std::vector<float> y(12);
  ASSERT_EQ(outputs->at(0)->size(), y.size() * sizeof(float));
  std::memcpy(y.data(), outputs->at(0)->data(), outputs->at(0)->size());
  EXPECT_EQ(y, (std::vector<float>{.25, .25, .25, .25, 0, 0, 0, 0, 0, 0, .5, .5}));
}

// Behind a convolution the channels lie last, behind a Transpose as it says.
TEST_F(NetworkOperators, OfSeveralStagesOnValuesInOtherOrders) {
  using Make = std::function<void(Model&, const std::string&)>;
  const Make kinds[] = {[](Model& model, const std::string& x) {
                          Model::integer(model.node("LRN", {x}, "y"), "size", 3);
                        },
                        [](Model& model, const std::string& x) {
                          auto& pool = model.node("AveragePool", {x}, "y");
                          Model::integers(pool, "kernel_shape", {2, 2});
                          Model::integers(pool, "strides", {2, 2});
                          Model::integer(pool, "ceil_mode", 1);
                        },
                        [](Model& model, const std::string& x) {
                          auto& pool = model.node("AveragePool", {x}, "y");
                          Model::integers(pool, "kernel_shape", {3, 3});
                          Model::integers(pool, "pads", {1, 0, 0, 0});
                        },
                        [](Model& model, const std::string& x) {
                          Model::integer(model.node("Softmax", {x}, "y"), "axis", 1);
                        }};
  for (const Make& make : kinds) {
    for (const bool transposed : {false, true}) {
      Model model;
      model.input("x", {1, 9, 9, 9});
      if (transposed) {
        Model::integers(model.node("Transpose", {"x"}, "t"), "perm", {0, 3, 1, 2});
      } else {
        model.weights("w", {16, 9, 3, 3});
        model.node("Conv", {"x", "w"}, "c");
        model.node("Relu", {"c"}, "t");
      }
      make(model, "t");
      model.output("y");
      agrees(model);
    }
  }
  Model model;
  model.input("x", {7, 5});
  model.weights("w", {7, 3});
  Model::integers(model.node("Transpose", {"x"}, "t"), "perm", {1, 0});
  Model::number(model.node("Gemm", {"t", "w"}, "y"), "alpha", 0.5);
  model.output("y");
  agrees(model);
}

// onnxruntime's own choice for activations, beside weights of either kind.
TEST_F(NetworkOperators, QuantisedNetworksOfUint8) {
  for (const int weight_type : {onnx::TensorProto::UINT8, onnx::TensorProto::INT8}) {
    Model model;
    std::mt19937 random(3);
    const auto bytes = [&](const std::string& name, const Shape& shape, int type, int low,
                           int high) {
      onnx::TensorProto& tensor = *model.proto().mutable_graph()->add_initializer();
      tensor.set_name(name);
      tensor.set_data_type(type);
      std::int64_t count = 1;
      for (const std::int64_t extent : shape) tensor.add_dims(extent), count *= extent;
      std::uniform_int_distribution<int> draw(low, high);
      for (std::int64_t i = 0; i < count; ++i) tensor.add_int32_data(draw(random));
    };
    const bool whole = weight_type == onnx::TensorProto::UINT8;
    model.input("x", {1, 5, 8, 8});
    model.numbers("s", {}, 1.0f / 64);
    bytes("z", {}, onnx::TensorProto::UINT8, 120, 120);
    bytes("w", {6, 5, 3, 3}, weight_type, whole ? 90 : -40, whole ? 170 : 40);
    bytes("wz", {}, weight_type, whole ? 128 : 0, whole ? 128 : 0);
    model.node("QuantizeLinear", {"x", "s", "z"}, "q");
    model.node("DequantizeLinear", {"q", "s", "z"}, "d");
    model.node("DequantizeLinear", {"w", "s", "wz"}, "dw");
    model.node("Conv", {"d", "dw"}, "c");
    model.node("Relu", {"c"}, "r");
    model.node("QuantizeLinear", {"r", "s", "z"}, "q2");
    model.node("DequantizeLinear", {"q2", "s", "z"}, "y");
    model.output("y");
    agrees(model);
  }
}

}  // namespace
}  // namespace fettle::network
