// Lines of AutoTVM's logs of VTA: both forms, as tilings of the same convolution here, and what is
// said of lines that are none.
#include <gtest/gtest.h>

#include <sstream>

#include <nlohmann/json.hpp>

#include "host/backend/vta/autotvm_log.h"
#include "host/space/workload.h"

namespace fettle::vta::host {
namespace {

using Json = nlohmann::json;

// 56x56x64 to 28x28x128, 3x3 by steps of 2.
Json line() {
  return {{"input",
           {"ext_dev -keys=vta,cpu -device=vta -model=pynq_1x16_i8w8a32_15_15_18_17",
            "conv2d_packed.vta",
            {{"TENSOR", {1, 4, 56, 56, 1, 16}, "int8"},
             {"TENSOR", {8, 4, 3, 3, 16, 16}, "int8"},
             {2, 2},
             {1, 1, 1, 1},
             {1, 1},
             "NCHW1n16c",
             "int32"},
            Json::object()}},
          {"config",
           {{"index", 7},
            {"code_hash", nullptr},
            {"entity",
             {{"tile_b", "sp", {-1, 1}},
              {"tile_h", "sp", {-1, 14}},
              {"tile_w", "sp", {-1, 7}},
              {"tile_ci", "sp", {-1, 2}},
              {"tile_co", "sp", {-1, 4}},
              {"oc_nthread", "ot", 2},
              {"h_nthread", "ot", 1}}}}},
          {"result", {{0.25, 0.75}, 0, 1.5, 1.6e9}},
          {"version", 0.2},
          {"tvm_version", "0.8.dev0"}};
}

Design pynq() { return find_design("pynq").value(); }
Product product(int out_channels) {
  const Json layer{{"op", "conv2d"},
                   {"layout", "NCHW1n16c"},
                   {"dtype", "int8"},
                   {"height", 56},
                   {"width", 56},
                   {"in_channels", 64},
                   {"kernel", 3},
                   {"stride", 2},
                   {"pad", 1},
                   {"out_channels", out_channels},
                   {"tail", {"shift_right 8", "clip 0 127", "cast int8"}}};
  return product_of(space::Workload::parse(layer).value().dag(), pynq()).value();
}

TEST(AutotvmLog, ALineIsATilingOfAConvolution) {
  const auto trial = parse_autotvm_trial(line().dump());
  ASSERT_TRUE(trial) << trial.error().text();
  EXPECT_DOUBLE_EQ(trial->seconds, 0.5);
  EXPECT_TRUE(is_convolution_of(*trial, product(128)));
  EXPECT_FALSE(is_convolution_of(*trial, product(64)));
  const space::SearchSpace space({sketch_of(product(128), pynq()).value()});
  const auto configuration = configuration_of(space, trial->tiling);
  ASSERT_TRUE(configuration) << configuration.error().text();
  const Tiling tiling = tiling_of(space, *configuration);
  EXPECT_EQ(tiling.rows, 14);
  EXPECT_EQ(tiling.columns, 7);
  EXPECT_EQ(tiling.in, 2);
  EXPECT_EQ(tiling.out, 4);
  EXPECT_EQ(tiling.out_threads, 2);
  EXPECT_EQ(tiling.row_threads, 1);
  EXPECT_FALSE(tiling.inputs_stay);
}

TEST(AutotvmLog, TheOlderForm) {
  const Json now = line();
  Json input = now["input"];
  input[1] = "topi_nn_conv2d";
  input[2][3] = {1, 1};
  input.push_back({"conv2d"});
  input.push_back({{"i", 7}, {"t", "direct"}, {"c", nullptr}, {"e", now["config"]["entity"]}});
  const auto trial =
      parse_autotvm_trial(Json{{"i", input}, {"r", now["result"]}, {"v", 0.1}}.dump());
  ASSERT_TRUE(trial) << trial.error().text();
  EXPECT_TRUE(is_convolution_of(*trial, product(128)));
  EXPECT_EQ(trial->tiling.columns, 7);
}

TEST(AutotvmLog, WhatDoesNotFitIsNamed) {
  Json failed = line(), other = line(), dilated = line(), without = line(), large = line();
  failed["result"] = {{1e9}, 4, 1.5, 1.6e9};
  other["input"][1] = "dense_packed.vta";
  dilated["input"][2][4] = {2, 2};
  without["config"]["entity"].erase(1);
  large["config"]["entity"][1][2] = {-1, 28};
  std::stringstream text;
  text << failed << "\n" << other << "\n\nno JSON\n" << dilated << "\n" << without << "\n" << large;
  const auto read = read_autotvm_log(text);
  ASSERT_TRUE(read.ok());
  const AutotvmLog& log = *read;
  const std::pair<std::size_t, const char*> why[] = {{1, "failed"},
                                                     {2, "dense_packed.vta"},
                                                     {4, "no JSON object"},
                                                     {5, "dilated"},
                                                     {6, "form of AutoTVM's logs"}};
  ASSERT_EQ(log.skipped.size(), std::size(why));
  for (std::size_t i = 0; i < std::size(why); ++i) {
    EXPECT_EQ(log.skipped[i].first, why[i].first);
    EXPECT_NE(log.skipped[i].second.find(why[i].second), std::string::npos)
        << log.skipped[i].second;
  }
  // Its inputs do not fit the chip.
  ASSERT_EQ(log.trials.size(), 1u);
  EXPECT_EQ(log.trials[0].first, 7u);
  Tiling tiling = log.trials[0].second.tiling;
  tiling.columns = 28;
  const space::SearchSpace space({sketch_of(product(128), pynq()).value()});
  const auto configuration = configuration_of(space, tiling);
  ASSERT_FALSE(configuration);
  EXPECT_NE(configuration.error().message.find("fit their memory"), std::string::npos)
      << configuration.error().message;
}

}  // namespace
}  // namespace fettle::vta::host
