// Random small workloads for property tests, odd shapes among them, and the
// targets they are lowered for.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "host/space/cpu_target.h"
#include "host/space/workload.h"

namespace fettle::property {

// Draws the fields of one random workload.
class RandomFields {
 public:
  explicit RandomFields(std::mt19937_64& rng) : rng_(rng) {}
  int number(int low, int high) { return std::uniform_int_distribution<int>(low, high)(rng_); }
  int one_of(const std::vector<int>& values) {
    return values[std::size_t(number(0, int(values.size()) - 1))];
  }
  int channels() { return one_of({1, 2, 3, 4, 5, 7, 8, 11, 16, 20, 33}); }

  // Two numbers, each on its own: windows are seldom square here.
  std::vector<int> pair(int low, int high) { return {number(low, high), number(low, high)}; }
  // Mostly 1 and 2, so that windows stay smaller than the small images.
  std::vector<int> steps() { return {one_of({1, 1, 2, 2, 3}), one_of({1, 1, 2, 2, 3})}; }

  std::vector<int> shape(int axes, int most) {
    std::vector<int> out;
    while (int(out.size()) < axes) out.push_back(number(1, most));
    return out;
  }

  // Operators on tensors whose axes have no names of their own.
  nlohmann::json tensor_fields(const std::string& op) {
    nlohmann::json json = {{"op", op}};
    const std::vector<int> extents = shape(number(1, 4), 9);
    json["shape"] = extents;
    const int rank = int(extents.size());
    if (op == "elementwise") {
      static const std::vector<std::string> kFunctions = {"add",    "subtract", "multiply",
                                                          "divide", "maximum",  "minimum"};
      json["function"] = kFunctions[std::size_t(number(0, 5))];
      std::vector<int> other(extents.end() - number(0, rank), extents.end());
      for (int& extent : other) {
        if (number(0, 2) == 0) extent = 1;
      }
      json["shape_b"] = other;
    } else if (op == "pad") {
      json.update(
          {{"before", shape(rank, 3)}, {"after", shape(rank, 3)}, {"value", number(-1, 1)}});
      json["before"][0] = 0;
    } else if (op == "transpose") {
      std::vector<int> order(extents.size());
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), rng_);
      json["permutation"] = order;
    } else {
      static const std::vector<std::string> kFunctions = {"sum", "mean", "max", "min"};
      json["function"] = kFunctions[std::size_t(number(0, 3))];
      std::vector<int> axes;
      for (int d = 0; d < rank; ++d) {
        if (number(0, 1) || (d + 1 == rank && axes.empty())) axes.push_back(d);
      }
      json["axes"] = axes;
    }
    return json;
  }

  nlohmann::json fields(const std::string& op) {
    if (op == "elementwise" || op == "pad" || op == "transpose" || op == "reduce")
      return tensor_fields(op);
    nlohmann::json json = {{"op", op}};
    if (op == "softmax" || op == "layer_norm") {
      json.update(
          {{"batch", number(1, 5)}, {"features", one_of({1, 5, 8, 16, 24, 30, 33, 64, 128})}});
      return json;
    }
    if (op == "conv3d") {
      json.update({{"depth", number(1, 5)},
                   {"height", number(1, 6)},
                   {"width", number(1, 7)},
                   {"in_channels", number(1, 6)},
                   {"out_channels", channels()},
                   {"kernel", shape(3, 3)},
                   {"stride", shape(3, 2)},
                   {"pad", {number(0, 1), number(0, 2), number(0, 1)}},
                   {"dilation", shape(3, 2)}});
      return json;
    }
    if (op == "conv2d_transpose") {
      json.update({{"batch", number(1, 2)},
                   {"height", number(1, 6)},
                   {"width", number(1, 6)},
                   {"in_channels", number(1, 6)},
                   {"out_channels", channels()},
                   {"kernel", shape(2, 5)},
                   {"stride", shape(2, 3)},
                   {"pad", pair(0, 2)},
                   {"output_pad", pair(0, 1)}});
      return json;
    }
    if (op == "batch_matmul") {
      json.update({{"batch", number(1, 3)},
                   {"m", number(1, 9)},
                   {"n", number(1, 40)},
                   {"k", number(1, 20)}});
      return json;
    }
    if (op == "dense") {
      json.update({{"batch", one_of({1, 1, 2, 3, 5})},
                   {"in_features", number(0, 2) ? number(1, 40) : number(100, 400)},
                   {"out_features", number(1, 70)}});
      return json;
    }
    json.update(
        {{"batch", one_of({1, 1, 1, 2})}, {"height", number(1, 9)}, {"width", number(1, 9)}});
    if (op != "global_avg_pool2d") {
      json.update({{"kernel", {one_of({1, 1, 2, 3, 3, 5}), one_of({1, 2, 3, 3, 4})}},
                   {"stride", steps()},
                   {"pad", pair(0, 2)}});
    }
    if (op == "conv2d") {
      // Groups of few channels are what a vector may hold several of.
      const int groups = number(0, 2) ? 1 : one_of({2, 3, 4, 5, 8, 16, 20});
      const int in_most = groups > 5 ? 5 : 12;
      json.update({{"in_channels", number(1, in_most) * groups},
                   {"out_channels",
                    groups == 1 ? channels() : one_of({1, 2, 2, 3, 4, 4, 5, 8, 8, 9, 16}) * groups},
                   {"dilation", steps()},
                   {"groups", groups},
                   {"layout", number(0, 1) ? "NHWC" : "NCHW"}});
      return json;
    }
    json["channels"] = channels();
    json["layout"] = number(0, 2) ? "NHWC" : "NCHW";
    if (op == "depthwise_conv2d") json["dilation"] = steps();
    if (op == "avg_pool2d") json["count_include_pad"] = number(0, 1);
    return json;
  }

  // Of int8 operators: bits that bring most sums of `length` products into its
  // range; length 0: values that are no products.
  nlohmann::json quantized_tail(double length) {
    nlohmann::json steps = nlohmann::json::array();
    if (number(0, 1)) steps.push_back("bias");
    const int bits = length == 0 ? 3 : 7 + int(std::lround(std::log2(std::sqrt(length))));
    if (number(0, 4) == 0) return steps;  // the sums themselves
    steps.push_back(number(0, 2) ? "shift_right " + std::to_string(bits) : "requantize");
    if (number(0, 1)) steps.push_back("relu");
    steps.push_back(number(0, 1) ? "clip -128 127" : "clip -100 90");
    if (number(0, 2)) steps.push_back("cast int8");
    return steps;
  }

  nlohmann::json tail() {
    std::vector<std::string> steps;
    if (number(0, 1)) steps.push_back("bias");
    if (number(0, 3) == 0) steps.push_back("multiply");
    if (number(0, 1)) steps.push_back("add");
    // Most tails end with one; relu is the one that most networks have.
    static const std::vector<std::string> kActivations = {"relu",           "relu6",   "clip -1 2",
                                                          "leaky_relu 0.1", "sigmoid", "swish",
                                                          "hard_swish",     "gelu",    "tanh"};
    const int choice = number(0, 11);
    if (choice < 2) steps.push_back("relu");
    if (choice >= 3) steps.push_back(kActivations[std::size_t(choice - 3)]);
    if (number(0, 4) == 0) std::shuffle(steps.begin(), steps.end(), rng_);
    return steps;
  }

 private:
  std::mt19937_64& rng_;
};

