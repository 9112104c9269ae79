// Quantised networks: rounding, networks that are quantised, and the same in integers.
#include <gtest/gtest.h>

#include <cmath>

#include "host/model/graph/builder.h"
#include "host/model/onnx/export.h"
#include "host/model/passes/quantized.h"
#include "tests/support/quantized_network.h"

namespace fettle::model {
namespace {

using nlohmann::json;
using OnnxQuantized = testing::OnnxNetworkTest;
using testing::bytes_of;
using testing::list_of;
using testing::random_numbers;

class Networks : public OnnxQuantized {
 protected:
  Result<Graph> quantized(bool power_of_two) {
    return testing::quantized_network(folder.file("q.onnx"), x, power_of_two);
  }
  static std::map<std::string, int> operators(const Graph& graph) {
    std::map<std::string, int> count;
    for (const Node& node : graph.nodes) ++count[node.op];
    return count;
  }
  struct Difference {
    int largest = 0;
    std::size_t count = 0, all = 0, ends = 0;  // ends: at the ends of int8
  };
  // The integers that the two make, tensor by tensor.
  Difference between(const Graph& a, const Graph& b) {
    const auto of_a = evaluate_graph(a, {x}), of_b = evaluate_graph(b, {x});
    EXPECT_TRUE(of_a) << of_a.error().text();
    EXPECT_TRUE(of_b) << of_b.error().text();
    Difference out;
    if (!of_a || !of_b) return out;
    for (std::size_t i = 0; i < of_a->size(); ++i) {
      const auto p = list_of<std::int8_t>((*of_a)[i]), q = list_of<std::int8_t>((*of_b)[i]);
      EXPECT_EQ(p.size(), q.size());
      for (std::size_t k = 0; k < p.size(); ++k) {
        out.largest = std::max(out.largest, std::abs(p[k] - q[k]));
        out.count += p[k] != q[k];
        out.ends += p[k] == 127 || p[k] == -128;
      }
      out.all += p.size();
    }
    return out;
  }
  TensorBytes x = bytes_of(random_numbers(8 * 144, 5, 2));
};

TEST_F(Networks, IntegersComputeWhatTheFileStates) {
  const auto graph = quantized(false);
  ASSERT_TRUE(graph) << graph.error().text();
  Graph integers = *graph;
  ASSERT_TRUE(compute_in_integers(integers));
  EXPECT_EQ(operators(integers), (std::map<std::string, int>{{"QuantizeLinear", 1},
                                                             {"QLinearConv", 3},
                                                             {"MaxPool", 1},
                                                             {"QLinearAdd", 1},
                                                             {"QLinearGlobalAveragePool", 1},
                                                             {"Flatten", 1},
                                                             {"QLinearMatMul", 1}}))
      << to_text(integers);
  const Difference off = between(*graph, integers);
  EXPECT_EQ(off.count, 0u) << "of " << off.all;
  EXPECT_LT(off.ends, off.all / 50) << "scales fit";
}

// With scales that are powers of two sums are a product's own, and what is shifted differs from
// what is rounded to even in halves only.
TEST_F(Networks, PowersOfTwoAreShifts) {
  const auto graph = quantized(true);
  ASSERT_TRUE(graph) << graph.error().text();
  Graph integers = *graph;
  ASSERT_TRUE(compute_in_integers(integers));
  EXPECT_EQ(operators(integers)["QLinearAdd"], 0) << to_text(integers);
  // A half that a residual is added to is rounded to its own even neighbour, not the sum's.
  const Difference even = between(*graph, integers);
  EXPECT_LE(even.largest, 1);
  EXPECT_LT(even.count, even.all / 100);
  Graph shifted = integers;
  round_halves_up(shifted);
  int shifts = 0, residuals = 0;
  for (const Node& node : shifted.nodes) {
    shifts += node.attributes.contains("shift");
    residuals += node.op == "QLinearConv" && node.inputs.size() == 6;
  }
  EXPECT_EQ(shifts, 4) << to_text(shifted);
  EXPECT_EQ(residuals, 1);
  const Difference up = between(integers, shifted);
  EXPECT_LE(up.largest, 1);
  EXPECT_GT(up.count, 0u) << "there are halves";
  EXPECT_LT(up.count, up.all / 50);
}

// Every sum of one product times 2^-2, by both ways of rounding.
TEST_F(OnnxQuantized, HalvesGoToTheEvenOneOrUp) {
  GraphBuilder builder("halves");
  const ValueId x = builder.input("x", {ir::Scalar::Int8, {256, 1}});
  const std::int8_t three = 3;
  const float quarter = 0.25;
  const ValueId w = builder.constant("w", {ir::Scalar::Int8, {1, 1}}, {std::uint8_t(three)});
  const ValueId factor =
      builder.constant("f", {ir::Scalar::Float32, {}}, *bytes_of(std::vector{quarter}));
  const json attributes = {{"transB", 0},  {"x_zero_point", 0}, {"zero_point", 5},
                           {"to", "int8"}, {"low", -80},        {"high", 90}};
  const auto y = builder.add("QLinearMatMul", attributes, {x, w, factor}, "y");
  ASSERT_TRUE(y) << y.error().text();
  const Graph even = builder.finish({*y});
  Graph up = even;
  round_halves_up(up);
  ASSERT_EQ(up.nodes[0].attributes.at("shift"), 2);
  std::vector<std::int8_t> all;
  for (int i = -128; i < 128; ++i) all.push_back(static_cast<std::int8_t>(i));
  const auto a = evaluate_graph(even, {bytes_of(all)}), b = evaluate_graph(up, {bytes_of(all)});
  ASSERT_TRUE(a && b);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double exact = 3 * all[i] / 4.0;
    const auto held = [](double value) { return int(std::clamp(value + 5, -80.0, 90.0)); };
    EXPECT_EQ(list_of<std::int8_t>((*a)[0])[i], held(std::nearbyint(exact))) << int(all[i]);
    EXPECT_EQ(list_of<std::int8_t>((*b)[0])[i], held(std::floor(exact + 0.5))) << int(all[i]);
  }
}

// A bias that int32 does not hold with the products: the node stays in float32, and what has no
// room for half a step rounds halves to even.
TEST_F(OnnxQuantized, SumsThatWouldTurnTheirSignStayFloat) {
  struct Case {
    float weight_scale, bias;
    int integers, shifts;
  };
  for (const Case& one : {Case{0.25f, 3.f, 1, 1}, Case{1e-9f, 50.f, 0, 0}, Case{1e-9f, -50.f, 0, 0},
                          Case{0x1p-27f, 13.f, 1, 0}}) {
    GraphBuilder builder("bias");
    const auto scalar = [&](const char* name, float number) {
      return builder.constant(name, {ir::Scalar::Float32, {}}, *bytes_of(std::vector{number}));
    };
    const auto dequantize = [&](const std::string& name, ValueId bytes, ValueId scale) {
      return *builder.add("DequantizeLinear", {{"axis", 0}}, {bytes, scale}, name);
    };
    const ValueId x = builder.input("x", {ir::Scalar::Int8, {2, 4}}), unit = scalar("unit", 1);
    const ValueId w =
        builder.constant("w", {ir::Scalar::Int8, {4, 3}}, std::vector<std::uint8_t>(12, 100));
    const ValueId bias =
        builder.constant("b", {ir::Scalar::Float32, {3}},
                         *bytes_of(std::vector<float>{one.bias, one.bias, one.bias}));
    const auto sum = builder.add(
        "Gemm", {{"alpha", 1.0}, {"beta", 1.0}, {"transA", 0}, {"transB", 0}},
        {dequantize("xf", x, unit), dequantize("wf", w, scalar("s", one.weight_scale)), bias}, "g");
    ASSERT_TRUE(sum) << sum.error().text();
    const auto y = builder.add("QuantizeLinear", {{"axis", 0}, {"to", "int8"}}, {*sum, unit}, "y");
    ASSERT_TRUE(y) << y.error().text();
    Graph graph = builder.finish({*y});
    ASSERT_TRUE(compute_in_integers(graph));
    round_halves_up(graph);
    int integers = 0, shifts = 0;
    for (const Node& node : graph.nodes) {
      integers += node.op == "QLinearMatMul";
      shifts += node.attributes.contains("shift");
    }
    EXPECT_EQ(integers, one.integers) << one.weight_scale;
    EXPECT_EQ(shifts, one.shifts) << one.weight_scale;
    const auto made = evaluate_graph(graph, {bytes_of(std::vector<std::int8_t>(8, 1))});
    ASSERT_TRUE(made) << made.error().text();
    const double exact = 400 * double(one.weight_scale) + double(one.bias);
    for (const std::int8_t byte : list_of<std::int8_t>((*made)[0])) {
      EXPECT_EQ(byte, int(std::clamp(std::nearbyint(exact), -128.0, 127.0)));
    }
  }
}

// float32's own quotient is rounded, not the exact one.
TEST_F(OnnxQuantized, QuantizesAsFloat32Does) {
  std::vector<float> numbers = random_numbers(20000, 9, 20);
  const float scale = 0.1f;
  for (int i = 0; i < 400; ++i) {  // next to halves
    float half = static_cast<float>(i - 200 + 0.5) * scale;
    for (int k = 0; k < 5; ++k, half = std::nextafter(half, 100.f)) numbers.push_back(half);
  }
  for (const auto& [type, low] :
       {std::pair{ir::Scalar::Int8, -128}, std::pair{ir::Scalar::UInt8, 0}}) {
    GraphBuilder builder("quantize");
    const auto count = static_cast<std::int64_t>(numbers.size());
    const ValueId x = builder.input("x", {ir::Scalar::Float32, {count}});
    const ValueId s =
        builder.constant("s", {ir::Scalar::Float32, {}}, *bytes_of(std::vector{scale}));
    const ValueId zero = builder.constant("z", {type, {}}, {7});
    const auto y =
        builder.add("QuantizeLinear", {{"axis", 0}, {"to", ir::to_string(ir::DataType{type})}},
                    {x, s, zero}, "y");
    ASSERT_TRUE(y) << y.error().text();
    const auto made = evaluate_graph(builder.finish({*y}), {bytes_of(numbers)});
    ASSERT_TRUE(made) << made.error().text();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const float quotient = numbers[i] / scale;
      const int want = std::clamp(int(std::nearbyint(quotient)) + 7, low, low + 255);
      const std::uint8_t byte = (*(*made)[0])[i];
      ASSERT_EQ(low ? int(static_cast<std::int8_t>(byte)) : int(byte), want) << numbers[i];
    }
  }
}

