// Attention of opset 23, beside what ONNX says of it, in float64.
#include <cmath>
#include <limits>
#include <optional>

#include "tests/support/network_agrees.h"

namespace fettle::network {
namespace {

using Model = testing::OnnxModel;

struct Sizes {
  std::int64_t batch = 2, heads = 4, kv_heads = 2, queries = 3, keys = 5, size = 4, value_size = 6;
};

class NetworkAttention : public testing::NetworkAgrees {
 protected:
  static std::vector<float> numbers(std::int64_t count, std::uint32_t seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> draw(-1, 1);
    std::vector<float> out(static_cast<std::size_t>(count));
    for (float& one : out) one = draw(random);
    return out;
  }
  std::vector<float> of(const Model& model, const std::vector<std::vector<float>>& inputs) {
    const auto graph = imported(model.text());
    EXPECT_TRUE(graph) << graph.error().text();
    if (!graph) return {};
    std::vector<model::TensorBytes> given;
    for (const auto& input : inputs) {
      const auto* bytes = reinterpret_cast<const std::uint8_t*>(input.data());
      given.push_back(
          std::make_shared<const std::vector<std::uint8_t>>(bytes, bytes + input.size() * 4));
    }
    const auto outputs = model::evaluate_graph(*graph, given);
    EXPECT_TRUE(outputs) << outputs.error().text();
    if (!outputs) return {};
    std::vector<float> y(outputs->front()->size() / 4);
    std::memcpy(y.data(), outputs->front()->data(), y.size() * 4);
    return y;
  }
  // [batch, heads, queries, value_size]; `bias` of [queries, keys].
  static std::vector<double> right(const Sizes& s, const std::vector<float>& q,
                                   const std::vector<float>& k, const std::vector<float>& v,
                                   const std::vector<double>& bias, double scale) {
    std::vector<double> y;
    for (std::int64_t b = 0; b < s.batch; ++b) {
      for (std::int64_t h = 0; h < s.heads; ++h) {
        const std::int64_t shared = b * s.kv_heads + h / (s.heads / s.kv_heads);
        for (std::int64_t i = 0; i < s.queries; ++i) {
          std::vector<double> shares;
          double sum = 0;
          for (std::int64_t j = 0; j < s.keys; ++j) {
            double dot = 0;
            for (std::int64_t d = 0; d < s.size; ++d) {
              dot += double(q[std::size_t(((b * s.heads + h) * s.queries + i) * s.size + d)]) *
                     double(k[std::size_t((shared * s.keys + j) * s.size + d)]);
            }
            shares.push_back(std::exp(dot * scale + bias[std::size_t(i * s.keys + j)]));
            sum += shares.back();
          }
          for (std::int64_t d = 0; d < s.value_size; ++d) {
            double value = 0;
            for (std::int64_t j = 0; j < s.keys; ++j) {
              value += shares[std::size_t(j)] / sum *
                       double(v[std::size_t((shared * s.keys + j) * s.value_size + d)]);
            }
            y.push_back(value);
          }
        }
      }
    }
    return y;
  }
  static void expect_near(const std::vector<float>& y, const std::vector<double>& right) {
    ASSERT_EQ(y.size(), right.size());
    for (std::size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], right[i], 1e-5) << i;
  }
  static Model model_of(const Sizes& s) {
    Model model;
    model.opset(23);
    model.input("q", {s.batch, s.heads, s.queries, s.size});
    model.input("k", {s.batch, s.kv_heads, s.keys, s.size});
    model.input("v", {s.batch, s.kv_heads, s.keys, s.value_size});
    model.output("y");
    return model;
  }
};

TEST_F(NetworkAttention, HeadsOfQueriesShareOnesOfKeys) {
  const Sizes s;
  const auto q = numbers(s.batch * s.heads * s.queries * s.size, 1);
  const auto k = numbers(s.batch * s.kv_heads * s.keys * s.size, 2);
  const auto v = numbers(s.batch * s.kv_heads * s.keys * s.value_size, 3);
  const std::vector<double> none(std::size_t(s.queries * s.keys));
  for (const auto scale : {std::optional<float>(), std::optional<float>(2.0f)}) {
    Model model = model_of(s);
    onnx::NodeProto& node = model.node("Attention", {"q", "k", "v"}, "y");
    if (scale) Model::number(node, "scale", *scale);
    expect_near(of(model, {q, k, v}), right(s, q, k, v, none, scale ? double(*scale) : 0.5));
    agrees(model);
  }
}

TEST_F(NetworkAttention, Masks) {
  const Sizes s;
  const auto q = numbers(s.batch * s.heads * s.queries * s.size, 4);
  const auto k = numbers(s.batch * s.kv_heads * s.keys * s.size, 5);
  const auto v = numbers(s.batch * s.kv_heads * s.keys * s.value_size, 6);
  const double out = -std::numeric_limits<double>::infinity();
  std::vector<double> bias(std::size_t(s.queries * s.keys));
  Model causal = model_of(s);
  Model::integer(causal.node("Attention", {"q", "k", "v"}, "y"), "is_causal", 1);
  for (std::int64_t i = 0; i < s.queries; ++i) {
    for (std::int64_t j = i + 1; j < s.keys; ++j) bias[std::size_t(i * s.keys + j)] = out;
  }
  expect_near(of(causal, {q, k, v}), right(s, q, k, v, bias, 0.5));
  agrees(causal);
  // The last two keys count for nobody, the others a little more.
  for (const bool condition : {false, true}) {
    Model masked = model_of(s);
    masked.numbers("low", {1, 1, 1, 2}, condition ? 0 : -std::numeric_limits<float>::infinity());
    masked.numbers("high", {1, 1, 1, 3}, condition ? 1 : 0.25f);
    Model::integer(masked.node("Concat", {"high", "low"}, "numbers"), "axis", 3);
    std::string mask = "numbers";
    if (condition) {
      mask = "conditions";
      Model::integer(masked.node("Cast", {"numbers"}, mask), "to", onnx::TensorProto::BOOL);
    }
    masked.node("Attention", {"q", "k", "v", mask}, "y");
    for (std::int64_t at = 0; at < s.queries * s.keys; ++at) {
      bias[std::size_t(at)] = at % s.keys < 3 ? 0 : out;
    }
    expect_near(of(masked, {q, k, v}), right(s, q, k, v, bias, 0.5));
    agrees(masked);
  }
}

// A padded batch has such rows: zeros, by an erratum of ONNX, and not what is no number.
TEST_F(NetworkAttention, AQueryThatMayLookAtNothingHasZeros) {
  const Sizes s;
  const auto q = numbers(s.batch * s.heads * s.queries * s.size, 4);
  const auto k = numbers(s.batch * s.kv_heads * s.keys * s.size, 5);
  const auto v = numbers(s.batch * s.kv_heads * s.keys * s.value_size, 6);
  const std::vector<double> none(std::size_t(s.queries * s.keys));
  Model model = model_of(s);
  model.input("mask", {s.queries, s.keys});
  model.node("Attention", {"q", "k", "v", "mask"}, "y");
  std::vector<float> mask(std::size_t(s.queries * s.keys));
  std::fill_n(mask.begin() + s.keys, s.keys, -std::numeric_limits<float>::infinity());
  auto expected = right(s, q, k, v, none, 0.5);
  for (std::int64_t i = 0; i < std::ssize(expected); ++i) {
    if (i / s.value_size % s.queries == 1) expected[std::size_t(i)] = 0;
  }
  expect_near(of(model, {q, k, v, mask}), expected);
  agrees(model);
}

// Decoders with a cache: what came before, all may look at.
TEST_F(NetworkAttention, CausalBehindWhatCameBefore) {
  Sizes s;
  s.batch = s.heads = s.kv_heads = 1;
  const std::int64_t old = 2, now = s.keys - old;
  const auto q = numbers(s.queries * s.size, 7), k = numbers(s.keys * s.size, 8);
  const auto v = numbers(s.keys * s.value_size, 9);
  std::vector<double> bias(std::size_t(s.queries * s.keys));
  for (std::int64_t i = 0; i < s.queries; ++i) {
    for (std::int64_t j = i + old + 1; j < s.keys; ++j) {
      bias[std::size_t(i * s.keys + j)] = -std::numeric_limits<double>::infinity();
    }
  }
  Model model;
  model.opset(23);
  model.input("q", {1, 1, s.queries, s.size}), model.input("k", {1, 1, now, s.size});
  model.input("v", {1, 1, now, s.value_size});
  model.input("old k", {1, 1, old, s.size}), model.input("old v", {1, 1, old, s.value_size});
  onnx::NodeProto& node = model.node("Attention", {"q", "k", "v", "", "old k", "old v"}, "y");
  Model::integer(node, "is_causal", 1);
  model.output("y");
  const auto part = [](const std::vector<float>& all, std::int64_t begin, std::int64_t end) {
    return std::vector<float>(all.begin() + begin, all.begin() + end);
  };
  expect_near(of(model, {q, part(k, old * s.size, std::ssize(k)),
                         part(v, old * s.value_size, std::ssize(v)), part(k, 0, old * s.size),
                         part(v, 0, old * s.value_size)}),
              right(s, q, k, v, bias, 0.5));
  agrees(model);
}

TEST_F(NetworkAttention, HeadsOfOneAxisAndWhatCameBefore) {
  Sizes s;
  s.batch = 1, s.heads = s.kv_heads = 1;
  const auto q = numbers(s.queries * s.size, 7), k = numbers(s.keys * s.size, 8);
  const auto v = numbers(s.keys * s.value_size, 9);
  const std::vector<double> none(std::size_t(s.queries * s.keys));
  const auto expected = right(s, q, k, v, none, 0.5);
  Model flat;
  flat.opset(23);
  flat.input("q", {1, s.queries, s.size}), flat.input("k", {1, s.keys, s.size});
  flat.input("v", {1, s.keys, s.value_size});
  onnx::NodeProto& node = flat.node("Attention", {"q", "k", "v"}, "y");
  Model::integer(node, "q_num_heads", 1), Model::integer(node, "kv_num_heads", 1);
  flat.output("y");
  expect_near(of(flat, {q, k, v}), expected);
  // Two heads: the halves of the last axis, and so of the output's.
  Model two = flat;
  for (int a = 0; a < 2; ++a) {
    two.proto().mutable_graph()->mutable_node(0)->mutable_attribute(a)->set_i(2);
  }
  agrees(two);
  EXPECT_NE(of(two, {q, k, v}), of(flat, {q, k, v}));
  // The first two keys and values are of before.
  const std::int64_t old = 2, now = s.keys - old;
  Model past;
  past.opset(23);
  past.input("q", {1, 1, s.queries, s.size}), past.input("k", {1, 1, now, s.size});
  past.input("v", {1, 1, now, s.value_size});
  past.input("old k", {1, 1, old, s.size}), past.input("old v", {1, 1, old, s.value_size});
  onnx::NodeProto& with = past.node("Attention", {"q", "k", "v", "", "old k", "old v"}, "y");
  with.add_output("all k"), with.add_output("all v");
  for (const char* output : {"y", "all k", "all v"}) past.output(output);
  const auto part = [](const std::vector<float>& all, std::int64_t begin, std::int64_t end) {
    return std::vector<float>(all.begin() + begin, all.begin() + end);
  };
  expect_near(
      of(past, {q, part(k, old * s.size, std::ssize(k)), part(v, old * s.value_size, std::ssize(v)),
                part(k, 0, old * s.size), part(v, 0, old * s.value_size)}),
      expected);
  agrees(past);
}

TEST_F(NetworkAttention, WhatItIsAskedInVainIsNamed) {
  const auto told = [&](const std::function<void(Model&, onnx::NodeProto&)>& spoil) {
    Model model = model_of({});
    spoil(model, model.node("Attention", {"q", "k", "v"}, "y"));
    const auto graph = imported(model.text());
    return graph ? "" : graph.error().message;
  };
  EXPECT_NE(told([](auto&, auto& node) { Model::number(node, "softcap", 30); }).find("a softcap"),
            std::string::npos);
  EXPECT_NE(told([](auto& model, auto& node) {
              model.weights("mask", {3, 4});
              node.add_input("mask");
            }).find("node that makes 'y'"),
            std::string::npos);
  EXPECT_NE(told([](auto&, auto& node) {
              node.mutable_input()->RemoveLast();
            }).find("lacks keys or values"),
            std::string::npos);
  EXPECT_NE(
      told([](auto& model, auto&) {
        auto* q = model.proto().mutable_graph()->mutable_input(0);
        q->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(1)->set_dim_value(3);
      }).find("do not fit each other"),
      std::string::npos);
}

}  // namespace
}  // namespace fettle::network
