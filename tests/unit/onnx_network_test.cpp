// Networks from ONNX files: what is read, batch norms that are folded, and pieces.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "host/model/graph/node_stages.h"
#include "host/model/passes/fold_batch_norm.h"
#include "host/model/pieces/onnx_tasks.h"
#include "host/model/pieces/pieces.h"
#include "host/model/zoo/zoo.h"
#include "tests/support/onnx_model.h"

namespace fettle::model {
namespace {

using Model = testing::OnnxModel;
using OnnxNetwork = testing::OnnxNetworkTest;
using testing::residual_network;

TEST_F(OnnxNetwork, FoldedBatchNormsChangeNothing) {
  auto graph = imported(residual_network().text());
  ASSERT_TRUE(graph) << graph.error().text();
  std::vector<float> numbers(8 * 36);
  std::mt19937 random(3);
  std::uniform_real_distribution<float> draw(-1, 1);
  for (float& number : numbers) number = draw(random);
  const auto* begin = reinterpret_cast<const std::uint8_t*>(numbers.data());
  const auto x =
      std::make_shared<const std::vector<std::uint8_t>>(begin, begin + numbers.size() * 4);
  const auto before = evaluate_graph(*graph, {x});
  ASSERT_TRUE(before) << before.error().text();
  const std::size_t nodes = graph->nodes.size();
  ASSERT_TRUE(fold_batch_norms(*graph));
  EXPECT_EQ(graph->nodes.size(), nodes - 2 + 1) << to_text(*graph);
  for (const Node& node : graph->nodes) EXPECT_NE(node.op, "BatchNormalization");
  const auto after = evaluate_graph(*graph, {x});
  ASSERT_TRUE(after) << after.error().text();
  const auto* a = reinterpret_cast<const float*>((*before)[0]->data());
  const auto* b = reinterpret_cast<const float*>((*after)[0]->data());
  for (std::size_t i = 0; i < numbers.size(); ++i) EXPECT_NEAR(a[i], b[i], 2e-5) << i;
}

// Also where a node becomes several of ours, and where a name looks like one that is made up.
TEST_F(OnnxNetwork, OutputsKeepTheirNames) {
  Model model;
  model.opset(11);
  model.input("x", {2, 3, 4, 4});
  auto& split = model.node("Split", {"x"}, "y");
  split.add_output("z");
  Model::integer(split, "axis", 0);
  model.node("Neg", {"x"}, "y_1");
  Model::integer(model.node("Softmax", {"x"}, "s"), "axis", 1);
  model.node("Identity", {"x"}, "same");
  for (const char* name : {"y", "z", "y_1", "s", "same"}) model.output(name);
  const auto graph = imported(model.text());
  ASSERT_TRUE(graph) << graph.error().text();
  std::vector<std::string> names;
  for (const ValueId id : graph->outputs) names.push_back(graph->values[id].name);
  EXPECT_EQ(names, (std::vector<std::string>{"y", "z", "y_1", "s", "same"}));
  std::set<std::string> all;
  for (const Value& value : graph->values) EXPECT_TRUE(all.insert(value.name).second) << value.name;
}

TEST_F(OnnxNetwork, PiecesAreOperatorsWithTheirTails) {
  auto graph = imported(residual_network().text());
  ASSERT_TRUE(graph) << graph.error().text();
  ASSERT_TRUE(fold_batch_norms(*graph));
  const Pieces cut = pieces_of(*graph);
  EXPECT_TRUE(cut.untuned.empty());
  std::vector<std::string> titles;
  for (const Piece& piece : cut.pieces) titles.push_back(piece.workload.title());
  EXPECT_EQ(titles, (std::vector<std::string>{"conv2d 6x6x8→8 k3 s1 +bias+relu",
                                              "conv2d 6x6x8→8 k1 s1 +bias+add+relu+multiply",
                                              "elementwise add 1x6x6x8 by 1x1x1x8"}));
  std::vector<std::size_t> nodes;
  for (const Piece& piece : cut.pieces)
    nodes.insert(nodes.end(), piece.nodes.begin(), piece.nodes.end());
  std::sort(nodes.begin(), nodes.end());
  EXPECT_EQ(nodes.size(), graph->nodes.size()) << "each node in one piece";
  EXPECT_EQ(std::unique(nodes.begin(), nodes.end()), nodes.end());
}

// A constant along the width is no constant per channel, though both are 6.
TEST_F(OnnxNetwork, AConstantAlongAnotherAxisIsNoBias) {
  for (const auto& [shape, fused] : {std::pair<std::vector<std::int64_t>, bool>{{6, 1, 1}, true},
                                     std::pair<std::vector<std::int64_t>, bool>{{6}, false}}) {
    Model model;
    model.input("x", {1, 6, 6, 6});
    model.weights("c", shape);
    Model::integers(model.node("MaxPool", {"x"}, "p"), "kernel_shape", {1, 1});
    model.node("Add", {"p", "c"}, "y");
    model.output("y");
    const auto graph = imported(model.text());
    ASSERT_TRUE(graph) << graph.error().text();
    EXPECT_EQ(pieces_of(*graph).pieces.size(), fused ? 1u : 2u);
  }
}

TEST_F(OnnxNetwork, WhatNoWorkloadStatesIsNamedAndTheRestIsTuned) {
  Model model;
  model.input("x", {1, 8});
  model.weights("w", {8, 4});
  model.node("MatMul", {"x", "w"}, "product");
  model.input("d", {1, 4});
  model.of_type(onnx::TensorProto::DOUBLE);
  model.node("Floor", {"d"}, "whole");
  Model::integer(model.node("Cast", {"whole"}, "y"), "to", onnx::TensorProto::FLOAT);
  model.output("product");
  model.output("y");
  std::ofstream(folder.file("model.onnx"), std::ios::binary) << model.text();
  const auto list = load_onnx_tasks(folder.file("model.onnx"), {});
  ASSERT_TRUE(list) << list.error().text();
  ASSERT_EQ(list->tasks.size(), 1u);
  EXPECT_EQ(list->tasks[0].workload.title(), "dense 8→4");
  ASSERT_EQ(list->skipped.size(), 2u);
  EXPECT_EQ(list->skipped[0].title, "Floor (whole)");
}

// The zoo's networks hold the tasks that the project's own data say.
TEST_F(OnnxNetwork, TheZoosTasksAreTheProjects) {
  for (const auto& [ours, known] :
       {std::pair{"resnet-18", "resnet-18"}, std::pair{"mobilenet-v1", "mobilenet"}}) {
    const std::string path = folder.file("zoo.onnx");
    ASSERT_TRUE(write_zoo_network(*find_in_zoo(ours), 1, path));
    const auto tasks = load_onnx_tasks(path, {});
    const auto data = load_network(known);
    ASSERT_TRUE(tasks) << tasks.error().text();
    ASSERT_TRUE(data);
    std::map<std::string, double> a, b;
    for (const space::Task& task : tasks->tasks) a[task.workload.canonical()] = task.weight;
    for (const space::Task& task : data->tasks) b[task.workload.canonical()] = task.weight;
    EXPECT_EQ(a, b) << ours;
  }
}

TEST_F(OnnxNetwork, TheZooIsTheSameForOneSeedAndAllOfItHasTasks) {
  for (const ZooNetwork& network : zoo()) {
    const std::string name = network.name;
    if (name == "vgg-16" || name == "bert-base") continue;  // hundreds of megabytes
    const std::string path = folder.file(name);
    ASSERT_TRUE(write_zoo_network(network, 3, path + ".onnx"));
    const auto tasks = load_onnx_tasks(path + ".onnx", {});
    ASSERT_TRUE(tasks) << name << ": " << tasks.error().text();
    EXPECT_GT(tasks->tasks.size(), 10u);
    if (name != "squeezenet-1.1") continue;
    for (const auto& [seed, same] : {std::pair{3, true}, std::pair{4, false}}) {
      ASSERT_TRUE(write_zoo_network(network, static_cast<std::uint64_t>(seed), path + ".again"));
      const auto read = [](const std::string& file) {
        std::ifstream stream(file, std::ios::binary);
        return std::string(std::istreambuf_iterator<char>(stream), {});
      };
      EXPECT_EQ(read(path + ".onnx") == read(path + ".again"), same);
    }
  }
}

TEST_F(OnnxNetwork, NamesAllOperatorsThatItDoesNotKnow) {
  Model model;
  model.input("x", {4});
  model.node("MaxUnpool", {"x"}, "a").set_name("first");
  model.node("NonZero", {"a"}, "b");
  model.node("MaxUnpool", {"b"}, "c");
  model.node("Relu", {"c"}, "d").set_domain("com.others");
  model.output("d");
  const auto graph = imported(model.text());
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().code, ErrorCode::Unsupported);
  EXPECT_NE(graph.error().message.find(
                "not known here: MaxUnpool (node 'first'), NonZero (the node that makes 'b'), "
                "com.others.Relu (the node that makes 'd')"),
            std::string::npos)
      << graph.error().message;
}

TEST_F(OnnxNetwork, AsksForExtentsThatAreOpen) {
  Model model;
  model.input("x", {-1, 4});
  model.node("Relu", {"x"}, "y");
  model.output("y");
  const auto open = imported(model.text());
  ASSERT_FALSE(open);
  EXPECT_NE(open.error().message.find("leaves extents open: 'batch' of its input 'x'; give them: "
                                      "--extent batch=..."),
            std::string::npos)
      << open.error().message;
  const auto graph = imported(model.text(), {{{"batch", 3}}, {}});
  ASSERT_TRUE(graph) << graph.error().text();
  EXPECT_EQ(to_string(graph->type(graph->outputs[0])), "float32 3x4");
  model.proto()
      .mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->clear_dim_param();
  const auto nameless = imported(model.text());
  ASSERT_FALSE(nameless);
  EXPECT_NE(nameless.error().message.find("--extent x.0="), std::string::npos);
  EXPECT_TRUE(imported(model.text(), {{{"x.0", 2}}, {}}));
}

TEST_F(OnnxNetwork, AllExtentsThatAreOpenAreNamedAndNoOtherIsTaken) {
  Model model;
  model.input("x", {1, 4});
  model.input("z", {1, 4});
  model.node("Add", {"x", "z"}, "y");
  model.output("y");
  const auto dim = [&](int input, int axis) {
    return model.proto()
        .mutable_graph()
        ->mutable_input(input)
        ->mutable_type()
        ->mutable_tensor_type()
        ->mutable_shape()
        ->mutable_dim(axis);
  };
  dim(0, 0)->set_dim_param("N");
  dim(0, 1)->set_dim_param("W");
  dim(1, 0)->set_dim_param("N");
  dim(1, 1)->set_dim_param("V");
  const auto told = [&](std::map<std::string, std::int64_t> extents) {
    const auto graph = imported(model.text(), {std::move(extents), {}});
    return graph ? "" : graph.error().message;
  };
  const auto says = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  says(told({{"W", 4}}),
       "'N' of its input 'x', 'V' of its input 'z'; give them: --extent N=... "
       "--extent V=...");
  EXPECT_EQ(told({{"N", 2}, {"W", 4}, {"V", 4}}), "");
  says(told({{"N", 2}, {"W", 4}, {"V", 4}, {"H", 4}}),
       "--extent H: no extent of that name is open; those are: N, V, W");
  dim(1, 1)->set_dim_value(0);
  says(told({{"N", 2}, {"W", 4}}), "its input 'z' holds nothing: its extent at axis 1 is 0");
}

TEST_F(OnnxNetwork, NamesAllThatOperatorsAreAskedAndDoNotDo) {
  Model model;
  model.input("x", {1, 2, 4, 4});
  model.weights("scales", {4});
  const auto word = [](onnx::NodeProto& node, const char* name, const char* value) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name), attribute.set_type(onnx::AttributeProto::STRING);
    attribute.set_s(value);
  };
  auto& sharp = model.node("Resize", {"x", "", "scales"}, "a");
  sharp.set_name("up"), word(sharp, "mode", "sharp");
  model.node("Relu", {"a"}, "b");
  auto& tanh = model.node("Gelu", {"x"}, "c");
  word(tanh, "approximate", "rough");
  model.node("MaxUnpool", {"b"}, "d");
  model.output("d");
  const auto graph = imported(model.text());
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().code, ErrorCode::Unsupported);
  EXPECT_NE(
      graph.error().message.find(
          "has operators that are not known here: MaxUnpool (the node that makes 'd'); it asks "
          "for what is not done here: Gelu (the node that makes 'c'): its approximation 'rough'; "
          "Resize (node 'up'): the mode 'sharp'"),
      std::string::npos)
      << graph.error().message;
}

