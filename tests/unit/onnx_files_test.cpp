// What an ONNX model leaves to others: weights in files beside it, and the order of its nodes.
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "host/model/graph/node_stages.h"
#include "tests/support/onnx_model.h"

namespace fettle::model {
namespace {

using Model = testing::OnnxModel;

class OnnxFiles : public testing::OnnxNetworkTest {
 protected:
  // y = x + w, w in `location` from `offset` on.
  Result<Graph> imported_with(const std::string& location, const std::string& offset,
                              const std::string& length) {
    Model model;
    model.input("x", {4});
    onnx::TensorProto& weights = *model.proto().mutable_graph()->add_initializer();
    weights.set_name("w"), weights.set_data_type(onnx::TensorProto::FLOAT), weights.add_dims(4);
    weights.set_data_location(onnx::TensorProto::EXTERNAL);
    const auto say = [&](const char* key, const std::string& value) {
      if (value.empty()) return;
      auto& entry = *weights.add_external_data();
      entry.set_key(key), entry.set_value(value);
    };
    say("location", location), say("offset", offset), say("length", length);
    model.node("Add", {"x", "w"}, "y");
    model.output("y");
    return imported(model.text());
  }
  std::string refusal(const std::string& location, const std::string& offset = "",
                      const std::string& length = "") {
    const auto graph = imported_with(location, offset, length);
    EXPECT_FALSE(graph) << location;
    return graph ? "" : graph.error().message;
  }
};

TEST_F(OnnxFiles, WeightsLieBesideTheModelOrBelowIt) {
  const float stored[] = {9, 1, 2, 3, 4};
  std::filesystem::create_directory(folder.file("parts"));
  for (const char* name : {"model.onnx.data", "parts/w"}) {
    std::ofstream(folder.file(name), std::ios::binary)
        .write(reinterpret_cast<const char*>(stored), sizeof stored);
    const auto graph = imported_with(name, "4", "16");
    ASSERT_TRUE(graph) << graph.error().text();
    const auto weights = std::find_if(graph->values.begin(), graph->values.end(),
                                      [](const Value& value) { return value.constant != nullptr; });
    ASSERT_NE(weights, graph->values.end());
    const auto* begin = reinterpret_cast<const std::uint8_t*>(stored + 1);
    EXPECT_EQ(*weights->constant, std::vector<std::uint8_t>(begin, begin + 16));
  }
}

TEST_F(OnnxFiles, NothingElseIsReadAsWeights) {
  std::ofstream(folder.file("w"), std::ios::binary) << std::string(16, 'w');
  std::filesystem::create_directory(folder.file("inner"));
  ASSERT_EQ(mkfifo(folder.file("pipe").c_str(), 0600), 0);
  for (const std::string& elsewhere :
       {std::string("/etc/passwd"), folder.file("w"), std::string("../w"),
        std::string("inner/../w"), std::string("")}) {
    EXPECT_NE(refusal(elsewhere).find("is not beside the model"), std::string::npos) << elsewhere;
  }
  for (const char* none : {"absent", "inner", "pipe"}) {
    EXPECT_NE(refusal(none).find("which is no file here"), std::string::npos) << none;
  }
  EXPECT_NE(refusal("w", "1").find("ends before them"), std::string::npos);
  EXPECT_NE(refusal("w", "9223372036854775807").find("ends before them"), std::string::npos);
  for (const char* number : {"-1", "x", "1x", "99999999999999999999"}) {
    EXPECT_NE(refusal("w", number).find("as the offset of its data"), std::string::npos) << number;
  }
  EXPECT_NE(refusal("w", "0", "12").find("has 12 bytes of data, its shape needs 16"),
            std::string::npos);
}

TEST_F(OnnxFiles, NodesMayStandBeforeWhatTheyRead) {
  const Model model = testing::residual_network();
  const auto sorted = imported(model.text());
  ASSERT_TRUE(sorted);
  Model late = model;
  auto& nodes = *late.proto().mutable_graph()->mutable_node();
  std::reverse(nodes.pointer_begin(), nodes.pointer_end());
  const auto graph = imported(late.text());
  ASSERT_TRUE(graph) << graph.error().text();
  ASSERT_EQ(graph->nodes.size(), sorted->nodes.size());
  const auto operators = [](const Graph& of) {
    std::vector<std::string> list;
    for (const Node& node : of.nodes) list.push_back(node.op);
    std::sort(list.begin(), list.end());
    return list;
  };
  EXPECT_EQ(operators(*graph), operators(*sorted));
}

TEST_F(OnnxFiles, NodesThatReadOneAnotherAreRefused) {
  Model model;
  model.input("x", {4});
  model.node("Add", {"x", "b"}, "a");
  model.node("Relu", {"a"}, "b");
  model.output("b");
  const auto graph = imported(model.text());
  ASSERT_FALSE(graph);
  EXPECT_NE(graph.error().message.find("which nothing has made"), std::string::npos)
      << graph.error().message;
}

}  // namespace
}  // namespace fettle::model