// Every operator that has a row in the table, convolutions more often.
// int8: only operators that sum products, and that type.
inline space::Workload random_workload(std::mt19937_64& rng, bool int8 = false) {
  static const std::vector<std::string> kOperators = {
      "conv2d",       "conv2d",           "conv2d",
      "dense",        "depthwise_conv2d", "depthwise_conv2d",
      "max_pool2d",   "avg_pool2d",       "global_avg_pool2d",
      "batch_matmul", "elementwise",      "pad",
      "transpose",    "reduce",           "softmax",
      "layer_norm",   "conv3d",           "conv2d_transpose"};
  RandomFields random(rng);
  for (;;) {
    nlohmann::json json =
        random.fields(kOperators[std::size_t(random.number(0, int(kOperators.size()) - 1))]);
    json["tail"] = random.tail();
    const std::string op = json["op"];
    const bool products = op == "conv2d" || op == "dense" || op == "depthwise_conv2d" ||
                          op == "conv3d" || op == "conv2d_transpose" || op == "batch_matmul";
    if (int8 && !products) continue;
    const bool real =
        op == "softmax" || op == "layer_norm" || json.value("function", "") == "divide";
    if (!real && (int8 || random.number(0, 2) == 0)) {
      double length = json.value("in_features", 1) * json.value("in_channels", 1);
      for (const int extent : json.value("kernel", std::vector<int>{})) length *= extent;
      json["tail"] = random.quantized_tail(
          products ? length * json.value("k", 1) / json.value("groups", 1) : 0);
      json["dtype"] = "int8";
    } else if (random.number(0, 2) == 0) {
      json["dtype"] = "float16";
    }
    auto workload = space::Workload::parse(json);
    if (workload) return std::move(*workload);  // else the kernel was larger than the input
  }
}

// A convolution that Winograd's algorithm is worth trying for, of 8 channels at least.
inline space::Workload random_winograd_workload(std::mt19937_64& rng, bool float16 = false) {
  RandomFields random(rng);
  nlohmann::json json = {{"op", "conv2d"},
                         {"batch", random.one_of({1, 1, 2})},
                         {"height", random.number(4, 11)},
                         {"width", random.number(4, 11)},
                         {"kernel", {3, 3}},
                         {"pad", random.pair(1, 2)},
                         {"in_channels", random.number(8, 20)},
                         {"out_channels", random.number(8, 36)},
                         {"layout", random.number(0, 2) ? "NHWC" : "NCHW"},
                         {"dtype", float16 ? "float16" : "float32"},
                         {"tail", random.tail()}};
  return *space::Workload::parse(json);
}

// Vector lengths and register files of the three architectures, without fused
// multiply-add where the interpreter cannot tell anyway.
inline std::vector<space::CpuTarget> small_targets() {
  space::CpuTarget avx512{"x86_64", "x86_64-linux-gnu", "x86-64-v4", {"+f16c"}, 512, 32, true, 2};
  space::CpuTarget avx2{"x86_64", "x86_64-linux-gnu", "x86-64-v3", {"+f16c"}, 256, 16, true, 1};
  space::CpuTarget vnni = avx512;
  vnni.features = {"+avx512vl", "+avx512vnni", "+f16c"};
  space::CpuTarget a72{"aarch64", "aarch64-linux-gnu", "cortex-a72", {}, 128, 32, true, 3};
  space::CpuTarget a9{"armv7", "armv7-linux-gnueabihf", "cortex-a9", {}, 128, 16, false, 2};
  space::CpuTarget a76 = a72;
  a76.cpu = "cortex-a76", a76.features = {"+dotprod"};
  return {avx512, vnni, avx2, a72, a76, a9};
}

}  // namespace fettle::property