TEST_F(OnnxNetwork, ATypeThatIsNotComputedIsToldWithFileAndNode) {
  Model model;
  model.input("x", {4});
  model.node("Relu", {"x"}, "y");
  model.output("y");
  for (auto* info : {model.proto().mutable_graph()->mutable_input(0),
                     model.proto().mutable_graph()->mutable_output(0)}) {
    info->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::DOUBLE);
  }
  const std::string path = folder.file("double.onnx");
  std::ofstream(path, std::ios::binary) << model.text();
  const auto tasks = load_onnx_tasks(path, {});
  ASSERT_FALSE(tasks);
  EXPECT_EQ(tasks.error().message.find(path + ": "), 0u) << tasks.error().message;
  EXPECT_NE(tasks.error().message.find("Relu (y): "), std::string::npos) << tasks.error().message;
}

TEST_F(OnnxNetwork, ANewerOpsetIsWarnedOf) {
  Model model;
  model.input("x", {4});
  model.node("Relu", {"x"}, "y");
  model.output("y");
  std::string told;
  const auto warned = [&](std::int64_t opset) {
    told.clear();
    model.proto().mutable_opset_import(0)->set_version(opset);
    OnnxOptions options;
    options.warn = [&](const std::string& line) { told = line; };
    EXPECT_TRUE(imported(model.text(), options));
    return told;
  };
  EXPECT_EQ(warned(17), "");
  EXPECT_NE(warned(99).find("is of opset 99, newer than any that is known here"),
            std::string::npos);
}

TEST_F(OnnxNetwork, RefusesWhatIsNoModel) {
  EXPECT_EQ(import_onnx(folder.file("none.onnx")).error().code, ErrorCode::NotFound);
  const std::string text = residual_network().text();
  for (const std::size_t length : {text.size() - 3, text.size() / 2, std::size_t{9}}) {
    const auto cut = imported(text.substr(0, length));
    EXPECT_FALSE(cut) << length;
  }
  Model lacks = residual_network();
  lacks.proto().mutable_graph()->mutable_node()->DeleteSubrange(0, 1);
  const auto graph = imported(lacks.text());
  ASSERT_FALSE(graph);
  EXPECT_NE(graph.error().message.find("which nothing has made"), std::string::npos);
  Model wide;
  wide.input("x", {1, 3, 8, 8});
  wide.weights("w", {4, 2, 3, 3});
  wide.node("Conv", {"x", "w"}, "y");
  wide.output("y");
  const auto refused = imported(wide.text());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("does not fit 3 channels"), std::string::npos)
      << refused.error().message;
}

}  // namespace
}  // namespace fettle::model
