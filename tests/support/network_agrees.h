// Networks compiled into one program and held to the reference, whatever they are made of.
#pragma once

#include <gtest/gtest.h>

#include <cmath>

#include "host/model/graph/node_stages.h"
#include "host/model/passes/passes.h"
#include "host/network/build_network.h"
#include "tests/support/native_run.h"
#include "tests/support/network_run.h"
#include "tests/support/onnx_model.h"

namespace fettle::testing {

// Inputs are float32, or int64 from -9 to 9.
// Imports, compiles without any record, runs and compares. The graph's own reference is compared
// with: what the import makes of a file is others' to test. Errors: the file asks for what is not
// done here.
class NetworkAgrees : public OnnxNetworkTest {
 protected:
  Result<void> compare(const OnnxModel& model) {
    auto graph = imported(model.text());
    if (!graph) return std::move(graph).error();
    if (auto passed = model::run_passes(*graph); !passed) return std::move(passed).error();
    const network::Schedules schedules(native_target().target());
    const auto bindings = model::bind(*graph, model::pieces_of(*graph));
    if (!bindings) return bindings.error();
    const auto alternatives = network::compile_pieces(*bindings, schedules, 1, 2, {}, {});
    if (!alternatives) return alternatives.error();
    const auto linked =
        network::link(*graph, *bindings, network::first_of(*alternatives), schedules.target());
    if (!linked) return linked.error();
    network = linked->network;
    EXPECT_EQ(network.threads, static_cast<std::uint32_t>(schedules.target().threads()));
    std::vector<model::TensorBytes> given;
    TensorBytesList inputs;
    std::mt19937 random(5);
    std::uniform_real_distribution<float> draw(-1, 1);
    for (const model::ValueId input : graph->inputs) {
      std::vector<std::uint8_t> bytes;
      const auto append = [&](auto number) {
        const auto* begin = reinterpret_cast<const std::uint8_t*>(&number);
        bytes.insert(bytes.end(), begin, begin + sizeof number);
      };
      const bool whole = graph->type(input).scalar == ir::Scalar::Int64;
      for (std::int64_t i = 0; i < graph->type(input).elements(); ++i) {
        const float number = draw(random);
        if (whole) {
          append(static_cast<std::int64_t>(number * 9));
        } else {
          append(number);
        }
      }
      inputs.push_back(bytes);
      given.push_back(std::make_shared<const std::vector<std::uint8_t>>(std::move(bytes)));
    }
    const auto outputs = run_network(*linked, inputs);
    if (!outputs) return outputs.error();
    const auto expected = model::evaluate_graph(*graph, given);
    if (!expected) return expected.error();
    std::vector<ir::Scalar> types;
    for (const model::ValueId output : graph->outputs) types.push_back(graph->type(output).scalar);
    check(*outputs, *expected, types);
    return {};
  }
  // As compare(), where nothing may be refused.
  void agrees(const OnnxModel& model) {
    const auto compared = compare(model);
    EXPECT_TRUE(compared) << compared.error().text();
  }
  std::vector<std::string> titles() const {
    std::vector<std::string> out;
    for (const auto& layer : network.layers) out.push_back(layer->title);
    return out;
  }
  wire::NetworkT network;

 private:
  static void check(const TensorBytesList& outputs, const std::vector<model::TensorBytes>& expected,
                    const std::vector<ir::Scalar>& types) {
    ASSERT_EQ(outputs.size(), expected.size());
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      ASSERT_EQ(outputs[o].size(), expected[o]->size());
      if (types[o] != ir::Scalar::Float32) {
        ASSERT_EQ(outputs[o], *expected[o]) << o;
        continue;
      }
      const auto* ours = reinterpret_cast<const float*>(outputs[o].data());
      const auto* right = reinterpret_cast<const float*>(expected[o]->data());
      for (std::size_t i = 0; i < outputs[o].size() / sizeof(float); ++i) {
        ASSERT_EQ(std::isnan(ours[i]), std::isnan(right[i])) << o << " at " << i;
        if (std::isnan(right[i])) continue;
        ASSERT_NEAR(ours[i], right[i], 1e-4 + 1e-4 * std::fabs(right[i])) << o << " at " << i;
      }
    }
  }
};

}  // namespace fettle::testing
