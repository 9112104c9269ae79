// Networks from ONNX files: what is read, what is refused, batch norms that are folded, and pieces.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <random>

#include "host/model/graph/node_stages.h"
#include "host/model/onnx/import.h"
#include "host/model/onnx/onnx_proto.h"
#include "host/model/passes/find_gelu.h"
#include "host/model/passes/fold_batch_norm.h"
#include "host/model/pieces/onnx_tasks.h"
#include "host/model/pieces/pieces.h"
#include "host/model/zoo/zoo.h"
#include "tests/support/running_program.h"

namespace fettle::model {
namespace {

// An ONNX model as a test states it.
class Model {
 public:
  Model() {
    model_.set_ir_version(8);
    model_.add_opset_import()->set_version(13);
    model_.mutable_graph()->set_name("test");
  }
  void input(const std::string& name, const std::vector<std::int64_t>& shape) {
    describe(*model_.mutable_graph()->add_input(), name, shape);
  }
  void output(const std::string& name) {
    describe(*model_.mutable_graph()->add_output(), name, {1});
  }
  // Numbers from `low` to `low` + 1.
  void weights(const std::string& name, const std::vector<std::int64_t>& shape, float low = -0.5) {
    onnx::TensorProto& tensor = *model_.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) tensor.add_dims(extent), count *= extent;
    std::uniform_real_distribution<float> numbers(low, low + 1);
    for (std::int64_t i = 0; i < count; ++i) tensor.add_float_data(numbers(random_));
  }
  onnx::NodeProto& node(const std::string& op, const std::vector<std::string>& inputs,
                        const std::string& out) {
    onnx::NodeProto& node = *model_.mutable_graph()->add_node();
    node.set_op_type(op);
    for (const std::string& name : inputs) node.add_input(name);
    node.add_output(out);
    return node;
  }
  void norm(const std::string& in, std::int64_t channels, const std::string& out) {
    for (const char* part : {".gamma", ".beta", ".mean"}) weights(out + part, {channels});
    weights(out + ".variance", {channels}, 0.5);
    node("BatchNormalization",
         {in, out + ".gamma", out + ".beta", out + ".mean", out + ".variance"}, out);
  }
  static void integers(onnx::NodeProto& node, const std::string& name,
                       const std::vector<std::int64_t>& list) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INTS);
    for (const std::int64_t i : list) attribute.add_ints(i);
  }
  onnx::ModelProto& proto() { return model_; }
  std::string text() const { return model_.SerializeAsString(); }

 private:
  static void describe(onnx::ValueInfoProto& info, const std::string& name,
                       const std::vector<std::int64_t>& shape) {
    info.set_name(name);
    auto* tensor = info.mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(onnx::TensorProto::FLOAT);
    for (const std::int64_t extent : shape) {
      auto* dim = tensor->mutable_shape()->add_dim();
      if (extent > 0) dim->set_dim_value(extent);
      if (extent < 0) dim->set_dim_param("batch");
    }
  }
  onnx::ModelProto model_;
  std::mt19937 random_{7};
};

class OnnxNetwork : public ::testing::Test {
 protected:
  Result<Graph> imported(const std::string& text, const OnnxOptions& options = {}) {
    const std::string path = folder.file("model.onnx");
    std::ofstream(path, std::ios::binary) << text;
    return import_onnx(path, options);
  }
  testing::ScratchFolder folder;
};

// Two convolutions with norms, the first one's output added to the second's; a norm that follows no
// convolution.
Model residual() {
  Model model;
  model.input("x", {1, 8, 6, 6});
  model.weights("w1", {8, 8, 3, 3});
  model.weights("w2", {8, 8, 1, 1});
  Model::integers(model.node("Conv", {"x", "w1"}, "c1"), "pads", {1, 1, 1, 1});
  model.norm("c1", 8, "n1");
  model.node("Relu", {"n1"}, "r1");
  model.node("Conv", {"r1", "w2"}, "c2");
  model.norm("c2", 8, "n2");
  model.node("Add", {"n2", "x"}, "s");
  model.node("Relu", {"s"}, "r2");
  model.norm("r2", 8, "n3");
  model.output("n3");
  return model;
}

