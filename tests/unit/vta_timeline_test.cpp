// A stream's time, and its picture: each unit's work is in it, as much as there is.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "host/backend/vta/design_target.h"
#include "host/backend/vta/timeline_picture.h"
#include "host/space/workload.h"

namespace fettle::vta::host {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size()) ++found;
  return found;
}

TEST(VtaTimeline, ASmallLayer) {
  const Design design = find_design("pynq").value();
  const nlohmann::json layer{
      {"op", "conv2d"},     {"layout", "NCHW1n16c"},
      {"dtype", "int8"},    {"height", 14},
      {"width", 14},        {"in_channels", 32},
      {"out_channels", 32}, {"kernel", 3},
      {"pad", 1},           {"tail", {"shift_right 8", "clip 0 127", "cast int8"}}};
  const Product product = product_of(space::Workload::parse(layer).value().dag(), design).value();
  Tiling tiling;
  tiling.rows = tiling.columns = 14;
  tiling.in = 1;
  tiling.out = 2;
  auto program = generate(product, design, tiling).value();
  const Stream stream = finish_stream(design, std::move(program.code)).value();
  const auto time = time_of(design, stream);
  ASSERT_TRUE(time) << time.error().text();
  EXPECT_EQ(time->spans.size(), stream.instructions.size());
  const std::uint64_t compute = time->busy_cycles(Unit::Compute);
  EXPECT_GE(compute, time->run.step_cycles);
  EXPECT_LE(compute, time->run.cycles);
  for (const auto& of : time->busy) {
    for (std::size_t i = 1; i < of.size(); ++i) EXPECT_GT(of[i].first, of[i - 1].second);
  }
  // It is short: the closer look shows each instruction, once.
  const std::string picture = timeline_picture(stream, *time);
  EXPECT_EQ(count(picture, "<svg"), 2u);
  EXPECT_EQ(count(picture, "</svg>"), 2u);
  std::size_t stores = 0;
  for (const Instruction& each : stream.instructions) {
    stores += std::holds_alternative<Store>(each.body);
  }
  EXPECT_EQ(count(picture, "STORE OUT"), stores);
  EXPECT_NE(picture.find(std::to_string(time->run.cycles) + " cycles"), std::string::npos);
}

}  // namespace
}  // namespace fettle::vta::host
