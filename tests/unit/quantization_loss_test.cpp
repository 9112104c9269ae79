// What quantisation loses: the measure, and where a network that is badly scaled loses it.
#include <gtest/gtest.h>

#include <cmath>

#include "host/model/graph/builder.h"
#include "host/model/graph/constants.h"
#include "host/model/passes/quantization_loss.h"
#include "tests/support/quantized_network.h"

namespace fettle::model {
namespace {

using testing::bytes_of;
using testing::random_numbers;

TEST(QuantizationNoise, IsTheRatioOfPowersInDecibels) {
  Noise noise;
  noise.add(3, 3);
  noise.add(4, 3);
  EXPECT_NEAR(noise.sqnr_db(), 10 * std::log10(25.0 / 1), 1e-12);
  EXPECT_NEAR(noise.sqnr_db(), 13.9794, 1e-4);
  Noise none;
  none.add(2, 2);
  EXPECT_EQ(none.sqnr_db(), HUGE_VAL);
  EXPECT_TRUE(std::isnan(Noise().sqnr_db()));
}

// All by hand: x by a scale of 1, the weights' columns by 1 and 2, y by 512.
TEST(QuantizationLoss, OfAProductIsWhatAHandComputes) {
  GraphBuilder builder("hand");
  const ValueId x = builder.input("x", {ir::Scalar::Float32, {1, 2}});
  const ValueId w = builder.constant("w", {ir::Scalar::Float32, {2, 2}},
                                     *bytes_of(std::vector<float>{127, 127, 0, 254}));
  const auto y = builder.add("MatMul", nlohmann::json::object(), {x, w}, "y");
  ASSERT_TRUE(y) << y.error().text();
  const Graph graph = builder.finish({*y});
  std::vector<double> largest(graph.values.size());
  largest[x] = 127, largest[*y] = 127 * 512;  // scales 1 and 512
  const auto quantized = quantize(graph, largest);
  ASSERT_TRUE(quantized) << quantized.error().text();
  const Observed whole = observe(graph, {});
  const auto other = observe_quantized(*quantized);
  ASSERT_TRUE(other) << other.error().text();
  // x is 10 and 5 in int8, y 1270 and 2550 before it is 2 and 5 times 512.
  const auto loss =
      quantization_loss(whole, *other, {{bytes_of(std::vector<float>{10.25f, 4.75f})}},
                        by_reference(whole.graph), by_reference(other->graph));
  ASSERT_TRUE(loss) << loss.error().text();
  ASSERT_EQ(loss->values.size(), 2u);
  const QuantizedValue &in = loss->values[0], &out = loss->values[1];
  EXPECT_EQ(in.name, "x");
  EXPECT_EQ(in.operators, "");
  EXPECT_EQ(in.scale, 1);
  EXPECT_DOUBLE_EQ(in.all.signal, 10.25 * 10.25 + 4.75 * 4.75);
  EXPECT_DOUBLE_EQ(in.all.noise, 2 * 0.25 * 0.25);
  EXPECT_DOUBLE_EQ(in.rounding.noise, in.all.noise);
  EXPECT_EQ(in.weights.signal, 0);
  EXPECT_EQ(out.operators, "MatMul");
  EXPECT_EQ(out.scale, 512);
  const double y0 = 127 * 10.25, y1 = 127 * 10.25 + 254 * 4.75;
  EXPECT_DOUBLE_EQ(out.all.signal, y0 * y0 + y1 * y1);
  EXPECT_DOUBLE_EQ(out.all.noise, std::pow(y0 - 1024, 2) + std::pow(y1 - 2560, 2));
  EXPECT_DOUBLE_EQ(out.rounding.noise, std::pow(y0 - 1536, 2) + std::pow(y1 - 2560, 2))
      << "1301.75 rounds up, 1270 down";
  EXPECT_EQ(out.weights.noise, 1) << "of the scale 2 of its column 127 is 128";
  EXPECT_EQ(out.weights.signal, 2 * 127 * 127 + 254 * 254);
  EXPECT_EQ(out.elements, 2);
  EXPECT_EQ(out.saturated, 0);
  ASSERT_EQ(loss->outputs.size(), 1u);
  EXPECT_EQ(loss->outputs[0].name, "y");
  EXPECT_DOUBLE_EQ(loss->outputs[0].all.noise, out.all.noise);
}

class SmallNetwork : public testing::OnnxNetworkTest {
 protected:
  void SetUp() override {
    auto read = imported(testing::small_network().text());
    ASSERT_TRUE(read) << read.error().text();
    graph = std::move(*read);
    ASSERT_TRUE(fold_batch_norms(graph));
    const auto measured = largest_magnitudes(graph, samples);
    ASSERT_TRUE(measured) << measured.error().text();
    largest = *measured;
  }
  ValueId id(const std::string& name) const {
    for (ValueId i = 0; i < graph.values.size(); ++i) {
      if (graph.values[i].name == name) return i;
    }
    ADD_FAILURE() << name;
    return 0;
  }
  // By name.
  std::map<std::string, QuantizedValue> losses(const QuantizeOptions& options = {}) {
    std::map<std::string, QuantizedValue> out;
    const auto quantized = quantize(graph, largest, options);
    EXPECT_TRUE(quantized) << quantized.error().text();
    if (!quantized) return out;
    const Observed whole = observe(graph, options);
    const auto other = observe_quantized(*quantized);
    EXPECT_TRUE(other) << other.error().text();
    if (!other) return out;
    const auto loss = quantization_loss(whole, *other, samples, by_reference(whole.graph),
                                        by_reference(other->graph));
    EXPECT_TRUE(loss) << loss.error().text();
    if (!loss) return out;
    for (const QuantizedValue& value : loss->values) out[value.name] = value;
    output_db = loss->outputs.at(0).all.sqnr_db();
    return out;
  }
  Graph graph;
  std::vector<Sample> samples = {{bytes_of(random_numbers(8 * 144, 5, 2))},
                                 {bytes_of(random_numbers(8 * 144, 6, 2))}};
  std::vector<double> largest;
  double output_db = 0;
};

TEST_F(SmallNetwork, WellScaledLosesSevenBitsWorth) {
  for (const bool power_of_two : {false, true}) {
    const auto loss = losses({power_of_two});
    ASSERT_GE(loss.size(), 6u);
    for (const auto& [name, value] : loss) {
      EXPECT_GT(value.rounding.sqnr_db(), 25) << name;
      EXPECT_GT(value.all.sqnr_db(), 20) << name;
      EXPECT_LE(value.saturated_share(), 0.01) << name;
    }
    EXPECT_EQ(loss.at("r1").operators, "Conv Relu");
    EXPECT_GT(loss.at("r1").weights.sqnr_db(), 30);
    EXPECT_GT(output_db, 20);
  }
  EXPECT_EQ(losses().at("r2").operators, "Add Relu");
  EXPECT_EQ(losses({true}).at("r2").operators.find("Conv"), 0u) << "a product's own sum";
}

// A scale 64 times too large leaves a bit or so; what is before it stays as it was.
TEST_F(SmallNetwork, ABadlyScaledLayerShows) {
  const auto well = losses();
  const double output = output_db;
  for (const char* name : {"c3", "p1", "r1"}) ASSERT_TRUE(well.contains(name)) << name;
  largest[id("c3")] *= 64;
  const auto badly = losses();
  for (const auto& [name, value] : badly) {
    if (name == "c3") continue;
    EXPECT_EQ(value.rounding.sqnr_db(), well.at(name).rounding.sqnr_db()) << name;
    EXPECT_GT(value.rounding.sqnr_db(), badly.at("c3").rounding.sqnr_db() + 20) << name;
  }
  EXPECT_LT(badly.at("c3").rounding.sqnr_db(), 12);
  EXPECT_EQ(badly.at("c3").weights.sqnr_db(), well.at("c3").weights.sqnr_db());
  EXPECT_EQ(badly.at("p1").all.sqnr_db(), well.at("p1").all.sqnr_db());
  EXPECT_LT(badly.at("r2").all.sqnr_db(), well.at("r2").all.sqnr_db() - 10) << "behind it";
  EXPECT_LT(output_db, output - 5);
}

TEST_F(SmallNetwork, ATooSmallScaleSaturates) {
  largest[id("c3")] /= 16;
  const auto loss = losses();
  EXPECT_GT(loss.at("c3").saturated_share(), 0.3);
  EXPECT_LT(loss.at("p1").saturated_share(), 0.01);
}

TEST_F(SmallNetwork, WhatIsNotFiniteHasNoScale) {
  std::vector<float> numbers = random_numbers(8 * 144, 5, 2);
  numbers[17] = std::nanf("");
  const auto measured = largest_magnitudes(graph, {{bytes_of(numbers)}});
  ASSERT_TRUE(measured) << measured.error().text();
  const auto quantized = quantize(graph, *measured);
  ASSERT_FALSE(quantized);
  EXPECT_NE(quantized.error().text().find("not finite"), std::string::npos);
}

TEST_F(SmallNetwork, StopsWhenAsked) {
  std::stop_source stop;
  stop.request_stop();
  const Observed whole = observe(graph, {});
  const auto measured =
      largest_magnitudes(whole.graph, samples, by_reference(whole.graph, stop.get_token()));
  ASSERT_FALSE(measured);
  EXPECT_EQ(measured.error().code, ErrorCode::Canceled);
}

// Channels that training has left without weights are common; what they add is their bias.
TEST(QuantizeWeights, AChannelOfNextToNoWeightsKeepsItsBias) {
  GraphBuilder builder("dead");
  const ValueId x = builder.input("x", {ir::Scalar::Float32, {1, 2}});
  const ValueId w = builder.constant("w", {ir::Scalar::Float32, {3, 2}},
                                     *bytes_of(std::vector<float>{0, 0, 1e-12f, 0, 1, -1}));
  const ValueId b = builder.constant("b", {ir::Scalar::Float32, {3}},
                                     *bytes_of(std::vector<float>{0.3f, -0.2f, 0.1f}));
  const nlohmann::json attributes = {{"transA", 0}, {"transB", 1}, {"alpha", 1.0}, {"beta", 1.0}};
  const auto y = builder.add("Gemm", attributes, {x, w, b}, "y");
  ASSERT_TRUE(y) << y.error().text();
  const Graph graph = builder.finish({*y});
  const Sample sample = {bytes_of(std::vector<float>{100, 50})};
  const auto largest = largest_magnitudes(graph, {sample});
  ASSERT_TRUE(largest);
  const auto quantized = quantize(graph, *largest);
  ASSERT_TRUE(quantized) << quantized.error().text();
  Graph bare = *quantized;  // the sum before it is rounded
  for (const Node& node : bare.nodes) {
    if (node.op == "Gemm") bare.outputs = node.outputs;
  }
  const auto made = evaluate_graph(bare, sample);
  ASSERT_TRUE(made) << made.error().text();
  const auto list = testing::list_of<float>((*made)[0]);
  EXPECT_NEAR(list[0], 0.3, 1e-6);
  EXPECT_NEAR(list[1], -0.2, 1e-6);
  EXPECT_NEAR(list[2], 50.1, 0.5);
}

}  // namespace
}  // namespace fettle::model
