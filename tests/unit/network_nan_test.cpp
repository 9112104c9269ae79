// What is no number stays none: compiled, and in the reference.
#include <cmath>
#include <cstring>
#include <limits>

#include "host/model/graph/node_stages.h"
#include "tests/support/network_agrees.h"

namespace fettle::network {
namespace {

using Model = testing::OnnxModel;

class NetworkNan : public testing::NetworkAgrees {
 protected:
  // The roots of [2, 3, 8, 8], about half of which are none.
  static Model roots(int opset = 18) {
    Model model;
    model.opset(opset);
    model.input("x", {2, 3, 8, 8});
    model.node("Sqrt", {"x"}, "root");
    model.numbers("low", {}, 0.25f), model.numbers("high", {}, 0.5f);
    return model;
  }
  // How many of the output are none, where each of that input is.
  std::size_t none_of(const Model& model, float input) {
    const auto graph = imported(model.text());
    EXPECT_TRUE(graph) << graph.error().text();
    if (!graph) return 0;
    const std::vector<float> x(2 * 3 * 8 * 8, input);
    std::vector<std::uint8_t> bytes(x.size() * sizeof(float));
    std::memcpy(bytes.data(), x.data(), bytes.size());
    const auto outputs = model::evaluate_graph(
        *graph, {std::make_shared<const std::vector<std::uint8_t>>(std::move(bytes))});
    EXPECT_TRUE(outputs) << outputs.error().text();
    if (!outputs) return 0;
    std::vector<float> y(outputs->at(0)->size() / sizeof(float));
    std::memcpy(y.data(), outputs->at(0)->data(), outputs->at(0)->size());
    return static_cast<std::size_t>(
        std::ranges::count_if(y, [](float v) { return std::isnan(v); }));
  }
};

TEST_F(NetworkNan, OfEachElement) {
  for (const char* op :
       {"Relu",      "LeakyRelu", "PRelu",    "Clip", "Max",  "Min",  "Exp",
        "Log",       "Sigmoid",   "Tanh",     "Elu",  "Selu", "Celu", "HardSigmoid",
        "HardSwish", "Softplus",  "Softsign", "Mish", "Erf",  "Sin",  "Cos",
        "Floor",     "Round",     "Abs",      "Pow",  "Gelu"}) {
    SCOPED_TRACE(op);
    const std::string name = op;
    Model model = roots(name == "Gelu" ? 20 : 18);
    std::vector<std::string> inputs = {"root"};
    if (name == "Clip") inputs = {"root", "low", "high"};
    if (name == "Max" || name == "PRelu") inputs = {"root", "low"};
    if (name == "Min") inputs = {"high", "root"};
    if (name == "Pow") inputs = {"root", "high"};
    model.node(op, inputs, "y");
    model.output("y");
    agrees(model);
    EXPECT_EQ(none_of(model, -1), 2u * 3 * 8 * 8);
    EXPECT_EQ(none_of(model, 1), 0u);
  }
}

// Neither of the two is known.
TEST_F(NetworkNan, OfTwo) {
  for (const char* op : {"Max", "Min"}) {
    for (const bool first : {false, true}) {
      Model model = roots();
      model.node("Neg", {"x"}, "other");
      model.node(op,
                 first ? std::vector<std::string>{"root", "other"}
                       : std::vector<std::string>{"other", "root"},
                 "y");
      model.output("y");
      SCOPED_TRACE(op);
      agrees(model);
      EXPECT_EQ(none_of(model, -1), 2u * 3 * 8 * 8);
    }
  }
}

TEST_F(NetworkNan, OfARowOrAWindow) {
  for (const char* op : {"ReduceMax", "ReduceMin", "Softmax", "LogSoftmax", "MaxPool",
                         "GlobalMaxPool", "AveragePool", "ReduceSum"}) {
    SCOPED_TRACE(op);
    const std::string name = op;
    // One in twenty is none.
    Model model;
    model.opset(18);
    model.input("x", {1, 3, 8, 8});
    model.numbers("more", {}, 0.9f);
    model.node("Add", {"x", "more"}, "sum");
    model.node("Sqrt", {"sum"}, "root");
    auto& node = model.node(op, {"root"}, "y");
    if (name.ends_with("oftmax")) Model::integer(node, "axis", -1);
    if (name == "MaxPool" || name == "AveragePool") {
      Model::integers(node, "kernel_shape", {3, 3});
      Model::integers(node, "pads", {1, 1, 1, 1});
    }
    model.output("y");
    agrees(model);
  }
}

TEST_F(NetworkNan, IsNeitherLessNorGreater) {
  for (const char* op : {"Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"}) {
    for (const bool turned : {false, true}) {
      Model model = roots();
      model.node(op,
                 turned ? std::vector<std::string>{"low", "root"}
                        : std::vector<std::string>{"root", "low"},
                 "holds");
      model.node("Where", {"holds", "root", "x"}, "y");
      model.output("y");
      SCOPED_TRACE(op);
      agrees(model);
      EXPECT_EQ(none_of(model, -1), 0u);
    }
  }
}

TEST_F(NetworkNan, ArgMaxIsWhereItFirstIs) {
  Model model = roots();
  Model::integer(model.node("ArgMax", {"root"}, "place"), "axis", 3);
  Model::integer(model.node("Cast", {"place"}, "y"), "to", onnx::TensorProto::FLOAT);
  model.output("y");
  agrees(model);
}

// As places in memory they are inside it.
TEST_F(NetworkNan, NamesNoPlaceOutside) {
  Model model;
  model.opset(20);
  model.input("x", {1, 2, 5, 5}), model.input("g", {1, 4, 4, 2});
  model.node("Sqrt", {"g"}, "grid");
  Model::word(model.node("GridSample", {"x", "grid"}, "y"), "padding_mode", "border");
  auto& node = model.node("GridSample", {"x", "grid"}, "z");
  Model::word(node, "mode", "nearest");
  model.output("y"), model.output("z");
  agrees(model);
}

}  // namespace
}  // namespace fettle::network
