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

inline space::Workload random_workload(std::mt19937_64& rng) {
  const auto number = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(rng);
  };
  const auto one_of = [&](std::vector<int> values) {
    return values[std::size_t(number(0, int(values.size()) - 1))];
  };
  for (;;) {
    nlohmann::json json;
    if (number(0, 4) == 0) {
      json = {{"op", "dense"},
              {"batch", one_of({1, 1, 2, 3, 5})},
              {"in_features", number(1, 40)},
              {"out_features", number(1, 70)}};
    } else if (number(0, 3) == 0) {  // what Winograd's algorithm takes
      json = {{"op", "conv2d"},
              {"batch", one_of({1, 1, 2})},
              {"height", number(4, 11)},
              {"width", number(4, 11)},
              {"in_channels", one_of({8, 9, 12, 16, 19})},
              {"out_channels", one_of({8, 11, 16, 20, 33})},
              {"kernel", {3, 3}},
              {"pad", {number(0, 2), number(0, 2)}}};
    } else {
      json = {{"op", "conv2d"},
              {"batch", one_of({1, 1, 1, 2})},
              {"height", number(1, 9)},
              {"width", number(1, 9)},
              {"in_channels", one_of({1, 2, 3, 4, 5, 6, 7, 8, 12})},
              {"out_channels", one_of({1, 2, 3, 4, 5, 7, 8, 11, 16, 20, 33})},
              {"kernel", {number(1, 3), number(1, 3)}},
              {"stride", {number(1, 2), number(1, 2)}},
              {"pad", {number(0, 2), number(0, 2)}},
              {"dilation", {number(1, 2), number(1, 2)}}};
    }
    json["tail"] = nlohmann::json::array();
    for (const char* step : {"bias", "add", "relu"}) {
      if (number(0, 1)) json["tail"].push_back(step);
    }
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
