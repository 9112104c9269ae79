// Networks compiled into one program answer as the reference does, whatever they are made of.
#include <gtest/gtest.h>

#include "host/network/program_facts.h"
#include "host/space/gpu_target.h"
#include "schemas/wire/codec.h"
#include "tests/support/network_agrees.h"

namespace fettle::network {
namespace {

using Model = testing::OnnxModel;

class NetworkBuild : public testing::NetworkAgrees {};

TEST_F(NetworkBuild, ConvolutionsWithNormsAndAResidual) {
  agrees(testing::residual_network());
  EXPECT_EQ(titles().front(), "transpose 8x36 by 1x0") << "the image's channels go last once";
  EXPECT_EQ(titles().back(), "transpose 36x8 by 1x0") << "and back";
  EXPECT_EQ(titles().size(), 5u);
  EXPECT_LE(network.arena_bytes, network.live_bytes + network.live_bytes / 10);
}

TEST_F(NetworkBuild, ImagesJoinedPooledAndClassified) {
  Model model;
  model.input("x", {1, 3, 16, 16});
  model.weights("w1", {8, 3, 3, 3});
  model.weights("b1", {8});
  model.weights("w2", {8, 1, 3, 3});
  model.weights("w3", {12, 8, 1, 1});
  model.weights("w4", {10, 20});
  model.weights("b4", {10});
  auto& first = model.node("Conv", {"x", "w1", "b1"}, "c1");
  Model::integers(first, "pads", {1, 1, 1, 1});
  Model::integers(first, "strides", {2, 2});
  model.node("Elu", {"c1"}, "a1");  // no tail: stated, on channels last
  auto& second = model.node("Conv", {"a1", "w2"}, "c2");
  Model::integers(second, "pads", {1, 1, 1, 1});
  onnx::AttributeProto& groups = *second.add_attribute();
  groups.set_name("group"), groups.set_type(onnx::AttributeProto::INT), groups.set_i(8);
  model.node("Conv", {"c2", "w3"}, "c3");
  model.node("Concat", {"c3", "a1"}, "joined");
  onnx::AttributeProto& axis = *model.proto().mutable_graph()->mutable_node(4)->add_attribute();
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
  agrees(model);
}

// As YOLO, EfficientNet and MobileNetV3 have them: a convolution and what follows are one kernel.
TEST_F(NetworkBuild, ActivationsThatAreWrittenOutEndConvolutions) {
  Model model;
  model.input("x", {1, 8, 6, 6});
  for (const char* name : {"w1", "w2", "w3"}) model.weights(name, {8, 8, 1, 1}, -0.3F);
  model.node("Conv", {"x", "w1"}, "c1");
  model.node("Sigmoid", {"c1"}, "gate1");
  model.node("Mul", {"c1", "gate1"}, "a1");
  model.node("Conv", {"a1", "w2"}, "c2");
  Model::number(model.node("LeakyRelu", {"c2"}, "a2"), "alpha", 0.1F);
  model.node("Conv", {"a2", "w3"}, "c3");
  Model::number(model.node("HardSigmoid", {"c3"}, "gate3"), "alpha", 1 / 6.0F);
  model.node("Mul", {"gate3", "c3"}, "y");
  model.output("y");
  agrees(model);
  const std::string layer = "conv2d 6x6x8→8 k1 s1 ";
  EXPECT_EQ(titles(), (std::vector<std::string>{"transpose 8x36 by 1x0", layer + "+swish",
                                                layer + "+leaky_relu 0.1", layer + "+hard_swish",
                                                "transpose 36x8 by 1x0"}));
}

TEST_F(NetworkBuild, TranspositionsAreLayoutsUntilSomeoneMinds) {
  Model model;
  model.input("x", {2, 6, 4, 5});
  Model::integers(model.node("Transpose", {"x"}, "a"), "perm", {0, 2, 3, 1});
  Model::integers(model.node("Transpose", {"a"}, "b"), "perm", {0, 3, 1, 2});
  model.node("Relu", {"b"}, "y");
  model.output("y");
  agrees(model);
  EXPECT_EQ(titles(), std::vector<std::string>{"Relu float32 2x6x4x5"});
}

TEST_F(NetworkBuild, HeadsOfAttention) {
  Model model;
  model.input("x", {1, 6, 16});
  for (const char* part : {"q", "k", "v"}) {
    const std::string p = part;
    model.weights("w" + p, {16, 16});
    model.node("MatMul", {"x", "w" + p}, p);
    auto& shape = *model.proto().mutable_graph()->add_initializer();
    shape.set_name("shape" + p), shape.set_data_type(onnx::TensorProto::INT64), shape.add_dims(4);
    for (const int extent : {1, 6, 4, 4}) shape.add_int64_data(extent);
    model.node("Reshape", {p, "shape" + p}, p + "r");
    std::vector<std::int64_t> order{0, 2, 1, 3};
    if (p == "k") order = {0, 2, 3, 1};
    Model::integers(model.node("Transpose", {p + "r"}, p + "t"), "perm", order);
  }
  model.node("MatMul", {"qt", "kt"}, "scores");
  model.node("Softmax", {"scores"}, "weights");
  model.node("MatMul", {"weights", "vt"}, "mixed");
  Model::integers(model.node("Transpose", {"mixed"}, "y"), "perm", {0, 2, 1, 3});
  model.output("y");
  agrees(model);
}

TEST_F(NetworkBuild, OutputsThatAreInputsConstantsOrTwice) {
  Model model;
  model.input("x", {3, 4});
  model.weights("c", {2});
  model.node("Identity", {"x"}, "same");
  model.node("Relu", {"x"}, "y");
  model.node("Identity", {"y"}, "z");
  for (const char* output : {"same", "y", "z", "c"}) model.output(output);
  agrees(model);
}

TEST_F(NetworkBuild, NamesWhatCannotBeCompiled) {
  Model model;
  model.input("x", {1, 8});
  model.of_type(onnx::TensorProto::DOUBLE);
  model.node("Floor", {"x"}, "whole");
  Model::integer(model.node("Cast", {"whole"}, "y"), "to", onnx::TensorProto::FLOAT);
  model.output("y");
  const auto graph = imported(model.text());
  ASSERT_TRUE(graph) << graph.error().text();
  const Schedules schedules(testing::native_target().target());
  const auto bindings = model::bind(*graph, model::pieces_of(*graph));
  ASSERT_TRUE(bindings) << bindings.error().text();
  const auto compiled = compile_pieces(*bindings, schedules, 1, 1, {}, {});
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.error().code, ErrorCode::Unsupported);
  EXPECT_NE(compiled.error().message.find("Floor (whole)"), std::string::npos);
  EXPECT_NE(compiled.error().message.find("Cast (y)"), std::string::npos);
}

// A kernel may read by texels what no other of its arguments is: of what a piece reads twice no
// alternative does, and each can be linked.
TEST_F(NetworkBuild, WhatIsReadTwiceIsNotReadByTexels) {
  space::GpuTarget target;
  target.backend = "opencl_c", target.vector_width = 4, target.shared_is_global = true;
  target.warp = 4, target.threads_per_block = 256, target.shared_bytes = 32 << 10;
  target.registers_per_thread = 128, target.image_texels = 63488;
  const Schedules schedules(target.target());
  for (const bool twice : {false, true}) {
    Model model;
    model.input("a", {16, 16});
    model.node("Relu", {"a"}, "x");
    model.node("Sigmoid", {"a"}, "other");
    model.node("MatMul", {"x", twice ? "x" : "other"}, "y");
    model.output("y");
    const auto graph = imported(model.text());
    ASSERT_TRUE(graph) << graph.error().text();
    const auto bindings = model::bind(*graph, model::pieces_of(*graph));
    ASSERT_TRUE(bindings) << bindings.error().text();
    const auto alternatives = compile_pieces(*bindings, schedules, 12, 1, {}, {});
    ASSERT_TRUE(alternatives) << alternatives.error().text();
    std::size_t product = 0, by_texels = 0;
    while (bindings->pieces[product].inputs.size() < 2) ++product;
    std::vector<BuiltPiece> pieces = first_of(*alternatives);
    for (const BuiltPiece& one : alternatives->at(product)) {
      by_texels += reads_texels(*one.program);
      pieces[product] = one;
      const auto linked = link(*graph, *bindings, pieces, schedules.target());
      ASSERT_TRUE(linked) << linked.error().text();
      const auto sound = check_program(*linked->network.program);
      EXPECT_TRUE(sound) << sound.error().text();
    }
    EXPECT_EQ(by_texels > 0, !twice) << alternatives->at(product).size();
  }
}

TEST_F(NetworkBuild, EachLayerGetsWhatIsFastestWhereItStands) {
  const auto graph = imported(testing::residual_network().text());
  ASSERT_TRUE(graph) << graph.error().text();
  const auto bindings = model::bind(*graph, model::pieces_of(*graph));
  ASSERT_TRUE(bindings) << bindings.error().text();
  const Schedules schedules(testing::native_target().target());
  const auto alternatives = compile_pieces(*bindings, schedules, 3, 2, {}, {});
  ASSERT_TRUE(alternatives) << alternatives.error().text();
  // Layer p is fastest by its alternative p % 3; the timer sees each network once, and what
  // was chosen.
  std::size_t round = 0;
  const auto chosen =
      fastest_in_place(*graph, *bindings, *alternatives, schedules.target(),
                       [&](const LinkedNetwork& linked) -> Result<std::vector<double>> {
                         std::vector<double> times;
                         for (std::size_t p = 0; p < linked.network.layers.size(); ++p) {
                           times.push_back(round == 3       ? 110
                                           : round == p % 3 ? 100
                                                            : 200 + static_cast<double>(round));
                         }
                         ++round;
                         return times;
                       });
  ASSERT_TRUE(chosen) << chosen.error().text();
  EXPECT_EQ(round, 4u);
  for (std::size_t p = 0; p < chosen->size(); ++p) {
    const auto& list = (*alternatives)[p];
    EXPECT_EQ((*chosen)[p].configuration, list[(p % 3) % list.size()].configuration) << p;
    EXPECT_EQ((*chosen)[p].schedule.expected_ns, 110) << "timed once more";
  }
  const auto failed = fastest_in_place(*graph, *bindings, *alternatives, schedules.target(),
                                       [](const LinkedNetwork&) -> Result<std::vector<double>> {
                                         return Error{ErrorCode::DeviceLost, "gone"};
                                       });
  EXPECT_EQ(failed.error().code, ErrorCode::DeviceLost);
}

TEST_F(NetworkBuild, AnInterruptEndsLinkingToo) {
  const auto graph = imported(testing::residual_network().text());
  ASSERT_TRUE(graph) << graph.error().text();
  const auto bindings = model::bind(*graph, model::pieces_of(*graph));
  ASSERT_TRUE(bindings) << bindings.error().text();
  const Schedules schedules(testing::native_target().target());
  const auto alternatives = compile_pieces(*bindings, schedules, 1, 2, {}, {});
  ASSERT_TRUE(alternatives) << alternatives.error().text();
  std::stop_source stop;
  const auto linked = [&] {
    return link(*graph, *bindings, first_of(*alternatives), schedules.target(), stop.get_token());
  };
  EXPECT_TRUE(linked()) << linked().error().text();
  stop.request_stop();
  ASSERT_FALSE(linked());
  EXPECT_EQ(linked().error().code, ErrorCode::Canceled);
  int timed = 0;
  const auto chosen = fastest_in_place(
      *graph, *bindings, *alternatives, schedules.target(),
      [&](const LinkedNetwork&) -> Result<std::vector<double>> {
        ++timed;
        return std::vector<double>(bindings->pieces.size(), 1);
      },
      stop.get_token());
  ASSERT_FALSE(chosen);
  EXPECT_EQ(chosen.error().code, ErrorCode::Canceled);
  EXPECT_EQ(timed, 0);
}

}  // namespace
}  // namespace fettle::network
