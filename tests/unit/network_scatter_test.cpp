// Elements put at places of the run, and powers of two tensors.
#include <cmath>
#include <cstring>

#include "host/model/graph/node_stages.h"
#include "tests/support/network_agrees.h"

namespace fettle::network {
namespace {

using Model = testing::OnnxModel;
using Shape = std::vector<std::int64_t>;

template <typename T>
model::TensorBytes bytes_of(const std::vector<T>& numbers) {
  const auto* begin = reinterpret_cast<const std::uint8_t*>(numbers.data());
  return std::make_shared<const std::vector<std::uint8_t>>(begin,
                                                           begin + numbers.size() * sizeof(T));
}

class NetworkScatter : public testing::NetworkAgrees {
 protected:
  static void places(Model& model, const std::string& name, const Shape& shape) {
    model.input(name, shape);
    model.of_type(onnx::TensorProto::INT64);
  }
  std::vector<float> values(const Model& model, const std::vector<model::TensorBytes>& given) {
    auto graph = imported(model.text());
    EXPECT_TRUE(graph) << graph.error().text();
    if (!graph) return {};
    const auto made = model::evaluate_graph(*graph, given);
    EXPECT_TRUE(made) << made.error().text();
    if (!made) return {};
    std::vector<float> out(made->front()->size() / sizeof(float));
    std::memcpy(out.data(), made->front()->data(), made->front()->size());
    return out;
  }
};

TEST_F(NetworkScatter, ElementsAlongAnAxis) {
  // From the end too; the last one of two stays; outside nothing is put.
  const Shape ids = {1, -1, 3, 0, 2, 9};
  const std::vector<float> data = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},
                           updates = {90, 91, 92, 93, 94, 95};
  const struct {
    const char* reduction;
    std::vector<float> right;
  } rows[] = {
      // Row 0: 1 and 3, then 3 again; row 1: 0, 2 and nowhere; row 2 has no places.
      {"none", {0, 90, 2, 92, 93, 5, 94, 7, 8, 9, 10, 11}},
      {"add", {0, 91, 2, 3 + 91 + 92, 97, 5, 100, 7, 8, 9, 10, 11}},
      {"max", {0, 90, 2, 92, 93, 5, 94, 7, 8, 9, 10, 11}},
      {"min", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
  };
  for (const auto& row : rows) {
    Model model;
    model.opset(18);
    model.input("data", {3, 4});
    places(model, "ids", {2, 3});
    model.input("updates", {2, 3});
    auto& node = model.node("ScatterElements", {"data", "ids", "updates"}, "y");
    Model::integer(node, "axis", 1);
    Model::word(node, "reduction", row.reduction);
    model.output("y");
    SCOPED_TRACE(row.reduction);
    agrees(model);
    EXPECT_EQ(values(model, {bytes_of(data), bytes_of(ids), bytes_of(updates)}), row.right);
  }
}

TEST_F(NetworkScatter, SlicesAtPlaces) {
  const Shape ids = {0, 1, 1, -1, 0, 1, 0, 7};
  const std::vector<float> data = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const std::vector<float> updates = {10, 11, 20, 21, 30, 31, 40, 41};
  const struct {
    const char* reduction;
    std::vector<float> right;
  } rows[] = {
      {"none", {0, 1, 30, 31, 4, 5, 6, 7, 8, 9, 20, 21}},
      {"add", {0, 1, 2 + 10 + 30, 3 + 11 + 31, 4, 5, 6, 7, 8, 9, 30, 32}},
      {"max", {0, 1, 30, 31, 4, 5, 6, 7, 8, 9, 20, 21}},
      {"min", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
  };
  for (const auto& row : rows) {
    Model model;
    model.opset(18);
    model.input("data", {2, 3, 2});
    places(model, "ids", {4, 2});
    model.input("updates", {4, 2});
    Model::word(model.node("ScatterND", {"data", "ids", "updates"}, "y"), "reduction",
                row.reduction);
    model.output("y");
    SCOPED_TRACE(row.reduction);
    agrees(model);
    EXPECT_EQ(values(model, {bytes_of(data), bytes_of(ids), bytes_of(updates)}), row.right);
  }
}

// What has no update stays as it is, in its own type.
TEST_F(NetworkScatter, WholeNumbersKeepTheirType) {
  for (const auto type : {onnx::TensorProto::INT8, onnx::TensorProto::INT64}) {
    for (const std::string reduction : {"max", "min", "add"}) {
      Model model;
      model.opset(18);
      places(model, "x", {5}), places(model, "ids", {2}), places(model, "by", {2});
      Model::integer(model.node("Cast", {"x"}, "data"), "to", type);
      Model::integer(model.node("Cast", {"by"}, "updates"), "to", type);
      Model::word(model.node("ScatterElements", {"data", "ids", "updates"}, "z"), "reduction",
                  reduction);
      Model::integer(model.node("Cast", {"z"}, "y"), "to", onnx::TensorProto::FLOAT);
      model.output("y");
      SCOPED_TRACE(reduction);
      agrees(model);
      const auto ours = values(
          model, {bytes_of(Shape{-5, 7, -7, 3, 0}), bytes_of(Shape{0, 3}), bytes_of(Shape{-9, 4})});
      const std::vector<float> right = reduction == "max"   ? std::vector<float>{-5, 7, -7, 4, 0}
                                       : reduction == "min" ? std::vector<float>{-9, 7, -7, 3, 0}
                                                            : std::vector<float>{-14, 7, -7, 7, 0};
      EXPECT_EQ(ours, right);
    }
  }
}

// As where a network assigns to a slice: the places are known, what is put there is not.
TEST_F(NetworkScatter, AtKnownPlaces) {
  Model model;
  model.opset(18);
  model.input("x", {4, 3}), model.input("y", {2, 3});
  model.whole_numbers("ids", {2, 1}, {3, 0});
  model.node("ScatterND", {"x", "ids", "y"}, "z");
  model.node("Relu", {"z"}, "out");
  model.output("out");
  agrees(model);
}

TEST_F(NetworkScatter, WhatDoesNotFitIsTold) {
  const struct {
    Shape ids, updates;
    const char *op, *reduction, *words;
  } rows[] = {
      {{2, 3}, {2, 2}, "ScatterElements", "none", "places and updates do not fit"},
      {{2}, {2}, "ScatterElements", "none", "places and updates do not fit"},
      {{2, 5}, {2, 5}, "ScatterElements", "none", "more than its elements"},
      {{2, 3}, {2, 3}, "ScatterElements", "mul", "the reduction mul"},
      {{2, 3}, {2}, "ScatterND", "none", "places do not fit"},
      {{2, 1}, {2, 3}, "ScatterND", "none", "updates do not fit"},
  };
  for (const auto& row : rows) {
    Model model;
    model.opset(18);
    model.input("x", {3, 4});
    places(model, "ids", row.ids);
    model.input("updates", row.updates);
    Model::word(model.node(row.op, {"x", "ids", "updates"}, "y"), "reduction", row.reduction);
    model.output("y");
    auto graph = imported(model.text());
    std::string said = graph ? "" : graph.error().text();
    EXPECT_NE(said.find(row.words), std::string::npos) << row.words << ": " << said;
  }
}

TEST_F(NetworkScatter, KnownPlacesOutsideAreTold) {
  for (const char* op : {"ScatterND", "ScatterElements"}) {
    Model model;
    model.opset(18);
    model.input("x", {4}), model.input("updates", {1});
    model.whole_numbers("ids", std::string(op) == "ScatterND" ? Shape{1, 1} : Shape{1}, {4});
    model.node(op, {"x", "ids", "updates"}, "y");
    model.output("y");
    const auto graph = imported(model.text());
    ASSERT_FALSE(graph) << op;
    EXPECT_NE(graph.error().text().find("an index outside its input"), std::string::npos);
  }
}

TEST_F(NetworkScatter, PowersOfTwoTensors) {
  Model model;
  model.opset(18);
  model.input("x", {20}), model.input("y", {20});
  model.node("Pow", {"x", "y"}, "z");
  model.output("z");
  agrees(model);
  const float inf = INFINITY, nan = NAN;
  const std::vector<float> x = {2,  2,   9,     -2, -2,    -2,  0, 0,  0,    1,
                                -1, inf, 1e20f, 10, -0.5f, nan, 3, -8, 0.1f, 1};
  const std::vector<float> y = {10,  -1, 0.5f, 3,   2,  0.5f, 2, 0,        -1, nan,
                                101, 2,  2,    -30, -3, 0,    0, 1.0f / 3, 38, inf};
  const auto ours = values(model, {bytes_of(x), bytes_of(y)});
  ASSERT_EQ(ours.size(), x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float right = std::pow(x[i], y[i]);
    const bool same = (std::isnan(right) && std::isnan(ours[i])) || right == ours[i] ||
                      std::fabs(ours[i] - right) <= 1e-5 * std::fabs(right);
    EXPECT_TRUE(same) << x[i] << " to the " << y[i] << " is " << ours[i] << ", not " << right;
  }
}

TEST_F(NetworkScatter, PowersByANumber) {
  for (const float exponent : {1.7f, -2.f, 2.f, 5.f, 0.f}) {
    Model model;
    model.opset(18);
    model.input("x", {3, 5});
    model.numbers("by", {}, exponent);
    model.node("Pow", {"x", "by"}, "z");
    model.output("z");
    SCOPED_TRACE(exponent);
    agrees(model);
  }
}

}  // namespace
}  // namespace fettle::network