// Relu and Clip are bounds of what is stored; scales of channels are one factor each.
TEST_F(OnnxQuantized, ActivationsAreBounds) {
  for (const bool relu : {true, false}) {
    GraphBuilder builder("bounds");
    const ValueId x = builder.input("x", {ir::Scalar::UInt8, {64, 4}});
    const auto real = [&](const char* name, const std::vector<float>& list) {
      TensorType type{ir::Scalar::Float32, {}};
      if (list.size() > 1) type.shape = {static_cast<std::int64_t>(list.size())};
      return builder.constant(name, type, *bytes_of(list));
    };
    const ValueId xs = real("xs", {0.0217f}), ws = real("ws", {0.0113f, 0.0307f, 0.00231f});
    const ValueId ys = real("ys", {0.0531f});
    const ValueId xz = builder.constant("xz", {ir::Scalar::UInt8, {}}, {128});
    const ValueId yz = builder.constant("yz", {ir::Scalar::Int8, {}}, {std::uint8_t(-10)});
    std::vector<std::int8_t> weights;
    for (int i = 0; i < 12; ++i) weights.push_back(static_cast<std::int8_t>(37 * i - 100));
    const ValueId w = builder.constant("w", {ir::Scalar::Int8, {4, 3}}, *bytes_of(weights));
    const auto dx = builder.add("DequantizeLinear", {{"axis", 1}}, {x, xs, xz}, "dx");
    const auto dw = builder.add("DequantizeLinear", {{"axis", 1}}, {w, ws}, "dw");
    ASSERT_TRUE(dx && dw);
    auto y = builder.add("MatMul", json::object(), {*dx, *dw}, "product");
    ASSERT_TRUE(y);
    y = relu ? builder.add("Relu", json::object(), {*y}, "a")
             : builder.add("Clip", {{"min", -0.6}, {"max", 1.3}}, {*y}, "a");
    ASSERT_TRUE(y);
    y = builder.add("QuantizeLinear", {{"axis", 1}, {"to", "int8"}}, {*y, ys, yz}, "y");
    ASSERT_TRUE(y) << y.error().text();
    const Graph stated = builder.finish({*y});
    EXPECT_EQ(stated.nodes.size(), 5u) << "weights stay integers: " << to_text(stated);
    Graph integers = stated;
    ASSERT_TRUE(compute_in_integers(integers));
    ASSERT_EQ(integers.nodes.size(), 1u) << to_text(integers);
    EXPECT_EQ(integers.nodes[0].attributes.at("low"), relu ? -10 : -21);
    EXPECT_EQ(integers.nodes[0].attributes.at("high"), relu ? 127 : 14);
    std::vector<std::uint8_t> bytes(256);
    std::mt19937 random(3);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
    const auto a = evaluate_graph(stated, {bytes_of(bytes)});
    const auto b = evaluate_graph(integers, {bytes_of(bytes)});
    ASSERT_TRUE(a && b);
    EXPECT_EQ(*(*a)[0], *(*b)[0]);
  }
}

