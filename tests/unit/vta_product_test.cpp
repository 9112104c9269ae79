// What the accelerator can compute of a DAG, and the parts that its programs are made of: boxes as
// transfers, nests as loops and micro-ops, tiles in slots.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "host/backend/vta/bound.h"
#include "host/backend/vta/boxes.h"
#include "host/backend/vta/design_target.h"
#include "host/backend/vta/features.h"
#include "host/backend/vta/micro_ops.h"
#include "host/backend/vta/slots.h"
#include "host/backend/vta/tiling.h"
#include "host/space/compulsory.h"
#include "host/space/workload.h"

namespace fettle::vta::host {
namespace {

nlohmann::json layer() {
  return {{"op", "conv2d"},
          {"layout", "NCHW1n16c"},
          {"dtype", "int8"},
          {"height", 56},
          {"width", 56},
          {"in_channels", 64},
          {"out_channels", 128},
          {"kernel", 3},
          {"stride", 2},
          {"pad", 1},
          {"tail", {"shift_right 8", "clip 0 127", "cast int8"}}};
}

Design pynq() { return find_design("pynq").value(); }

Result<Product> product_of(const nlohmann::json& json) {
  return host::product_of(space::Workload::parse(json).value().dag(), pynq());
}

TEST(VtaProduct, ALayersAxes) {
  const auto p = product_of(layer());
  ASSERT_TRUE(p) << p.error().text();
  EXPECT_EQ(p->rows.extent, 28);
  EXPECT_EQ(p->rows.step, 2);
  EXPECT_EQ(p->rows.window, 3);
  EXPECT_EQ(p->rows.before, 1);
  EXPECT_EQ(p->rows.input_stride, 56);
  EXPECT_EQ(p->rows.weight_stride, 3);
  EXPECT_EQ(p->columns.input_stride, 1);
  EXPECT_EQ(p->columns.output_stride, 1);
  EXPECT_EQ(p->in.extent, 4);
  EXPECT_EQ(p->in.weight_stride, 9);
  EXPECT_EQ(p->out.extent, 8);
  EXPECT_EQ(p->out.weight_stride, 36);
  EXPECT_EQ(p->out.output_stride, 28 * 28);
  EXPECT_EQ(p->outputs(), 28 * 28 * 8);
  EXPECT_EQ(p->products(), 28 * 28 * 8 * 36);
  // Halves are rounded up: that is added before the shift, so sums begin with it.
  EXPECT_EQ(p->initial, 128);
  ASSERT_EQ(p->tail.size(), 3u);
  EXPECT_EQ(p->tail[0].op, AluOp::ShiftRight);
}

TEST(VtaProduct, WhatItCannotDoIsToldInOneLine) {
  const std::pair<nlohmann::json, const char*> bad[] = {
      {{{"dtype", "float32"}, {"tail", {"relu"}}}, "int8"},
      {{{"layout", "NCHW"}}, "blocks of 16x16"},
      {{{"layout", "NHWC"}}, "blocks of 16x16"},
      {{{"tail", {"relu"}}}, "stores int8"},
      {{{"tail", {"shift_right 8", "clip 0 100000", "clip 0 127"}}}, ""},
      {{{"kernel", 1}, {"pad", 1}}, "less than a window"},
      {{{"kernel", 33}, {"pad", 16}, {"in_channels", 16}}, "15 at most"},
  };
  for (const auto& [change, says] : bad) {
    nlohmann::json json = layer();
    json.update(change);
    const auto workload = space::Workload::parse(json);
    if (!workload) continue;  // not even an operator
    const auto product = host::product_of(workload->dag(), pynq());
    ASSERT_FALSE(product) << json;
    EXPECT_EQ(product.error().code, ErrorCode::Unsupported);
    EXPECT_NE(product.error().message.find(says), std::string::npos) << product.error().text();
    EXPECT_EQ(product.error().message.find('\n'), std::string::npos);
  }
  EXPECT_FALSE(host::product_of(
      space::Workload::parse(
          nlohmann::json{{"op", "elementwise"}, {"function", "add"}, {"shape", {4, 16}}})
          .value()
          .dag(),
      pynq()));
}

TEST(VtaProduct, BoundOfALayer) {
  const space::Workload workload = space::Workload::parse(layer()).value();
  const auto p = host::product_of(workload.dag(), pynq());
  const Bound bound = bound_of(*p, pynq(), space::compulsory_bytes(workload.dag()));
  EXPECT_EQ(bound.gemm_cycles, 225792u);
  EXPECT_EQ(bound.sum_cycles, 6272u * 4);  // begun, shifted, clipped from below and above
  EXPECT_DOUBLE_EQ(bound.cycles(), 225792 + 25088);
  EXPECT_NE(bound.text(*p).find("max(225792 + 25088, "), std::string::npos) << bound.text(*p);
  EXPECT_EQ(bound_of(*p, find_design("vta-stock").value(), 0).sum_cycles, 6272u * 8);
}

TEST(VtaProduct, TargetsSayTheirDesign) {
  wire::DeviceInfoT device;
  device.key = "vta-sim";
  device.kind = wire::DeviceKind::Vta;
  EXPECT_EQ(DesignTarget::of(device).error().code, ErrorCode::Unsupported);
  device.fpga = std::make_unique<wire::FpgaFactsT>();
  device.fpga->configuration = configuration_of(pynq());
  device.memory_limit_bytes = 1 << 27;
  const auto target = DesignTarget::of(device);
  ASSERT_TRUE(target) << target.error().text();
  EXPECT_EQ(target->target().memory_bytes(), 1 << 27);
  EXPECT_EQ(DesignTarget::parse(target->target())->design.name, "pynq");
  device.fpga->configuration = "pynq " + std::string(64, '0');
  EXPECT_EQ(DesignTarget::of(device).error().code, ErrorCode::WrongConfiguration);
  device.fpga->configuration = "other " + std::string(64, '0');
  EXPECT_EQ(DesignTarget::of(device).error().code, ErrorCode::NotFound);
}

std::vector<Piece> pieces(std::vector<BoxAxis> axes, std::int64_t* elements = nullptr) {
  std::vector<BoxAxis*> all;
  for (BoxAxis& axis : axes) all.push_back(&axis);
  const std::int64_t count = lay_out(all);
  if (elements) *elements = count;
  return pieces_of(all);
}

TEST(VtaBoxes, WhatLiesSideBySideIsOneRow) {
  // Whole rows of two blocks: a row each. Of all blocks: one row.
  const auto rows = pieces({{4, 56}, {56, 1}, {2, 56 * 56}});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].rows, 2);
  EXPECT_EQ(rows[0].columns, 4 * 56);
  EXPECT_EQ(rows[0].stride, 56 * 56);
  const auto all = pieces({{56, 56}, {56, 1}, {2, 56 * 56}});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].rows, 1);
  EXPECT_EQ(all[0].columns, 2 * 56 * 56);
}

