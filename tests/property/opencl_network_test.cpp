// Whole networks as one OpenCL program, with buffers that are used whole: what this machine's
// driver computes equals the reference, by several schedules, for its device and for devices that
// it only plays, such as one that reads through images.
#include <gtest/gtest.h>

#include <cmath>

#include "host/model/graph/node_stages.h"
#include "host/model/passes/fold_batch_norm.h"
#include "host/network/build_network.h"
#include "schemas/wire/codec.h"
#include "tests/property/opencl_cases.h"
#include "tests/support/onnx_model.h"
#include "tests/support/opencl_candidates.h"
#include "tests/support/opencl_run.h"

namespace fettle::testing {
namespace {

using Model = OnnxModel;

// A fire module of SqueezeNet's and a depthwise convolution, joined, pooled and classified; its
// smallest values are of no whole texel.
Model small_network() {
  Model model;
  model.input("x", {1, 4, 13, 13});
  model.weights("w1", {8, 4, 3, 3});
  model.weights("b1", {8});
  model.weights("w2", {8, 1, 3, 3});
  model.weights("w3", {12, 8, 1, 1});
  model.weights("b3", {12});
  model.weights("w4", {10, 20});
  model.weights("b4", {10});
  auto& first = model.node("Conv", {"x", "w1", "b1"}, "c1");
  Model::integers(first, "pads", {1, 1, 1, 1});
  Model::integers(first, "strides", {2, 2});
  model.node("Relu", {"c1"}, "a1");
  auto& second = model.node("Conv", {"a1", "w2"}, "c2");
  Model::integers(second, "pads", {1, 1, 1, 1});
  onnx::AttributeProto& groups = *second.add_attribute();
  groups.set_name("group"), groups.set_type(onnx::AttributeProto::INT), groups.set_i(8);
  model.node("Conv", {"c2", "w3", "b3"}, "c3");
  auto& joined = model.node("Concat", {"c3", "a1"}, "joined");
  onnx::AttributeProto& axis = *joined.add_attribute();
  axis.set_name("axis"), axis.set_type(onnx::AttributeProto::INT), axis.set_i(1);
  model.node("GlobalAveragePool", {"joined"}, "mean");
  model.node("Flatten", {"mean"}, "flat");
  auto& dense = model.node("Gemm", {"flat", "w4", "b4"}, "logits");
  onnx::AttributeProto& transposed = *dense.add_attribute();
  transposed.set_name("transB"), transposed.set_type(onnx::AttributeProto::INT);
  transposed.set_i(1);
  model.node("Softmax", {"logits"}, "y");
  model.output("y");
  model.output("c3");
  return model;
}

class OpenClNetwork : public OnnxNetworkTest {
 protected:
  void SetUp() override {
    if (const std::string why = test::why_no_opencl(); !why.empty()) GTEST_SKIP() << why;
  }

  void agrees(const Model& model) {
    auto device = OpenClRun::open();
    ASSERT_TRUE(device) << device.error().text();
    const auto mine = space::opencl_target_for(device->info(), "opencl_c");
    ASSERT_TRUE(mine) << mine.error().text();
    auto graph = imported(model.text());
    ASSERT_TRUE(graph) << graph.error().text();
    ASSERT_TRUE(model::fold_batch_norms(*graph));
    const auto bindings = model::bind(*graph, model::pieces_of(*graph));
    ASSERT_TRUE(bindings) << bindings.error().text();
    for (std::size_t played = 0; played < 3; ++played) {
      SCOPED_TRACE("target " + std::to_string(played));
      const network::Schedules schedules(property::opencl_targets(*mine)[played].target());
      const auto alternatives = network::compile_pieces(*bindings, schedules, 3, 2, {}, {});
      ASSERT_TRUE(alternatives) << alternatives.error().text();
      const std::size_t most = played == 2 ? 3 : 1;  // a driver takes seconds for a network
      for (std::size_t which = 0; which < most; ++which) {
        SCOPED_TRACE("alternative " + std::to_string(which));
        std::vector<network::BuiltPiece> pieces;
        for (const auto& list : *alternatives) pieces.push_back(list[which % list.size()]);
        const auto linked = network::link(*graph, *bindings, pieces, schedules.target());
        ASSERT_TRUE(linked) << linked.error().text();
        compare(*device, *graph, *linked);
        if (HasFatalFailure()) return;
      }
    }
  }

