// Every operator that is written as ONNX is read as what it was.
#include <functional>

#include "host/model/graph/node_stages.h"
#include "host/model/onnx/export.h"
#include "host/model/passes/find_activations.h"
#include "tests/support/onnx_model.h"

namespace fettle::model {
namespace {

using Model = testing::OnnxModel;

class OnnxExport : public testing::OnnxNetworkTest {
 protected:
  // y, of x [2, 3, 4, 5].
  using Make = std::function<void(Model&)>;

  void comes_back(const std::string& what, const Make& make) {
    SCOPED_TRACE(what);
    Model model;
    model.opset(17);
    model.input("x", {2, 3, 4, 5});
    make(model);
    model.output("y");
    auto graph = imported(model.text());
    ASSERT_TRUE(graph) << graph.error().text();
    find_activations(*graph);
    ASSERT_TRUE(check_onnx_exportable(*graph));
    const auto written = export_onnx(*graph, folder.file("again.onnx"));
    ASSERT_TRUE(written) << written.error().text();
    auto again = import_onnx(folder.file("again.onnx"));
    ASSERT_TRUE(again) << again.error().text();
    find_activations(*again);
    EXPECT_EQ(again->outputs.size(), graph->outputs.size());
    EXPECT_EQ(again->type(again->outputs[0]), graph->type(graph->outputs[0]));
    EXPECT_EQ(again->values[again->outputs[0]].name, "y");
    const auto ours = value(*graph), theirs = value(*again);
    ASSERT_TRUE(ours && theirs);
    if (what == "Mish") {  // several operators there, with roundings of their own
      const auto *a = reinterpret_cast<const float*>(ours->data()),
                 *b = reinterpret_cast<const float*>(theirs->data());
      for (std::size_t i = 0; i < ours->size() / sizeof(float); ++i) EXPECT_NEAR(a[i], b[i], 1e-5);
      return;
    }
    EXPECT_EQ(*ours, *theirs);
    std::vector<std::string> operators, others;
    for (const Node& node : graph->nodes) operators.push_back(node.op + node.attributes.dump());
    for (const Node& node : again->nodes) others.push_back(node.op + node.attributes.dump());
    EXPECT_EQ(operators, others);
  }
  void alone(
      const std::string& op, const std::function<void(onnx::NodeProto&)>& attributes,
      const std::vector<std::string>& more = {}, const Make& before = [](Model&) {}) {
    comes_back(op, [&](Model& model) {
      before(model);
      std::vector<std::string> inputs = {"x"};
      inputs.insert(inputs.end(), more.begin(), more.end());
      attributes(model.node(op, inputs, "y"));
    });
  }
  void alone(const std::string& op) {
    alone(op, [](auto&) {});
  }
  static TensorBytes value(const Graph& graph) {
    std::vector<float> x;
    for (int i = 0; i < 120; ++i) x.push_back(0.125f * static_cast<float>(i * 7 % 31 - 11));
    const auto* begin = reinterpret_cast<const std::uint8_t*>(x.data());
    const auto made = evaluate_graph(graph, {std::make_shared<const std::vector<std::uint8_t>>(
                                                begin, begin + x.size() * sizeof(float))});
    EXPECT_TRUE(made) << made.error().text();
    return made ? made->front() : nullptr;
  }
};

TEST_F(OnnxExport, FunctionsOfOneTensor) {
  for (const char* op : {"Abs",   "Neg",     "Exp", "Erf",  "Tanh",     "Softsign", "Ceil",
                         "Floor", "Round",   "Sin", "Cos",  "Softplus", "Sign",     "HardSwish",
                         "Relu",  "Sigmoid", "Elu", "Selu", "Identity", "Mish"}) {
    alone(op);
  }
  for (const char* op : {"LeakyRelu", "HardSigmoid"}) {
    alone(op, [](auto& node) { Model::number(node, "alpha", 0.25); });
  }
  comes_back("Swish", [](Model& model) {
    model.node("Sigmoid", {"x"}, "s");
    model.node("Mul", {"x", "s"}, "y");
  });
  comes_back("Gelu", [](Model& model) {
    model.numbers("root", {}, 1.41421356f), model.numbers("one", {}, 1);
    model.numbers("half", {}, 0.5f);
    model.node("Div", {"x", "root"}, "d");
    model.node("Erf", {"d"}, "e");
    model.node("Add", {"e", "one"}, "a");
    model.node("Mul", {"x", "a"}, "m");
    model.node("Mul", {"m", "half"}, "y");
  });
  for (const int type : {int(onnx::TensorProto::INT8), int(onnx::TensorProto::FLOAT16),
                         int(onnx::TensorProto::BOOL), int(onnx::TensorProto::INT64)}) {
    comes_back("Cast", [&](Model& model) {
      Model::integer(model.node("Cast", {"x"}, "c"), "to", type);
      Model::integer(model.node("Cast", {"c"}, "y"), "to", onnx::TensorProto::FLOAT);
    });
  }
}

TEST_F(OnnxExport, OfSeveral) {
  const auto other = [](Model& model) { model.weights("o", {5}, 0.5); };
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Max", "Min", "Mean", "PRelu"}) {
    alone(op, [](auto&) {}, {"o"}, other);
  }
  for (const char* op : {"Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"}) {
    comes_back(op, [&](Model& model) {
      other(model);
      model.node(op, {"x", "o"}, "a");
      model.node("IsNaN", {"x"}, "b");
      model.node("Or", {"a", "b"}, "c"), model.node("And", {"a", "c"}, "d");
      model.node("Not", {"d"}, "e"), model.node("Xor", {"e", "a"}, "f");
      model.node("Where", {"f", "x", "o"}, "y");
    });
  }
  alone("Pow", [](auto&) {}, {"e"}, [](Model& model) { model.numbers("e", {}, 2); });
  alone(
      "LayerNormalization", [](auto& node) { Model::number(node, "epsilon", 1e-3f); }, {"o", "o"},
      other);
  alone("LRN", [](auto& node) {
    Model::integer(node, "size", 3), Model::number(node, "alpha", 0x1p-10f);
  });
}

TEST_F(OnnxExport, ShapesAndParts) {
  const auto list = [](const std::vector<std::int64_t>& numbers) {
    return [numbers](Model& model) { model.whole_numbers("l", {std::ssize(numbers)}, numbers); };
  };
  const auto nothing = [](auto&) {};
  alone("Expand", nothing, {"l"}, list({2, 2, 3, 4, 5}));
  alone("Tile", nothing, {"l"}, list({1, 2, 1, 3}));
  alone("Unsqueeze", nothing, {"l"}, list({0, 3}));
  comes_back("Squeeze", [&](Model& model) {
    list({1, 2, 3, 4, 5, 1})(model);
    model.whole_numbers("k", {6}, {1, 2, 3, 4, 5, 1}), model.whole_numbers("z", {1}, {0});
    model.node("Reshape", {"x", "k"}, "r");
    model.node("Squeeze", {"r", "z"}, "s"), model.node("Squeeze", {"s"}, "y");
  });
  alone("ReduceSum", nothing, {"l"}, list({1, -1}));
  for (const char* op : {"ReduceMax", "ReduceMin", "ReduceMean", "ReduceL2", "ReduceSumSquare"}) {
    alone(op, [](auto& node) { Model::integers(node, "axes", {1, 2}); });
  }
  alone("Pad", nothing, {"l", "v"}, [&](Model& model) {
    list({0, 1, 0, 2, 0, 0, 1, 0})(model);
    model.numbers("v", {}, 1.5f);
  });
  // Backwards to the first element, too.
  comes_back("Slice", [](Model& model) {
    model.whole_numbers("b", {3}, {1, -1, 3}), model.whole_numbers("e", {3}, {2, -9, 0});
    model.whole_numbers("a", {3}, {0, 2, 3}), model.whole_numbers("s", {3}, {1, -1, -2});
    model.node("Slice", {"x", "b", "e", "a", "s"}, "y");
  });
  for (const bool many : {false, true}) {
    comes_back("Gather", [&](Model& model) {
      std::vector<std::int64_t> places;
      for (int i = 0; i < (many ? 70 : 4); ++i) places.push_back(i % 4 - 1);
      model.whole_numbers("p", {2, std::ssize(places) / 2}, places);
      Model::integer(model.node("Gather", {"x", "p"}, "y"), "axis", 2);
    });
  }
  alone(
      "GatherElements", [](auto& node) { Model::integer(node, "axis", 1); }, {"p"},
      [](Model& model) { model.whole_numbers("p", {1, 2, 1, 2}, {0, 2, -1, 1}); });
  alone(
      "GatherND", [](auto& node) { Model::integer(node, "batch_dims", 1); }, {"p"},
      [](Model& model) { model.whole_numbers("p", {2, 1}, {2, -1}); });
  alone(
      "Trilu", [](auto& node) { Model::integer(node, "upper", 0); }, {"k"},
      [](Model& model) { model.whole_numbers("k", {}, {-1}); });
  alone(
      "CumSum", [](auto& node) { Model::integer(node, "reverse", 1); }, {"k"},
      [](Model& model) { model.whole_numbers("k", {}, {2}); });
}

// Before opset 18 no axes are all of them.
TEST_F(OnnxExport, ReductionsOfNoAxes) {
  for (const char* op : {"ReduceMean", "ReduceMax", "ReduceL2", "ReduceSumSquare", "ReduceSum"}) {
    comes_back(op, [&](Model& model) {
      model.opset(18);
      Model::integer(model.node(op, {"x"}, "r"), "noop_with_empty_axes", 1);
      model.node("Neg", {"r"}, "y");
    });
  }
}

TEST_F(OnnxExport, WhatOlderFilesCannotSayIsNotWritten) {
  Model model;
  model.opset(19);
  model.input("x", {1, 3, 8, 8});
  auto& node = model.node("AveragePool", {"x"}, "y");
  Model::integers(node, "kernel_shape", {3, 3}), Model::integers(node, "dilations", {2, 2});
  model.output("y");
  const auto graph = imported(model.text());
  ASSERT_TRUE(graph) << graph.error().text();
  EXPECT_FALSE(check_onnx_exportable(*graph));
}

TEST_F(OnnxExport, TensorsWithoutAxes) {
  Model model;
  model.opset(17);
  model.input("x", {});
  model.node("Relu", {"x"}, "y");
  model.output("y");
  const auto graph = imported(model.text());
  ASSERT_TRUE(graph) << graph.error().text();
  ASSERT_TRUE(export_onnx(*graph, folder.file("again.onnx")));
  const auto again = import_onnx(folder.file("again.onnx"));
  EXPECT_TRUE(again) << again.error().text();
}

TEST_F(OnnxExport, PlacesOfWhatIsLargest) {
  const auto as_floats = [](Model& model, const char* from) {
    Model::integer(model.node("Cast", {from}, "y"), "to", onnx::TensorProto::FLOAT);
  };
  for (const char* op : {"ArgMax", "ArgMin"}) {
    comes_back(op, [&](Model& model) {
      auto& node = model.node(op, {"x"}, "a");
      Model::integer(node, "axis", 2), Model::integer(node, "keepdims", 0);
      as_floats(model, "a");
    });
  }
  comes_back("TopK", [&](Model& model) {
    model.whole_numbers("k", {1}, {2});
    auto& node = model.node("TopK", {"x", "k"}, "v");
    node.add_output("p");
    Model::integer(node, "largest", 0), Model::integer(node, "axis", 1);
    model.node("Cast", {"p"}, "c");
    Model::integer(*model.proto().mutable_graph()->mutable_node(1), "to", onnx::TensorProto::FLOAT);
    model.node("Add", {"v", "c"}, "y");
  });
  for (const int type : {int(onnx::TensorProto::INT64), int(onnx::TensorProto::INT32)}) {
    comes_back("rows and columns", [&](Model& model) {
      model.whole_numbers("by", {}, {3});
      Model::integer(model.node("Cast", {"by"}, "b"), "to", type);
      Model::integer(model.node("Cast", {"x"}, "w"), "to", type);
      Model::integer(model.node("Mod", {"w", "b"}, "m"), "fmod", 1);
      model.node("Div", {"m", "b"}, "d");
      as_floats(model, "d");
    });
  }
  for (const char* mode : {"bilinear", "nearest"}) {
    comes_back("GridSample", [&](Model& model) {
      model.weights("grid", {2, 7, 3, 2}, -0.5f);
      auto& node = model.node("GridSample", {"x", "grid"}, "y");
      Model::word(node, "mode", mode), Model::integer(node, "align_corners", 1);
    });
  }
}

TEST_F(OnnxExport, ImagesOfOtherSizes) {
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    for (const bool by_scale : {false, true}) {
      for (const char* places : {"half_pixel", "align_corners", "asymmetric"}) {
        comes_back(mode, [&](Model& model) {
          model.whole_numbers("sizes", {4}, {2, 3, 8, 7});
          onnx::TensorProto& scales = *model.proto().mutable_graph()->add_initializer();
          scales.set_name("scales"), scales.set_data_type(onnx::TensorProto::FLOAT);
          scales.add_dims(4);
          // Whole lengths, of which alone it is plain where corners are.
          for (const float scale : {1.f, 1.f, 2.f, 1.4f}) scales.add_float_data(scale);
          const std::vector<std::string> by_size = {"x", "", "", "sizes"};
          auto& node = model.node(
              "Resize", by_scale ? std::vector<std::string>{"x", "", "scales"} : by_size, "y");
          Model::word(node, "mode", mode);
          Model::word(node, "coordinate_transformation_mode", places);
          Model::word(node, "nearest_mode", "ceil");
        });
      }
    }
  }
  comes_back("Resize", [](Model& model) {
    model.whole_numbers("sizes", {4}, {2, 3, 8, 15});
    model.node("Resize", {"x", "", "", "sizes"}, "y");
  });
  alone(
      "ConvTranspose",
      [](auto& node) {
        Model::integers(node, "strides", {2, 2});
        Model::integers(node, "pads", {1, 0, 0, 1});
        Model::integers(node, "output_padding", {1, 0});
      },
      {"w"}, [](Model& model) { model.weights("w", {3, 4, 3, 3}); });
}

}  // namespace
}  // namespace fettle::model
