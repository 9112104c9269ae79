// Recurrent networks: what ONNX says of their steps is tested by ONNX's own node tests; here they
// are compiled, and what they do not do is refused.
#include <functional>

#include "tests/support/network_agrees.h"

namespace fettle::network {
namespace {

using Model = testing::OnnxModel;

class NetworkRecurrent : public testing::NetworkAgrees {
 protected:
  static constexpr std::int64_t kSteps = 3, kBatch = 2, kInputs = 3, kHidden = 4;

  static Model of(const std::string& op, std::int64_t gates, const std::string& direction,
                  bool started) {
    const std::int64_t ways = direction == "bidirectional" ? 2 : 1;
    Model model;
    model.opset(17);
    model.input("x", {kSteps, kBatch, kInputs});
    model.weights("w", {ways, gates * kHidden, kInputs});
    model.weights("r", {ways, gates * kHidden, kHidden});
    model.weights("b", {ways, 2 * gates * kHidden});
    std::vector<std::string> inputs = {"x", "w", "r", "b"};
    if (started) {
      model.input("h", {ways, kBatch, kHidden});
      inputs.insert(inputs.end(), {"", "h"});
      if (op == "LSTM") model.weights("c", {ways, kBatch, kHidden}), inputs.push_back("c");
    }
    auto& node = model.node(op, inputs, "all");
    node.add_output("last");
    if (op == "LSTM") node.add_output("cell");
    Model::integer(node, "hidden_size", kHidden);
    Model::word(node, "direction", direction);
    model.output("all"), model.output("last");
    if (op == "LSTM") model.output("cell");
    return model;
  }
};

TEST_F(NetworkRecurrent, StepsAgreeWhenCompiled) {
  const std::pair<const char*, std::int64_t> kinds[] = {{"LSTM", 4}, {"GRU", 3}, {"RNN", 1}};
  for (const auto& [op, gates] : kinds) {
    for (const char* direction : {"forward", "reverse", "bidirectional"}) {
      SCOPED_TRACE(std::string(op) + " " + direction);
      agrees(of(op, gates, direction, true));
    }
  }
  agrees(of("LSTM", 4, "bidirectional", false));
  Model model = of("GRU", 3, "forward", true);
  Model::integer(*model.proto().mutable_graph()->mutable_node(0), "linear_before_reset", 1);
  agrees(model);
}

// What the first step sees of a state that is not there is nothing.
TEST_F(NetworkRecurrent, TheLastStateIsTheLastStep) {
  auto graph = imported(of("LSTM", 4, "reverse", false).text());
  ASSERT_TRUE(graph) << graph.error().text();
  std::vector<float> x(kSteps * kBatch * kInputs);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.1f * static_cast<float>(i % 7) - 0.3f;
  const auto* begin = reinterpret_cast<const std::uint8_t*>(x.data());
  const auto made = model::evaluate_graph(
      *graph,
      {std::make_shared<const std::vector<std::uint8_t>>(begin, begin + x.size() * sizeof(float))});
  ASSERT_TRUE(made) << made.error().text();
  const std::size_t rows = kBatch * kHidden * sizeof(float);
  ASSERT_EQ((*made)[0]->size(), rows * kSteps);
  const std::vector<std::uint8_t> first((*made)[0]->begin(), (*made)[0]->begin() + rows);
  EXPECT_EQ(first, *(*made)[1]) << "what goes backwards ends at the first step";
}

// More steps than a stage can join at once.
TEST_F(NetworkRecurrent, SequencesOfManySteps) {
  Model model;
  model.input("x", {50, 1, 2});
  model.weights("w", {1, 2, 2}), model.weights("r", {1, 2, 2});
  auto& node = model.node("RNN", {"x", "w", "r"}, "y");
  Model::integer(node, "hidden_size", 2);
  auto& attribute = *node.add_attribute();
  attribute.set_name("activations"), attribute.set_type(onnx::AttributeProto::STRINGS);
  attribute.add_strings("Relu");
  model.output("y");
  agrees(model);
}

TEST_F(NetworkRecurrent, RefusesWhatItDoesNotDo) {
  const auto told = [&](const std::function<void(onnx::NodeProto&)>& change) {
    Model model = of("LSTM", 4, "forward", false);
    change(*model.proto().mutable_graph()->mutable_node(0));
    const auto graph = imported(model.text());
    return graph ? std::string("taken") : graph.error().message;
  };
  const auto says = [&](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  says(told([](auto&) {}), "taken");
  says(told([](auto& node) { Model::integer(node, "layout", 1); }), "its layout");
  says(told([](auto& node) { Model::number(node, "clip", 3); }), "its clip");
  says(told([](auto& node) { node.set_input(1, "r"); }), "weights do not fit");
  says(told([](auto& node) { node.set_input(3, "r"); }), "its bias does not fit");
  says(told([](auto& node) { node.mutable_attribute(1)->set_s("sideways"); }), "'sideways'");
  // A first state of another shape, a scalar too.
  const auto state = [&](const std::vector<std::int64_t>& shape) {
    Model model = of("LSTM", 4, "forward", false);
    model.numbers("state", shape, 1);
    auto& node = *model.proto().mutable_graph()->mutable_node(0);
    node.add_input(""), node.add_input("state");
    const auto graph = imported(model.text());
    return graph ? std::string("taken") : graph.error().message;
  };
  says(state({1, kBatch, kHidden}), "taken");
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{}, {kHidden}, {kBatch, kHidden}, {1, 1, kBatch, kHidden}}) {
    says(state(shape), "its first state does not fit");
  }
  const auto activations = [](std::vector<std::string> names) {
    return [names = std::move(names)](onnx::NodeProto& node) {
      auto& attribute = *node.add_attribute();
      attribute.set_name("activations"), attribute.set_type(onnx::AttributeProto::STRINGS);
      for (const std::string& name : names) attribute.add_strings(name);
    };
  };
  says(told(activations({"Sigmoid", "Tanh", "tanh"})), "taken");
  says(told(activations({"Sigmoid", "Relu", "Tanh"})), "the activation Relu");
  for (const char* op : {"LSTM", "GRU", "RNN"}) {
    for (const std::vector<std::string>& inputs :
         {std::vector<std::string>{"x"}, {"x", "x"}, {"x", "", "x"}, {"x", "x", "x", "x"}}) {
      Model model;
      model.input("x", {2, 2, 2});
      model.node(op, inputs, "y");
      model.output("y");
      const auto graph = imported(model.text());
      EXPECT_TRUE(graph || !graph.error().message.empty());
    }
  }
}

}  // namespace
}  // namespace fettle::network