// What is not known before the network runs stays as it is stated.
TEST_F(OnnxQuantized, ScalesThatAreComputedStayFloat) {
  GraphBuilder builder("computed");
  const ValueId x = builder.input("x", {ir::Scalar::Float32, {8}});
  const ValueId scale = builder.input("scale", {ir::Scalar::Float32, {}});
  const ValueId zero = builder.constant("z", {ir::Scalar::Int8, {}}, {0});
  const auto q =
      builder.add("QuantizeLinear", {{"axis", 0}, {"to", "int8"}}, {x, scale, zero}, "q");
  ASSERT_TRUE(q);
  const auto d = builder.add("DequantizeLinear", {{"axis", 0}}, {*q, scale, zero}, "d");
  ASSERT_TRUE(d);
  const auto r = builder.add("Relu", json::object(), {*d}, "r");
  const auto y =
      builder.add("QuantizeLinear", {{"axis", 0}, {"to", "int8"}}, {*r, scale, zero}, "y");
  ASSERT_TRUE(y);
  Graph graph = builder.finish({*y});
  const std::string before = to_text(graph);
  ASSERT_TRUE(compute_in_integers(graph));
  EXPECT_EQ(to_text(graph), before);
}

TEST_F(OnnxQuantized, WhatIsWrittenIsReadAgain) {
  auto graph = imported(testing::small_network().text());
  ASSERT_TRUE(graph);
  ASSERT_TRUE(fold_batch_norms(*graph));
  ASSERT_TRUE(export_onnx(*graph, folder.file("again.onnx")));
  const auto again = import_onnx(folder.file("again.onnx"));
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(to_text(*again), to_text(*graph));
  Graph other = *graph;
  other.nodes[0].op = "QLinearAdd";
  const auto refused = export_onnx(other, folder.file("other.onnx"));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("QLinearAdd cannot be written"), std::string::npos);
}

}  // namespace
}  // namespace fettle::model