TEST(VtaBoxes, ZerosAroundAreTheLoadsOwn) {
  std::int64_t elements = 0;
  const auto padded = pieces({{5, 56, 1, 0}, {55, 1, 1, 2}, {3, 56 * 56}}, &elements);
  EXPECT_EQ(elements, 6 * 58 * 3);
  ASSERT_EQ(padded.size(), 3u);
  EXPECT_EQ(padded[2].on_chip, 2 * 6 * 58);
  EXPECT_EQ(padded[2].dram, 2 * 56 * 56);
  EXPECT_EQ(padded[2].top, 1);
  EXPECT_EQ(padded[2].left, 1);
  EXPECT_EQ(padded[2].right, 2);
  EXPECT_TRUE(pieces({{5, 56, 1, 0}, {55, 1, 1, 2}, {3, 56 * 56, 1}}).empty());
}

TEST(VtaNests, TwoLoopsAndTheRestMicroOps) {
  // Rows and columns of outputs, two blocks of each side, a window of 3x3.
  const NestAxis axes[] = {{2, 28, 0, 18}, {4, 7, 9, 0}, {7, 1, 1, 0},
                           {2, 0, 54, 9},  {3, 0, 9, 3}, {3, 0, 1, 1}};
  const auto nest = nest_of(pynq(), axes, {100, 200, 300});
  ASSERT_TRUE(nest);
  EXPECT_EQ(nest->loops.steps(), 2u * 4 * 7 * 2 * 9);
  // The window's rows and columns meet in the weights, not in the inputs: nothing can be joined.
  EXPECT_EQ(nest->uops.size(), 2u * 2 * 9);
  EXPECT_EQ(nest->uops[0].dst, 100);
  // A pipeline that needs two steps between those of one sum has all outputs next to each other.
  const auto stock = nest_of(find_design("vta-stock").value(), axes, {0, 0, 0});
  ASSERT_TRUE(stock);
  EXPECT_NE(stock->uops[0].dst, stock->uops[1].dst);
  const NestAxis one[] = {{9, 0, 1, 1}};
  EXPECT_TRUE(nest_of(pynq(), one, {}));
  EXPECT_FALSE(nest_of(find_design("vta-stock").value(), one, {}));
}