TEST_F(OnnxNetwork, FoldedBatchNormsChangeNothing) {
  auto graph = imported(residual().text());
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

TEST_F(OnnxNetwork, PiecesAreOperatorsWithTheirTails) {
  auto graph = imported(residual().text());
  ASSERT_TRUE(graph) << graph.error().text();
  ASSERT_TRUE(fold_batch_norms(*graph));
  const auto pieces = pieces_of(*graph);
  ASSERT_TRUE(pieces) << pieces.error().text();
  std::vector<std::string> titles;
  for (const Piece& piece : *pieces) titles.push_back(piece.workload.title());
  EXPECT_EQ(titles, (std::vector<std::string>{"conv2d 6x6x8→8 k3 s1 +bias+relu",
                                              "conv2d 6x6x8→8 k1 s1 +bias+add+relu+multiply",
                                              "elementwise add 1x8x6x6 by 8x1x1"}));
  std::vector<std::size_t> nodes;
  for (const Piece& piece : *pieces)
    nodes.insert(nodes.end(), piece.nodes.begin(), piece.nodes.end());
  std::sort(nodes.begin(), nodes.end());
  EXPECT_EQ(nodes.size(), graph->nodes.size()) << "each node in one piece";
  EXPECT_EQ(std::unique(nodes.begin(), nodes.end()), nodes.end());
}

TEST_F(OnnxNetwork, AGeluThatIsWrittenOutIsOne) {
  for (const bool before : {false, true}) {
    NetworkWriter writer("gelu", 1);
    const auto x = writer.input("x", {1, 32}, 32);
    const auto error =
        writer.plain("Erf", {writer.plain("Div", {x, writer.constant(std::sqrt(2.0f))})});
    const auto sum = writer.plain("Add", {error, writer.constant(1)});
    const auto half = writer.constant(0.5f);
    const auto y = before ? writer.plain("Mul", {writer.plain("Mul", {x, half}), sum})
                          : writer.plain("Mul", {writer.plain("Mul", {x, sum}), half});
    ASSERT_TRUE(writer.save(y, {1, 32}, folder.file("gelu.onnx")));
    auto graph = import_onnx(folder.file("gelu.onnx"));
    ASSERT_TRUE(graph) << graph.error().text();
    std::vector<float> numbers(32);
    for (std::size_t i = 0; i < 32; ++i) numbers[i] = 0.25f * (static_cast<float>(i) - 16);
    const auto* begin = reinterpret_cast<const std::uint8_t*>(numbers.data());
    const auto given = std::make_shared<const std::vector<std::uint8_t>>(begin, begin + 128);
    const auto written = evaluate_graph(*graph, {given});
    find_gelus(*graph);
    ASSERT_EQ(graph->nodes.size(), 1u) << to_text(*graph);
    EXPECT_EQ(graph->nodes[0].op, "Gelu");
    const auto found = evaluate_graph(*graph, {given});
    ASSERT_TRUE(written && found);
    const auto* a = reinterpret_cast<const float*>((*written)[0]->data());
    const auto* b = reinterpret_cast<const float*>((*found)[0]->data());
    for (std::size_t i = 0; i < 32; ++i) EXPECT_NEAR(a[i], b[i], 2e-6) << numbers[i];
  }
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
  model.node("Einsum", {"x"}, "a").set_name("first");
  model.node("NonZero", {"a"}, "b");
  model.node("Einsum", {"b"}, "c");
  model.node("Relu", {"c"}, "d").set_domain("com.others");
  model.output("d");
  const auto graph = imported(model.text());
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().code, ErrorCode::Unsupported);
  EXPECT_NE(graph.error().message.find(
                "not known here: Einsum (node 'first'), NonZero (the node that makes 'b'), "
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
  EXPECT_NE(open.error().message.find("'x' leaves the extent 'batch' open"), std::string::npos);
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
  EXPECT_NE(nameless.error().message.find("the extent 'x.0'"), std::string::npos);
  EXPECT_TRUE(imported(model.text(), {{{"x.0", 2}}, {}}));
}

TEST_F(OnnxNetwork, RefusesWhatIsNoModel) {
  EXPECT_EQ(import_onnx(folder.file("none.onnx")).error().code, ErrorCode::NotFound);
  const std::string text = residual().text();
  for (const std::size_t length : {text.size() - 3, text.size() / 2, std::size_t{9}}) {
    const auto cut = imported(text.substr(0, length));
    EXPECT_FALSE(cut) << length;
  }
  Model late = residual();
  late.proto().mutable_graph()->mutable_node()->SwapElements(0, 3);
  const auto graph = imported(late.text());
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

// Numbers that no operator can mean, wherever a list of them may stand.
TEST_F(OnnxNetwork, BearsNumbersThatMeanNothing) {
  constexpr std::int64_t kNumbers[] = {std::numeric_limits<std::int64_t>::min(),
                                       -2,
                                       -1,
                                       0,
                                       3,
                                       std::int64_t{1} << 31,
                                       std::int64_t{1} << 40,
                                       std::numeric_limits<std::int64_t>::max()};
  const std::pair<const char*, std::vector<const char*>> kOperators[] = {
      {"Conv", {"strides", "dilations", "pads", "kernel_shape"}},
      {"MaxPool", {"strides", "dilations", "pads", "kernel_shape"}},
      {"AveragePool", {"strides", "pads", "kernel_shape"}},
      {"Transpose", {"perm"}},
      {"Unsqueeze", {"axes"}},
      {"Squeeze", {"axes"}},
      {"ReduceMean", {"axes"}},
      {"Pad", {"pads"}},
      {"Slice", {"starts", "ends", "axes", "steps"}},
      {"Split", {"split", "axis", "num_outputs"}},
      {"Reshape", {"shape"}},
      {"Expand", {"shape"}},
      {"Tile", {"repeats"}},
      {"ConstantOfShape", {"shape"}},
      {"Softmax", {"axis"}},
      {"Flatten", {"axis"}},
      {"Concat", {"axis"}},
      {"DepthToSpace", {"blocksize"}},
      {"LRN", {"size"}}};
  std::size_t refused = 0, all = 0;
  for (const auto& [op, names] : kOperators) {
    for (const char* const changed : names) {
      for (const std::int64_t number : kNumbers) {
        for (const std::size_t length : {1, 2, 4}) {
          Model model;
          model.input("x", {1, 4, 6, 6});
          model.weights("w", {4, 4, 3, 3});
          const bool two = std::string(op) == "Conv";
          onnx::NodeProto& node = model.node(
              op, two ? std::vector<std::string>{"x", "w"} : std::vector<std::string>{"x"}, "y");
          for (const char* const name : names) {
            const bool list = length > 1 || number == 3;
            const std::vector<std::int64_t> usual(std::string(name) == "pads" ? 4 : 2, 1);
            Model::integers(node, name,
                            name == changed ? std::vector<std::int64_t>(length, number) : usual);
            if (!list && name == changed)
              node.mutable_attribute(node.attribute_size() - 1)->set_i(number);
          }
          model.output("y");
          const auto graph = imported(model.text());
          ++all;
          refused += !graph.ok();
          if (graph) static_cast<void>(pieces_of(*graph).ok());
        }
      }
    }
  }
  EXPECT_GT(refused, all / 2);
}

TEST_F(OnnxNetwork, ConstantsThatWouldTakeLongAreNotComputed) {
  Model model;
  model.input("x", {1});
  model.weights("one", {1});
  for (int i = 0; i < 4; ++i) {  // 2^25 elements four times
    onnx::NodeProto& shape = model.node("Constant", {}, "shape" + std::to_string(i));
    Model::integers(shape, "value_ints", {1 << 15, 1 << 10});
    model.node("Expand", {"one", "shape" + std::to_string(i)}, "large" + std::to_string(i));
    model.node("Relu", {"large" + std::to_string(i)}, "y" + std::to_string(i));
  }
  model.node("Add", {"x", "one"}, "y");
  model.output("y");
  const auto begin = std::chrono::steady_clock::now();
  const auto graph = imported(model.text());
  ASSERT_TRUE(graph) << graph.error().text();
  EXPECT_EQ(graph->nodes.size(), 1u);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

// Whatever a file says, it is read or refused.
TEST_F(OnnxNetwork, BearsChangedFiles) {
  const std::string text = residual().text();
  std::mt19937 random(20261123);
  std::size_t read = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string changed = text;
    for (int k = 0; k <= i % 4; ++k) {
      // Mostly where structure is, not in the weights.
      const std::size_t at = random() % changed.size();
      changed[at] = static_cast<char>(random());
    }
    if (i % 7 == 0) changed.resize(random() % changed.size());
    const auto graph = imported(changed);
    if (graph) {
      ++read;
      Graph folded = *graph;
      if (fold_batch_norms(folded)) static_cast<void>(pieces_of(folded).ok());
    }
  }
  EXPECT_GT(read, 100u);
  EXPECT_LT(read, 2000u);
}

}  // namespace
}  // namespace fettle::model
