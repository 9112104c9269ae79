// What an ONNX model states within nodes and beside its graph: branches, and functions of its own.
#include "tests/support/network_agrees.h"

namespace fettle::model {
namespace {

using Model = testing::OnnxModel;

class OnnxScopes : public testing::NetworkAgrees {
 protected:
  static onnx::NodeProto& add(onnx::GraphProto& graph, const std::string& op,
                              const std::vector<std::string>& inputs, const std::string& output) {
    onnx::NodeProto& node = *graph.add_node();
    node.set_op_type(op);
    for (const std::string& name : inputs) node.add_input(name);
    node.add_output(output);
    return node;
  }
  static onnx::GraphProto& branch(onnx::NodeProto& node, const std::string& name) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    return *attribute.mutable_g();
  }
  // One node, `op`, that reads `input`.
  static onnx::GraphProto& branch(onnx::NodeProto& node, const std::string& name,
                                  const std::string& op, const std::string& input) {
    onnx::GraphProto& graph = branch(node, name);
    add(graph, op, {input}, "inner");
    graph.add_output()->set_name("inner");
    return graph;
  }
  static onnx::FunctionProto& function(Model& model, const std::string& name,
                                       const std::vector<std::string>& inputs,
                                       const std::vector<std::string>& outputs) {
    onnx::FunctionProto& function = *model.proto().add_functions();
    function.set_domain("own"), function.set_name(name);
    for (const std::string& input : inputs) function.add_input(input);
    for (const std::string& output : outputs) function.add_output(output);
    function.add_opset_import()->set_version(13);
    return function;
  }
  static onnx::NodeProto& inner(onnx::FunctionProto& function, const std::string& op,
                                const std::vector<std::string>& inputs, const std::string& output) {
    onnx::NodeProto& node = *function.add_node();
    node.set_op_type(op);
    for (const std::string& name : inputs) node.add_input(name);
    node.add_output(output);
    return node;
  }
  static onnx::NodeProto& own(onnx::NodeProto& node) {
    node.set_domain("own");
    return node;
  }
  // Whether the first axis of x is `extent` long, as "is it".
  static void ask(Model& model, std::int64_t extent) {
    model.node("Shape", {"x"}, "shape");
    model.whole_numbers("first", {}, {0});
    model.node("Gather", {"shape", "first"}, "batch");
    model.whole_numbers("extent", {}, {extent});
    model.node("Equal", {"batch", "extent"}, "is it");
  }
  std::vector<float> of(const Model& model, const std::vector<float>& x) {
    const auto graph = imported(model.text());
    EXPECT_TRUE(graph) << graph.error().text();
    if (!graph) return {};
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(x.data());
    const auto outputs = evaluate_graph(
        *graph, {std::make_shared<const std::vector<std::uint8_t>>(bytes, bytes + x.size() * 4)});
    EXPECT_TRUE(outputs) << outputs.error().text();
    if (!outputs) return {};
    std::vector<float> y(outputs->front()->size() / 4);
    std::memcpy(y.data(), outputs->front()->data(), y.size() * 4);
    return y;
  }
  std::string refusal(const Model& model) {
    const auto graph = imported(model.text());
    return graph ? "" : graph.error().text();
  }
};

TEST_F(OnnxScopes, TheBranchThatAKnownConditionTakes) {
  for (const std::int64_t extent : {1, 2}) {
    Model model;
    model.input("x", {1, 3});
    ask(model, extent);
    onnx::NodeProto& node = model.node("If", {"is it"}, "chosen");
    branch(node, "then_branch", "Neg", "x");
    branch(node, "else_branch", "Abs", "x");
    model.node("Identity", {"chosen"}, "y");
    model.output("y");
    const std::vector<float> right =
        extent == 1 ? std::vector<float>{1, -2, 3} : std::vector<float>{1, 2, 3};
    EXPECT_EQ(of(model, {-1, 2, -3}), right);
    agrees(model);
  }
}

// Users ask for outputs by their names: what a branch calls them is its own affair.
TEST_F(OnnxScopes, OutputsHaveTheNamesThatTheModelGivesThem) {
  Model model;
  model.input("x", {1, 2});
  ask(model, 1);
  onnx::NodeProto& node = model.node("If", {"is it"}, "made");
  onnx::GraphProto& then = branch(node, "then_branch", "Neg", "x");
  onnx::TensorProto& ten = *then.add_initializer();
  ten.set_name("ten"), ten.set_data_type(onnx::TensorProto::FLOAT), ten.add_float_data(10);
  for (const char* output : {"ten", "x", "outer"}) then.add_output()->set_name(output);
  for (const char* output : {"constant", "input", "again"}) node.add_output(output);
  model.node("Abs", {"x"}, "outer");
  for (const char* name : {"made", "constant", "input", "again", "outer"}) model.output(name);
  const auto graph = imported(model.text());
  ASSERT_TRUE(graph) << graph.error().text();
  std::vector<std::string> names;
  for (const ValueId output : graph->outputs) names.push_back(graph->values[output].name);
  EXPECT_EQ(names, (std::vector<std::string>{"made", "constant", "input", "again", "outer"}));
  EXPECT_EQ(graph->values[graph->inputs[0]].name, "x");
  agrees(model);
}

TEST_F(OnnxScopes, ABranchsNameIsFreeBehindIt) {
  Model model;
  model.input("x", {1, 2});
  ask(model, 1);
  onnx::NodeProto& node = model.node("If", {"is it"}, "p");
  onnx::GraphProto& then = branch(node, "then_branch");
  add(then, "Neg", {"x"}, "q");
  add(then, "Exp", {"q"}, "inner");
  then.add_output()->set_name("inner");
  model.node("Abs", {"x"}, "q");
  model.output("q"), model.output("p");
  const auto graph = imported(model.text());
  ASSERT_TRUE(graph) << graph.error().text();
  EXPECT_EQ(graph->values[graph->outputs[0]].name, "q");
  EXPECT_EQ(graph->values[graph->outputs[1]].name, "p");
  EXPECT_EQ(of(model, {-1, 2}), (std::vector<float>{1, 2}));
}

TEST_F(OnnxScopes, BranchesHaveNamesAndConstantsOfTheirOwn) {
  Model model;
  model.input("x", {1, 2});
  ask(model, 1);
  for (const std::string name : {"a", "b"}) {
    onnx::NodeProto& node = model.node("If", {"is it"}, name);
    onnx::GraphProto& then = branch(node, "then_branch");
    onnx::TensorProto& ten = *then.add_initializer();
    ten.set_name("number"), ten.set_data_type(onnx::TensorProto::FLOAT);
    ten.add_float_data(name == "a" ? 10 : 100);
    add(then, "Mul", {name == "a" ? "x" : "a", "number"}, "inner");
    onnx::NodeProto& within = add(then, "If", {"is it"}, "of both");
    branch(within, "then_branch", "Neg", "inner").mutable_node(0)->set_output(0, "negated");
    within.mutable_attribute(0)->mutable_g()->mutable_output(0)->set_name("negated");
    then.add_output()->set_name("of both");
    branch(node, "else_branch", "Abs", "x");
  }
  model.output("b");
  EXPECT_EQ(of(model, {1, 2}), (std::vector<float>{1000, 2000}));
  // Outside, nobody has made it.
  model.node("Neg", {"inner"}, "z");
  model.output("z");
  EXPECT_NE(refusal(model).find("reads 'inner', which nothing has made"), std::string::npos)
      << refusal(model);
}

TEST_F(OnnxScopes, ABranchMayReadWhatStandsBehindItsNode) {
  Model model;
  model.input("x", {1, 2});
  ask(model, 1);
  branch(model.node("If", {"is it"}, "y"), "then_branch", "Abs", "later");
  model.node("Neg", {"x"}, "later");
  model.output("y");
  EXPECT_EQ(of(model, {1, -2}), (std::vector<float>{1, 2}));
}

TEST_F(OnnxScopes, WhatBranchesAskForInVainIsTold) {
  const auto model_of = [](const std::string& then, const std::string& otherwise) {
    Model model;
    model.input("x", {1, 2});
    ask(model, 1);
    onnx::NodeProto& node = model.node("If", {"is it"}, "chosen");
    branch(node, "then_branch", then, "x");
    branch(node, "else_branch", otherwise, "x");
    model.node("Neg", {"chosen"}, "y");
    model.output("y");
    return model;
  };
  EXPECT_NE(refusal(model_of("Frobnicate", "Abs")).find("not known here: Frobnicate"),
            std::string::npos);
  EXPECT_EQ(refusal(model_of("Abs", "Frobnicate")), "");
  Model open;
  open.input("x", {1, 2});
  open.input("c", {1});
  open.of_type(onnx::TensorProto::BOOL);
  branch(open.node("If", {"c"}, "y"), "then_branch", "Abs", "x");
  open.output("y");
  EXPECT_NE(refusal(open).find("known only as the network runs"), std::string::npos)
      << refusal(open);
  Model none;
  none.input("x", {2, 2});
  ask(none, 1);
  branch(none.node("If", {"is it"}, "y"), "then_branch", "Abs", "x");
  none.output("y");
  EXPECT_NE(refusal(none).find("lacks the branch"), std::string::npos) << refusal(none);
  // A name of outside.
  Model again;
  again.input("x", {1, 2});
  ask(again, 1);
  auto& then = branch(again.node("If", {"is it"}, "y"), "then_branch", "Abs", "x");
  then.mutable_node(0)->set_output(0, "x"), then.mutable_output(0)->set_name("x");
  again.output("y");
  EXPECT_NE(refusal(again).find("makes 'x' again"), std::string::npos) << refusal(again);
}

// As speech networks ask for the rate of their samples.
TEST_F(OnnxScopes, AnInputThatIsKnownDecides) {
  Model model;
  model.input("x", {1, 2});
  model.input("rate", {});
  model.of_type(onnx::TensorProto::INT64);
  model.input("sizes", {0});
  model.of_type(onnx::TensorProto::INT64);
  model.whole_numbers("high", {}, {16000});
  model.node("Equal", {"rate", "high"}, "is high");
  onnx::NodeProto& node = model.node("If", {"is high"}, "chosen");
  branch(node, "then_branch", "Neg", "x");
  branch(node, "else_branch", "Abs", "x");
  model.node("Reshape", {"chosen", "sizes"}, "y");
  model.output("y");
  OnnxOptions options;
  options.known_numbers = {{"rate", {16000}}, {"sizes", {2, 1}}};
  const auto graph = imported(model.text(), options);
  ASSERT_TRUE(graph) << graph.error().text();
  ASSERT_EQ(graph->inputs.size(), 1u);
  EXPECT_EQ(graph->type(graph->outputs[0]).shape, (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(graph->nodes.front().op, "Neg");
  const auto told = [&](const std::string& name, const std::vector<double>& numbers) {
    OnnxOptions wrong = options;
    wrong.known_numbers[name] = numbers;
    const auto refused = imported(model.text(), wrong);
    return refused ? "" : refused.error().message;
  };
  EXPECT_NE(told("bits", {1}).find("--constant bits: no input has that name; those are: rate, si"),
            std::string::npos);
  EXPECT_NE(told("rate", {0.5}).find("--constant rate: 0.500000 is no int64"), std::string::npos)
      << told("rate", {0.5});
  EXPECT_NE(told("rate", {0x1p53 + 2}).find("is no int64"), std::string::npos);
  EXPECT_NE(told("rate", {1, 2}).find("has 2 numbers, the input 1"), std::string::npos);
  EXPECT_NE(told("x", {1, 2, 3}).find("has 3 numbers, the input 2"), std::string::npos);
}

TEST_F(OnnxScopes, FunctionsOfTheModelAreItsNodes) {
  Model model;
  model.input("x", {1, 2});
  // scaled(x, shift?) = alpha of a leaky Relu, and what it is without one; shift is left out once.
  onnx::FunctionProto& leaky = function(model, "leaky", {"in", "low"}, {"out", "unused"});
  leaky.add_attribute("slope");
  inner(leaky, "Clip", {"in", "low"}, "unused");
  onnx::AttributeProto& alpha = *inner(leaky, "LeakyRelu", {"unused"}, "out").add_attribute();
  alpha.set_name("alpha"), alpha.set_type(onnx::AttributeProto::FLOAT);
  alpha.set_ref_attr_name("slope");
  onnx::FunctionProto& twice = function(model, "twice", {"in"}, {"out"});
  own(inner(twice, "leaky", {"in"}, "once"));
  Model::number(own(inner(twice, "leaky", {"once"}, "out")), "slope", 0.5);
  onnx::AttributeProto otherwise;
  otherwise.set_name("slope"), otherwise.set_type(onnx::AttributeProto::FLOAT);
  otherwise.set_f(0.25);
  model.proto().mutable_functions(0)->mutable_unknown_fields()->AddLengthDelimited(
      11, otherwise.SerializeAsString());
  model.numbers("minus two", {}, -2);
  Model::number(own(model.node("leaky", {"x", "minus two"}, "a")), "slope", 2);
  own(model.node("twice", {"a"}, "b"));
  own(model.node("twice", {"b"}, "y"));
  model.output("y");
  // -1 * 2, and twice * 0.25 * 0.5; what is below -2 is cut first.
  EXPECT_EQ(of(model, {-1, 3}), (std::vector<float>{-2 * 0.125f * 0.125f, 3}));
  EXPECT_EQ(of(model, {-100, 3}), (std::vector<float>{-4 * 0.125f * 0.125f, 3}));
  agrees(model);
}

TEST_F(OnnxScopes, NamesWithinFunctionsAreNoOnesOutside) {
  const auto model_of = [](const std::string& read) {
    Model model;
    model.input("x", {1, 2});
    model.node("Neg", {"x"}, "call1/inside");
    onnx::FunctionProto& f = function(model, "f", {"in"}, {"out"});
    inner(f, "Exp", {"in"}, "inside");
    inner(f, "Abs", {read}, "out");
    own(model.node("f", {"call1/inside"}, "y"));
    model.output("y");
    return model;
  };
  EXPECT_EQ(of(model_of("in"), {-1, 2}), (std::vector<float>{1, 2}));
  EXPECT_NE(refusal(model_of("x")).find("which nothing has made"), std::string::npos);
}

TEST_F(OnnxScopes, FunctionsWithinBranches) {
  Model model;
  model.input("x", {1, 2});
  onnx::FunctionProto& chosen = function(model, "chosen", {"in", "condition"}, {"out"});
  onnx::NodeProto& node = inner(chosen, "If", {"condition"}, "out");
  own(*branch(node, "then_branch", "negated", "in").mutable_node(0));
  branch(node, "else_branch", "Abs", "in");
  inner(function(model, "negated", {"in"}, {"out"}), "Neg", {"in"}, "out");
  ask(model, 1);
  own(model.node("chosen", {"x", "is it"}, "a"));
  own(model.node("chosen", {"a", "is it"}, "y"));
  model.output("y");
  EXPECT_EQ(of(model, {1, -2}), (std::vector<float>{1, -2}));
}

TEST_F(OnnxScopes, HostileFunctionsAreRefused) {
  const auto calling = [](std::int64_t opset, int calls, const std::string& called) {
    Model model;
    model.input("x", {1, 2});
    for (int level = 0; level < 40; ++level) {
      const std::string next = level == 39 ? called : "f" + std::to_string(level + 1);
      auto& f = function(model, "f" + std::to_string(level), {"in"}, {"out"});
      f.mutable_opset_import(0)->set_version(opset);
      for (int call = 0; call < calls; ++call) {
        own(inner(f, next, {"in"}, call == 0 ? "out" : "more" + std::to_string(call)));
      }
    }
    own(model.node("f0", {"x"}, "y"));
    model.output("y");
    return model;
  };
  EXPECT_NE(refusal(calling(13, 1, "f0")).find("calls itself"), std::string::npos);
  EXPECT_NE(refusal(calling(13, 2, "f40")).find("more than 1048576 nodes"), std::string::npos);
  EXPECT_NE(refusal(calling(12, 1, "f40")).find("is of opset 12, the model of 13"),
            std::string::npos);
  EXPECT_NE(refusal(calling(13, 1, "f40")).find("not known here: own.f40"), std::string::npos);
  Model twice;
  twice.input("x", {1, 2});
  for (int i = 0; i < 2; ++i) inner(function(twice, "f", {"in"}, {"out"}), "Neg", {"in"}, "out");
  own(twice.node("f", {"x"}, "y"));
  twice.output("y");
  EXPECT_NE(refusal(twice).find("several functions own.f"), std::string::npos) << refusal(twice);
}

}  // namespace
}  // namespace fettle::model