TEST(VtaNests, EqualMicroOpsAreKeptOnce) {
  MicroOpTable table(4);
  const std::vector<MicroOp> a{{1, 2, 3}, {4, 5, 6}}, b{{7, 8, 9}}, c{{0, 0, 0}, {1, 1, 1}};
  EXPECT_FALSE(table.place(a));
  EXPECT_FALSE(table.place(b));
  EXPECT_FALSE(table.place(a));
  EXPECT_EQ(table.begin_of(b), 2);
  EXPECT_EQ(table.loaded(), 3u);
  EXPECT_TRUE(table.place(c));  // begins a load of its own
  EXPECT_EQ(table.begin_of(c), 0);
  EXPECT_EQ(table.first(), 3u);
  EXPECT_EQ(table.all().size(), 5u);
}

TEST(VtaSlots, AsManyAsPayAndOneMoreForLoadingAhead) {
  const std::int64_t same[] = {0, 1, 2, 0, 1, 2, 0, 1, 2};
  EXPECT_EQ(loads_of(same, 4), (std::vector<std::size_t>{9, 9, 3, 3}));
  Slots two(2), three(3);
  std::size_t with_two = 0, with_three = 0;
  for (const std::int64_t tile : same) {
    with_two += two.request(tile).load;
    with_three += three.request(tile).load;
  }
  EXPECT_EQ(with_two, 9u);
  EXPECT_EQ(with_three, 3u);
  EXPECT_EQ(slots_for(same, 8), 3u);
  EXPECT_EQ(slots_for(same, 2), 2u);
  const std::int64_t stream[] = {0, 1, 2, 3, 4};
  EXPECT_EQ(slots_for(stream, 8), 2u);
  EXPECT_EQ(slots_for(stream, 1), 1u);
}

// Neighbouring values of knobs are feasible together or named by the constraint that they break.
TEST(VtaTiling, OnlyWhatFitsTheChip) {
  const auto p = product_of(layer());
  const space::SearchSpace space({sketch_of(*p, pynq()).value()});
  const auto parse = [&](int rows, int out, int threads) {
    return space.parse(nlohmann::json{{"sketch", "vta_product"},
                                      {"knobs",
                                       {{"tile_h", {rows}},
                                        {"tile_w", {28}},
                                        {"tile_ci", {1}},
                                        {"tile_co", {out}},
                                        {"oc_nthread", {threads}},
                                        {"h_nthread", {1}},
                                        {"inputs_stay", {1}},
                                        {"store_pieces", {1}}}}}
                           .dump());
  };
  EXPECT_TRUE(parse(14, 4, 1)) << parse(14, 4, 1).error().text();
  EXPECT_NE(parse(14, 4, 2).error().message.find("virtual threads fit"), std::string::npos);
  EXPECT_NE(parse(28, 2, 1).error().message.find("inputs of a tile"), std::string::npos);
  EXPECT_NE(parse(2, 8, 2).error().message.find("along output channels"), std::string::npos);
}

TEST(VtaFeatures, OneForEachNameAndWhatIsHopelessIsScreened) {
  const auto p = product_of(layer());
  const Bound bound = bound_of(*p, pynq(), 1);
  Tiling good;
  good.rows = 7, good.columns = 28, good.in = 2, good.out = 4;
  const auto features = features_of(pynq(), generate(*p, pynq(), good).value());
  EXPECT_EQ(features.size(), feature_names().size());
  EXPECT_EQ(screened(features, bound), nullptr);
  EXPECT_NE(screened(features, Bound{bound.gemm_cycles / 8, bound.sum_cycles / 8, 1}), nullptr);
}

}  // namespace
}  // namespace fettle::vta::host
