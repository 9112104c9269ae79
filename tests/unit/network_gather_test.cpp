// What language networks add: places that come as a tensor, conditions, and functions of them.
#include <cmath>
#include <cstring>

#include "host/model/graph/node_stages.h"
#include "tests/support/network_agrees.h"

namespace fettle::network {
namespace {

using Model = testing::OnnxModel;
using Shape = std::vector<std::int64_t>;

class NetworkGather : public testing::NetworkAgrees {
 protected:
  void places(Model& model, const std::string& name, const Shape& shape) {
    model.input(name, shape);
    model.of_type(onnx::TensorProto::INT64);
  }
  // What the graph makes of int64 inputs, as float32.
  std::vector<float> values(const Model& model, const std::vector<Shape>& inputs) {
    auto graph = imported(model.text());
    EXPECT_TRUE(graph) << graph.error().text();
    if (!graph) return {};
    std::vector<model::TensorBytes> given;
    for (const Shape& list : inputs) {
      const auto* begin = reinterpret_cast<const std::uint8_t*>(list.data());
      given.push_back(std::make_shared<const std::vector<std::uint8_t>>(
          begin, begin + list.size() * sizeof list[0]));
    }
    const auto made = model::evaluate_graph(*graph, given);
    EXPECT_TRUE(made) << made.error().text();
    if (!made) return {};
    std::vector<float> out(made->front()->size() / sizeof(float));
    std::memcpy(out.data(), made->front()->data(), made->front()->size());
    return out;
  }
};

// Rows of a table; a place outside counts as the nearest one, so that nothing else is read.
TEST_F(NetworkGather, RowsOfATableByPlacesOfTheRun) {
  Model model;
  model.opset(17);
  places(model, "ids", {2, 3});
  model.weights("table", {7, 4});
  model.node("Gather", {"table", "ids"}, "y");
  model.output("y");
  const auto& table = model.proto().graph().initializer(0).float_data();
  const Shape ids = {0, 6, -1, -7, 1000000000000, -1000000000000};
  const int rows[] = {0, 6, 6, 0, 6, 0};
  const auto ours = values(model, {ids});
  ASSERT_EQ(ours.size(), 24u);
  for (int i = 0; i < 24; ++i) EXPECT_EQ(ours[std::size_t(i)], table.Get(rows[i / 4] * 4 + i % 4));
  agrees(model);
}

// A task that names nothing but the first row and the last would be timed with both in a cache.
TEST_F(NetworkGather, ATasksPlacesLieInTheTable) {
  for (const char* op : {"Gather", "GatherElements", "GatherND"}) {
    Model model;
    model.opset(17);
    places(model, "ids", {7, 1});
    model.weights("table", {700, 4});
    model.node(op, {"table", "ids"}, "y");
    model.output("y");
    auto graph = imported(model.text());
    ASSERT_TRUE(graph) << graph.error().text();
    const model::Node& node = graph->nodes.back();
    std::vector<const model::TensorType*> types;
    for (const model::ValueId id : node.inputs) types.push_back(&graph->type(id));
    const auto stages = model::stages_of(node.op, node.attributes, types);
    ASSERT_TRUE(stages) << stages.error().text();
    ASSERT_EQ(stages->stages[1].buffer->type.scalar, ir::Scalar::Int64);
    EXPECT_EQ(stages->stages[1].fill.kind, ir::Fill::Kind::UniformInt) << op;
    EXPECT_EQ(stages->stages[1].fill.low, 0) << op;
    EXPECT_EQ(stages->stages[1].fill.high, 699) << op;
    agrees(model);
  }
}

// What is known and outside is a mistake of the file, few places or many.
TEST_F(NetworkGather, KnownPlacesOutsideAreRefused) {
  for (const char* op : {"Gather", "GatherElements", "GatherND"}) {
    for (const std::int64_t count : {2, 100}) {
      for (const std::int64_t wrong : {5, -6, 0}) {
        Shape ids(std::size_t(count), 4);
        ids.back() = wrong;
        Model model;
        model.opset(17);
        model.input("x", {5, 3});
        model.whole_numbers("ids", {count, 1}, ids);
        model.node(op, {"x", "ids"}, "y");
        model.output("y");
        const auto graph = imported(model.text());
        EXPECT_EQ(bool(graph), wrong == 0) << op << count << " " << wrong;
        if (!graph) {
          EXPECT_NE(graph.error().text().find("an index outside"), std::string::npos)
              << graph.error().text();
        }
      }
    }
  }
}

TEST_F(NetworkGather, OtherAxesAndOtherForms) {
  const auto form = [&](const char* op, const Shape& data, const Shape& ids, const char* name,
                        std::int64_t number) {
    SCOPED_TRACE(op);
    Model model;
    model.opset(17);
    places(model, "ids", ids);
    model.input("x", data);
    Model::integer(model.node(op, {"x", "ids"}, "g"), name, number);
    model.node("Neg", {"g"}, "y");
    model.output("y");
    agrees(model);
  };
  form("Gather", {3, 5, 4}, {2}, "axis", 1);
  form("Gather", {3, 5, 4}, {2, 2}, "axis", -1);
  form("GatherElements", {3, 5, 4}, {3, 2, 4}, "axis", 1);
  form("GatherElements", {3, 5, 4}, {2, 5, 9}, "axis", -1);
  form("GatherND", {3, 5, 4}, {6, 2}, "batch_dims", 0);
  form("GatherND", {3, 5, 4}, {3, 2, 1}, "batch_dims", 1);
  form("GatherND", {3, 5}, {2}, "batch_dims", 0);
}

// As masks of attention are made: none of it is known before the run.
TEST_F(NetworkGather, ConditionsBetweenNodes) {
  Model model;
  model.opset(17);
  model.input("x", {4, 4});
  places(model, "mask", {4});
  model.whole_numbers("zero", {}, {0});
  model.whole_numbers("three", {}, {3});
  model.numbers("least", {}, -1e9f);
  model.node("Greater", {"mask", "zero"}, "some");
  model.node("Less", {"mask", "three"}, "few");
  model.node("And", {"some", "few"}, "both");
  model.node("Or", {"some", "few"}, "either");
  model.node("Xor", {"both", "either"}, "one");
  model.node("Not", {"one"}, "kept");
  model.node("Where", {"kept", "x", "least"}, "s");
  model.node("Softmax", {"s"}, "p");
  model.node("IsNaN", {"p"}, "none");
  model.node("Where", {"none", "least", "p"}, "y");
  model.output("y");
  model.output("kept");
  agrees(model);
}

TEST_F(NetworkGather, WholeNumbersAreDividedTowardZero) {
  Model model;
  model.opset(17);
  places(model, "a", {8});
  model.whole_numbers("b", {8}, {2, -2, 3, -3, 1, -1, 7, -5});
  model.node("Div", {"b", "c"}, "known");
  model.whole_numbers("c", {8}, {-3, 3, -2, 2, 5, -5, 2, 2});
  Model::integer(model.node("Cast", {"known"}, "y"), "to", onnx::TensorProto::FLOAT);
  Model::integer(model.node("Cast", {"a"}, "z"), "to", onnx::TensorProto::FLOAT);
  model.output("y");
  model.output("z");
  const auto ours = values(model, {{0, 0, 0, 0, 0, 0, 0, 0}});
  const float right[] = {0, 0, -1, -1, 0, 0, 3, -2};
  ASSERT_EQ(ours.size(), 8u);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(ours[i], right[i]) << i;
}

TEST_F(NetworkGather, TrianglesAndRunningSums) {
  for (const std::int64_t upper : {0, 1}) {
    for (const std::int64_t diagonal : {-1, 0, 2}) {
      Model model;
      model.opset(17);
      model.input("x", {2, 4, 5});
      model.whole_numbers("k", {}, {diagonal});
      Model::integer(model.node("Trilu", {"x", "k"}, "t"), "upper", upper);
      model.whole_numbers("axis", {}, {upper ? 1 : -1});
      auto& sum = model.node("CumSum", {"t", "axis"}, "y");
      Model::integer(sum, "exclusive", upper), Model::integer(sum, "reverse", diagonal > 0);
      model.output("y");
      agrees(model);
    }
  }
  // By hand.
  Model model;
  model.opset(17);
  places(model, "x", {4});
  model.whole_numbers("axis", {}, {0});
  auto& sum = model.node("CumSum", {"x", "axis"}, "s");
  Model::integer(sum, "reverse", 1), Model::integer(sum, "exclusive", 1);
  Model::integer(model.node("Cast", {"s"}, "y"), "to", onnx::TensorProto::FLOAT);
  model.output("y");
  EXPECT_EQ(values(model, {{1, 2, 3, 4}}), (std::vector<float>{9, 7, 4, 0}));
}

// Beside the library's functions.
TEST_F(NetworkGather, FunctionsOfOneNumber) {
  const std::pair<const char*, double (*)(double)> functions[] = {
      {"Log", [](double x) { return std::log(x); }},
      {"Sin", [](double x) { return std::sin(x); }},
      {"Cos", [](double x) { return std::cos(x); }},
      {"Softplus", [](double x) { return std::log1p(std::exp(x)); }},
      {"Mish", [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
      {"Sign", [](double x) { return double((x > 0) - (x < 0)); }}};
  for (const auto& [op, right] : functions) {
    const bool log = std::string(op) == "Log";
    Shape numbers;
    for (std::int64_t i = 0; i < 400; ++i) numbers.push_back(log ? i * i + 1 : i * 7 - 1400);
    Model model;
    model.opset(18);
    places(model, "n", {400});
    model.numbers("by", {}, 1.f / 64);
    Model::integer(model.node("Cast", {"n"}, "f"), "to", onnx::TensorProto::FLOAT);
    model.node("Mul", {"f", "by"}, "x");
    model.node(op, {"x"}, "y");
    model.output("y");
    const auto ours = values(model, {numbers});
    ASSERT_EQ(ours.size(), 400u);
    for (std::size_t i = 0; i < 400; ++i) {
      const double x = double(numbers[i]) / 64;
      EXPECT_NEAR(ours[i], right(x), 1e-6 * std::max(1.0, std::fabs(x))) << op << " of " << x;
    }
    if (!log) agrees(model);
  }
}

TEST_F(NetworkGather, LogarithmsAtTheEnds) {
  Model model;
  model.opset(17);
  places(model, "n", {3});
  Model::integer(model.node("Cast", {"n"}, "x"), "to", onnx::TensorProto::FLOAT);
  model.node("Log", {"x"}, "y");
  model.output("y");
  const auto ours = values(model, {{0, -1, 1}});
  EXPECT_EQ(ours[0], -INFINITY);
  EXPECT_TRUE(std::isnan(ours[1]));
  EXPECT_EQ(ours[2], 0);
}

}  // namespace
}  // namespace fettle::network
