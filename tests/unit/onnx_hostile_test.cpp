// ONNX files that are wrong or mean harm: each is read or refused.
#include <gtest/gtest.h>

#include <limits>

#include "host/model/passes/passes.h"
#include "host/model/pieces/bindings.h"
#include "tests/support/onnx_model.h"
#include "tests/support/quantized_network.h"

namespace fettle::model {
namespace {

using Model = testing::OnnxModel;
using OnnxNetwork = testing::OnnxNetworkTest;
using testing::residual_network;

// Numbers that no operator can mean, wherever a list of them may stand.
TEST_F(OnnxNetwork, BearsNumbersThatMeanNothing) {
  constexpr std::int64_t kNumbers[] = {std::numeric_limits<std::int64_t>::min(),
                                       -2,
                                       -1,
                                       0,
                                       3,
                                       std::int64_t{1} << 31,
                                       std::int64_t{1} << 40,
                                       std::numeric_limits<std::int64_t>::max()};
  const std::pair<const char*, std::vector<const char*>> kOperators[] = {
      {"Conv", {"strides", "dilations", "pads", "kernel_shape"}},
      {"MaxPool", {"strides", "dilations", "pads", "kernel_shape"}},
      {"AveragePool", {"strides", "pads", "kernel_shape"}},
      {"Transpose", {"perm"}},
      {"Unsqueeze", {"axes"}},
      {"Squeeze", {"axes"}},
      {"ReduceMean", {"axes"}},
      {"Pad", {"pads"}},
      {"Slice", {"starts", "ends", "axes", "steps"}},
      {"Split", {"split", "axis", "num_outputs"}},
      {"Reshape", {"shape"}},
      {"Expand", {"shape"}},
      {"Tile", {"repeats"}},
      {"ConstantOfShape", {"shape"}},
      {"Softmax", {"axis"}},
      {"Flatten", {"axis"}},
      {"Concat", {"axis"}},
      {"DepthToSpace", {"blocksize"}},
      {"LRN", {"size"}}};
  std::size_t refused = 0, all = 0;
  for (const auto& [op, names] : kOperators) {
    for (const char* const changed : names) {
      for (const std::int64_t number : kNumbers) {
        for (const std::size_t length : {1, 2, 4}) {
          Model model;
          model.input("x", {1, 4, 6, 6});
          model.weights("w", {4, 4, 3, 3});
          const bool two = std::string(op) == "Conv";
          onnx::NodeProto& node = model.node(
              op, two ? std::vector<std::string>{"x", "w"} : std::vector<std::string>{"x"}, "y");
          for (const char* const name : names) {
            const bool list = length > 1 || number == 3;
            const std::vector<std::int64_t> usual(std::string(name) == "pads" ? 4 : 2, 1);
            Model::integers(node, name,
                            name == changed ? std::vector<std::int64_t>(length, number) : usual);
            if (!list && name == changed)
              node.mutable_attribute(node.attribute_size() - 1)->set_i(number);
          }
          model.output("y");
          const auto graph = imported(model.text());
          ++all;
          refused += !graph.ok();
          if (graph) static_cast<void>(pieces_of(*graph));
        }
      }
    }
  }
  EXPECT_GT(refused, all / 2);
}

TEST_F(OnnxNetwork, ConstantsThatWouldTakeLongAreNotComputed) {
  Model model;
  model.input("x", {1});
  model.weights("one", {1});
  for (int i = 0; i < 4; ++i) {  // 2^25 elements four times
    onnx::NodeProto& shape = model.node("Constant", {}, "shape" + std::to_string(i));
    Model::integers(shape, "value_ints", {1 << 15, 1 << 10});
    model.node("Expand", {"one", "shape" + std::to_string(i)}, "large" + std::to_string(i));
    model.node("Relu", {"large" + std::to_string(i)}, "y" + std::to_string(i));
  }
  model.output("y0");
  model.output("y3");
  const auto graph = imported(model.text());
  ASSERT_TRUE(graph) << graph.error().text();
  EXPECT_TRUE(graph->values[graph->outputs[0]].constant) << "the first are computed";
  EXPECT_FALSE(graph->values[graph->outputs[1]].constant);
  EXPECT_EQ(graph->nodes.size(), 2u) << "what was left for the network: Expand and Relu";
}

// Whatever a file says, it is read or refused.
// Sanitizers make each ten times as long.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kChanges = 1000;
#else
constexpr int kChanges = 10'000;
#endif

// Through all that a file goes through before it is compiled.
TEST_F(OnnxNetwork, BearsChangedFiles) {
  const std::string quantised = folder.file("quantised.onnx");
  const auto x = testing::bytes_of(testing::random_numbers(8 * 144, 5, 2));
  ASSERT_TRUE(testing::quantized_network(quantised, x, true));
  std::ifstream file(quantised, std::ios::binary);
  const std::string texts[] = {residual_network().text(),
                               {std::istreambuf_iterator<char>(file), {}}};
  std::mt19937 random(20261123);
  int read = 0;
  for (int i = 0; i < kChanges; ++i) {
    std::string changed = texts[i % 2];
    for (int k = 0; k <= i / 2 % 4; ++k) {
      // Mostly where structure is, not in the weights.
      const std::size_t at = random() % changed.size();
      changed[at] = static_cast<char>(random());
    }
    if (i % 7 == 0) changed.resize(random() % changed.size());
    auto graph = imported(changed);
    if (!graph) continue;
    ++read;
    if (run_passes(*graph)) static_cast<void>(bind(*graph, pieces_of(*graph)));
  }
  EXPECT_GT(read, kChanges / 20);
  EXPECT_LT(read, kChanges);
}

TEST_F(OnnxNetwork, ANodeWithoutItsInputsIsRefused) {
  for (const char* op : {"Selu",
                         "Clip",
                         "Pow",
                         "Dropout",
                         "Reshape",
                         "Squeeze",
                         "Unsqueeze",
                         "Shape",
                         "Size",
                         "Transpose",
                         "Expand",
                         "Tile",
                         "DepthToSpace",
                         "SpaceToDepth",
                         "Resize",
                         "ReduceMean",
                         "Softmax",
                         "GlobalAveragePool",
                         "Slice",
                         "Split",
                         "Pad",
                         "Gather",
                         "GatherElements",
                         "GatherND",
                         "ScatterND",
                         "ScatterElements",
                         "DFT",
                         "STFT",
                         "MelWeightMatrix",
                         "Trilu",
                         "CumSum",
                         "LSTM",
                         "GRU",
                         "RNN",
                         "And",
                         "Not",
                         "IsNaN",
                         "ConvTranspose",
                         "MaxPool",
                         "Conv",
                         "LayerNormalization",
                         "InstanceNormalization",
                         "MatMul",
                         "Gemm",
                         "Add",
                         "Relu"}) {
    for (const std::vector<std::string>& inputs :
         {std::vector<std::string>{}, std::vector<std::string>{""},
          std::vector<std::string>{"", "x"}}) {
      Model model;
      model.opset(17);
      model.input("x", {1, 3, 6, 6});
      model.node(op, inputs, "y");
      model.output("y");
      const auto graph = imported(model.text());
      ASSERT_FALSE(graph) << op;
      EXPECT_NE(graph.error().text().find("makes 'y'"), std::string::npos) << graph.error().text();
    }
  }
  Model model;
  model.input("x", {4, 3});
  model.node("Gather", {"x"}, "y");
  model.output("y");
  EXPECT_FALSE(imported(model.text()));
}

// What is not there is missed where it is needed, or not needed.
TEST_F(OnnxNetwork, BearsNodesWithFewInputs) {
  for (const char* op : {"Reshape",
                         "Expand",
                         "Tile",
                         "Resize",
                         "Upsample",
                         "ReduceMean",
                         "Slice",
                         "Split",
                         "Pad",
                         "Gather",
                         "GatherElements",
                         "GatherND",
                         "ScatterND",
                         "ScatterElements",
                         "DFT",
                         "STFT",
                         "MelWeightMatrix",
                         "Trilu",
                         "CumSum",
                         "LSTM",
                         "ConvTranspose",
                         "Unsqueeze",
                         "Squeeze",
                         "Conv",
                         "LayerNormalization",
                         "InstanceNormalization",
                         "BatchNormalization",
                         "MatMul",
                         "Gemm",
                         "Add",
                         "Where",
                         "PRelu",
                         "Pow",
                         "Clip",
                         "QuantizeLinear",
                         "DequantizeLinear",
                         "QLinearConv",
                         "QLinearMatMul",
                         "ConvInteger",
                         "MatMulInteger",
                         "Concat",
                         "Less"}) {
    for (const std::vector<std::string>& inputs :
         {std::vector<std::string>{"x"}, std::vector<std::string>{"x", ""},
          std::vector<std::string>{"x", "", "x"}, std::vector<std::string>{"x", "x", ""}}) {
      Model model;
      model.opset(17);
      model.input("x", {1, 3, 6, 6});
      model.node(op, inputs, "y");
      model.output("y");
      const auto graph = imported(model.text());
      EXPECT_TRUE(graph || !graph.error().message.empty()) << op;
    }
  }
}

// Each of two types for every input: read, or refused in words.
TEST_F(OnnxNetwork, TypesThatDoNotFitAreRefused) {
  const int types[] = {onnx::TensorProto::FLOAT,   onnx::TensorProto::DOUBLE,
                       onnx::TensorProto::FLOAT16, onnx::TensorProto::INT32,
                       onnx::TensorProto::INT64,   onnx::TensorProto::INT8,
                       onnx::TensorProto::BOOL};
  const std::pair<const char*, int> operators[] = {
      {"Add", 2},      {"Less", 2},      {"Where", 3},   {"MatMul", 2},
      {"Gemm", 3},     {"PRelu", 2},     {"Mean", 2},    {"Exp", 1},
      {"Floor", 1},    {"LeakyRelu", 1}, {"Softmax", 1}, {"ReduceMean", 1},
      {"ReduceL2", 1}, {"HardSwish", 1}, {"Pow", 1},     {"QuantizeLinear", 2}};
  int refused = 0;
  for (const auto& [op, inputs] : operators) {
    for (const int first : types) {
      for (const int second : types) {
        Model model;
        model.opset(17);
        std::vector<std::string> names;
        for (int i = 0; i < inputs; ++i) {
          names.push_back("x" + std::to_string(i));
          model.input(names.back(), {3, 3});
          model.proto()
              .mutable_graph()
              ->mutable_input(i)
              ->mutable_type()
              ->mutable_tensor_type()
              ->set_elem_type(i == 0 ? first : second);
        }
        model.node(op, names, "y");
        model.output("y");
        const auto graph = imported(model.text());
        refused += !graph;
        EXPECT_TRUE(graph || !graph.error().message.empty());
      }
    }
  }
  EXPECT_GT(refused, 100);
}

// Files of other writers have 2 where 2.0 is meant.
TEST_F(OnnxNetwork, AWholeNumberIsANumberToo) {
  Model model;
  model.input("x", {4});
  Model::integer(model.node("LeakyRelu", {"x"}, "y"), "alpha", 2);
  model.output("y");
  const auto graph = imported(model.text());
  ASSERT_TRUE(graph) << graph.error().text();
  EXPECT_EQ(graph->nodes.front().attributes.at("alpha"), 2.0);
}

}  // namespace
}  // namespace fettle::model