  // Inputs are drawn, and travel as a request's do.
  void compare(OpenClRun& device, const model::Graph& graph, const network::LinkedNetwork& linked) {
    wire::ProgramT program(*linked.network.program);
    std::vector<model::TensorBytes> given;
    std::uniform_real_distribution<float> draw(-1, 1);
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
      std::vector<float> numbers(static_cast<std::size_t>(graph.type(graph.inputs[i]).elements()));
      for (float& number : numbers) number = draw(random_);
      const auto* begin = reinterpret_cast<const std::uint8_t*>(numbers.data());
      given.push_back(std::make_shared<const Bytes>(begin, begin + numbers.size() * sizeof(float)));
      wire::FillT& fill = *program.buffers[linked.network.inputs[i]->buffer]->fill;
      fill.kind = wire::FillKind::Blob;
      fill.bytes = *given.back();
    }
    const auto checked = decode_program(encode(program));
    ASSERT_TRUE(checked) << checked.error().text();
    for (const auto& launch : checked->launches) {
      for (const wire::Arg& arg : launch->args) {
        texels_ += arg.kind() == wire::ArgKind::TexelsFloat32;
      }
    }
    const auto buffers = device.run(*checked, network::blobs_of(linked));
    ASSERT_TRUE(buffers) << buffers.error().text();
    const auto expected = model::evaluate_graph(graph, given);
    ASSERT_TRUE(expected) << expected.error().text();
    for (std::size_t o = 0; o < expected->size(); ++o) {
      const Bytes& bytes = (*buffers)[linked.network.outputs[o]->buffer];
      ASSERT_EQ(bytes.size(), (*expected)[o]->size());
      const auto* ours = reinterpret_cast<const float*>(bytes.data());
      const auto* right = reinterpret_cast<const float*>((*expected)[o]->data());
      for (std::size_t i = 0; i < bytes.size() / sizeof(float); ++i) {
        ASSERT_NEAR(ours[i], right[i], 1e-4 + 1e-4 * std::fabs(right[i])) << o << " at " << i;
      }
    }
  }

  std::mt19937 random_{5};
  int texels_ = 0;  // arguments that were read through images
};

TEST_F(OpenClNetwork, AResidual) { agrees(residual_network()); }

TEST_F(OpenClNetwork, ImagesJoinedPooledAndClassified) {
  agrees(small_network());
  EXPECT_GT(texels_, 0);
}

// More of them than a request may name, which lie in one buffer.
TEST_F(OpenClNetwork, ManySmallConstants) {
  Model model;
  model.input("x", {1, 16});
  std::string value = "x";
  for (int i = 0; i < 130; ++i) {
    const std::string n = std::to_string(i);
    model.weights("w" + n, {16, 16});
    model.weights("b" + n, {16});
    model.node("Gemm", {value, "w" + n, "b" + n}, "d" + n);
    value = "d" + n;
    if (i % 4 == 3) {
      model.node("Softmax", {value}, "s" + n);  // or the sums would grow
      value = "s" + n;
    }
  }
  model.output(value);
  const auto graph = imported(model.text());
  ASSERT_TRUE(graph) << graph.error().text();
  const auto bindings = model::bind(*graph, model::pieces_of(*graph));
  ASSERT_TRUE(bindings) << bindings.error().text();
  const network::Schedules schedules(property::pocl_target().target());
  const auto alternatives = network::compile_pieces(*bindings, schedules, 1, 2, {}, {});
  ASSERT_TRUE(alternatives) << alternatives.error().text();
  const auto linked = network::link(*graph, *bindings, first_of(*alternatives), schedules.target());
  ASSERT_TRUE(linked) << linked.error().text();
  EXPECT_EQ(linked->blobs.size(), 1u);
  auto device = OpenClRun::open();
  ASSERT_TRUE(device) << device.error().text();
  compare(*device, *graph, *linked);
}

}  // namespace
}  // namespace fettle::testing
