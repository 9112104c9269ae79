// Activations that exporters write out, and what only looks like one (find_activations.h).
#include <gtest/gtest.h>

#include <cmath>

#include "host/model/graph/node_stages.h"
#include "host/model/passes/find_activations.h"
#include "tests/support/onnx_model.h"

namespace fettle::model {
namespace {

using Model = testing::OnnxModel;
using FindActivations = testing::OnnxNetworkTest;

struct WrittenOut {
  const char* what;
  std::vector<std::vector<std::string>> nodes;  // operator, inputs, output; the last makes "y"
  std::string op;                               // what they are; empty: they stay
};

// x is an input, as is z; what is written as a number is a constant.
const std::vector<WrittenOut>& written_out() {
  static const std::vector<WrittenOut> kAll = {
      {"gelu, halved first",
       {{"Div", "x", "root 2", "d"},
        {"Erf", "d", "e"},
        {"Add", "e", "1", "s"},
        {"Mul", "x", "0.5", "h"},
        {"Mul", "h", "s", "y"}},
       "Gelu"},
      {"gelu, halved last",
       {{"Div", "x", "root 2", "d"},
        {"Erf", "d", "e"},
        {"Add", "e", "1", "s"},
        {"Mul", "x", "s", "p"},
        {"Mul", "p", "0.5", "y"}},
       "Gelu"},
      {"gelu, by products and quotients the other way",
       {{"Mul", "1 by root 2", "x", "d"},
        {"Erf", "d", "e"},
        {"Add", "1", "e", "s"},
        {"Mul", "s", "x", "p"},
        {"Div", "p", "2", "y"}},
       "Gelu"},
      {"an erf of another value",
       {{"Div", "z", "root 2", "d"},
        {"Erf", "d", "e"},
        {"Add", "e", "1", "s"},
        {"Mul", "x", "s", "p"},
        {"Mul", "p", "0.5", "y"}},
       ""},
      {"swish", {{"Sigmoid", "x", "s"}, {"Mul", "x", "s", "y"}}, "Swish"},
      {"swish the other way round", {{"Sigmoid", "x", "s"}, {"Mul", "s", "x", "y"}}, "Swish"},
      {"a gate of another value", {{"Sigmoid", "z", "s"}, {"Mul", "x", "s", "y"}}, ""},
      {"a sigmoid squared", {{"Sigmoid", "x", "s"}, {"Mul", "s", "s", "y"}}, ""},
      {"a sigmoid that is read twice",
       {{"Sigmoid", "x", "s"}, {"Mul", "x", "s", "p"}, {"Add", "p", "s", "y"}},
       ""},
      {"hard swish", {{"HardSigmoid", "x", "s"}, {"Mul", "x", "s", "y"}}, "HardSwish"},
      {"hard swish, divided first",
       {{"Add", "x", "3", "a"},
        {"Clip", "a", "0", "6", "c"},
        {"Div", "c", "6", "d"},
        {"Mul", "x", "d", "y"}},
       "HardSwish"},
      {"hard swish, divided last",
       {{"Add", "3", "x", "a"},
        {"Clip", "a", "0", "6", "c"},
        {"Mul", "c", "x", "p"},
        {"Mul", "p", "1/6", "y"}},
       "HardSwish"},
      {"divided by another number",
       {{"Add", "x", "3", "a"},
        {"Clip", "a", "0", "6", "c"},
        {"Mul", "x", "c", "p"},
        {"Div", "p", "3", "y"}},
       ""},
      {"clipped elsewhere",
       {{"Add", "x", "3", "a"},
        {"Clip", "a", "0", "3", "c"},
        {"Mul", "x", "c", "p"},
        {"Div", "p", "6", "y"}},
       ""},
      {"a constant with more axes",
       {{"Add", "x", "3 of three axes", "a"},
        {"Clip", "a", "0", "6", "c"},
        {"Mul", "x", "c", "p"},
        {"Div", "p", "6", "y"}},
       ""},
  };
  return kAll;
}

TEST_F(FindActivations, WhatIsWrittenOutBecomesOneNode) {
  for (const WrittenOut& one : written_out()) {
    SCOPED_TRACE(one.what);
    Model model;
    model.input("x", {1, 32});
    model.input("z", {1, 32});
    for (const char* number : {"0", "0.5", "1", "2", "3", "6"}) {
      model.numbers(number, {}, std::stof(number));
    }
    model.numbers("root 2", {}, std::sqrt(2.0F));
    model.numbers("1 by root 2", {}, std::sqrt(0.5F));
    model.numbers("1/6", {1}, 1 / 6.0F);
    model.numbers("3 of three axes", {1, 1, 1}, 3);
    for (const auto& words : one.nodes) {
      auto& node = model.node(words.front(), {words.begin() + 1, words.end() - 1}, words.back());
      if (words.front() == "HardSigmoid") Model::number(node, "alpha", 1 / 6.0F);
    }
    model.output("y");
    auto graph = imported(model.text());
    ASSERT_TRUE(graph) << graph.error().text();
    std::vector<float> numbers(32);
    for (std::size_t i = 0; i < 32; ++i) numbers[i] = 0.25F * (static_cast<float>(i) - 16);
    const auto* begin = reinterpret_cast<const std::uint8_t*>(numbers.data());
    const auto given = std::make_shared<const std::vector<std::uint8_t>>(begin, begin + 128);
    const auto before = evaluate_graph(*graph, {given, given});
    find_activations(*graph);
    ASSERT_EQ(graph->nodes.size(), one.op.empty() ? one.nodes.size() : 1) << to_text(*graph);
    if (!one.op.empty()) {
      EXPECT_EQ(graph->nodes[0].op, one.op);
    }
    const auto after = evaluate_graph(*graph, {given, given});
    ASSERT_TRUE(before && after);
    const auto* a = reinterpret_cast<const float*>((*before)[0]->data());
    const auto* b = reinterpret_cast<const float*>((*after)[0]->data());
    for (std::size_t i = 0; i < 32; ++i) EXPECT_NEAR(a[i], b[i], 2e-6) << numbers[i];
  }
}

}  // namespace
}  // namespace fettle::model
