// Random small workloads for property tests, odd shapes among them, and the
// targets they are lowered for.
#pragma once

#include <random>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "host/space/target.h"
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

  nlohmann::json fields(const std::string& op) {
    nlohmann::json json = {{"op", op}};
    if (op == "dense") {
      json.update({{"batch", one_of({1, 1, 2, 3, 5})},
                   {"in_features", number(1, 40)},
                   {"out_features", number(1, 70)}});
      return json;
    }
    json.update(
        {{"batch", one_of({1, 1, 1, 2})}, {"height", number(1, 9)}, {"width", number(1, 9)}});
    if (op != "global_avg_pool2d") {
      json.update({{"kernel", {number(1, 3), number(1, 3)}},
                   {"stride", {number(1, 2), number(1, 2)}},
                   {"pad", {number(0, 2), number(0, 2)}}});
    }
    if (op == "conv2d") {
      json.update({{"in_channels", one_of({1, 2, 3, 4, 5, 6, 7, 8, 12})},
                   {"out_channels", channels()},
                   {"dilation", {number(1, 2), number(1, 2)}}});
      return json;
    }
    json["channels"] = channels();
    json["layout"] = number(0, 2) ? "NHWC" : "NCHW";
    if (op == "depthwise_conv2d") json["dilation"] = {number(1, 2), number(1, 2)};
    if (op == "avg_pool2d") json["count_include_pad"] = number(0, 1);
    return json;
  }

  nlohmann::json tail() {
    nlohmann::json steps = nlohmann::json::array();
    for (const char* step : {"bias", "add", "relu"}) {
      if (number(0, 1)) steps.push_back(step);
    }
    return steps;
  }

 private:
  std::mt19937_64& rng_;
};

// Every operator that has a row in the table, convolutions more often.
inline space::Workload random_workload(std::mt19937_64& rng) {
  static const std::vector<std::string> kOperators = {
      "conv2d",           "conv2d",     "dense",      "depthwise_conv2d",
      "depthwise_conv2d", "max_pool2d", "avg_pool2d", "global_avg_pool2d"};
  RandomFields random(rng);
  for (;;) {
    nlohmann::json json =
        random.fields(kOperators[std::size_t(random.number(0, int(kOperators.size()) - 1))]);
    json["tail"] = random.tail();
    auto workload = space::Workload::parse(json);
    if (workload) return std::move(*workload);  // else the kernel was larger than the input
  }
}

// Vector lengths and register files of the three architectures, without fused
// multiply-add where the interpreter cannot tell anyway.
inline std::vector<space::Target> small_targets() {
  space::Target avx512{"cpu_llvm", "x86_64", "x86_64-linux-gnu", "x86-64-v4", {}, 512, 32, true, 2};
  space::Target avx2{"cpu_llvm", "x86_64", "x86_64-linux-gnu", "x86-64-v3", {}, 256, 16, true, 1};
  space::Target a72{"cpu_llvm", "aarch64", "aarch64-linux-gnu", "cortex-a72", {}, 128, 32, true, 3};
  space::Target a9{"cpu_llvm", "armv7", "armv7-linux-gnueabihf", "cortex-a9", {}, 128, 16,
                   false,      2};
  return {avx512, avx2, a72, a9};
}

}  // namespace fettle::property
