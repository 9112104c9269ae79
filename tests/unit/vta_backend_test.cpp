// The accelerator's row: tasks opened through the table of back ends, their programs, facts and
// features; and what is said where it cannot do a task.
#include <gtest/gtest.h>

#include <random>

#include <nlohmann/json.hpp>

#include "host/backend/backend.h"
#include "host/backend/vta/design_target.h"
#include "host/model/task_list.h"
#include "schemas/wire/codec.h"

namespace fettle::vta::host {
namespace {

DesignTarget pynq() { return {find_design("pynq").value(), std::int64_t{128} << 20}; }

TEST(VtaBackend, ItsTasksBuildProgramsThatPassTheWire) {
  const auto list = model::load_network("resnet-18-vta").value();
  std::mt19937_64 rng(1);
  for (const space::Task& each : list.tasks) {
    const auto task = backend::open_task(each.workload.dag(), pynq().target());
    ASSERT_TRUE(task) << task.error().text();
    const space::Configuration c = (*task)->space().random(rng);
    const auto built = (*task)->build(c);
    ASSERT_TRUE(built) << built.error().text();
    EXPECT_EQ((*task)->features(c).value(), built->facts->features);
    EXPECT_EQ((*task)->facts(c)->integer_operations, built->facts->integer_operations);
    EXPECT_GE(built->facts->integer_operations, each.workload.operations());
    EXPECT_GT(built->facts->compulsory_bytes, 0);
    const auto program = decode_program(encode(*built->program));
    ASSERT_TRUE(program) << program.error().text();
    EXPECT_EQ((*program).images[0]->configuration, configuration_of(pynq().design));
  }
}

TEST(VtaBackend, ExplainedAfterEachPass) {
  const auto list = model::load_network("resnet-18-vta").value();
  const auto task = backend::open_task(list.tasks[1].workload.dag(), pynq().target()).value();
  std::mt19937_64 rng(1);
  const space::Configuration c = task->space().random(rng);
  EXPECT_EQ(task->explain(c, "generate")->find("push_"), std::string::npos);
  EXPECT_NE(task->explain(c, "tokens")->find("push_"), std::string::npos);
  EXPECT_NE(task->explain(c, "unroll").error().message.find("generate, tokens"), std::string::npos);
  EXPECT_NE(task->explain(c, "")->find("bound: max(25088 + 25088, "), std::string::npos);
}

TEST(VtaBackend, PoolsTheLargest) {
  const nlohmann::json layer = {{"op", "max_pool2d"}, {"layout", "NCHW1n16c"}, {"dtype", "int8"},
                                {"height", 112},      {"width", 112},          {"channels", 64},
                                {"kernel", 3},        {"stride", 2},           {"pad", 1}};
  const auto workload = space::Workload::parse(layer).value();
  const auto task = backend::open_task(workload.dag(), pynq().target());
  ASSERT_TRUE(task) << task.error().text();
  std::mt19937_64 rng(1);
  const space::Configuration c = (*task)->space().random(rng);
  // 4 blocks of 112 x 112 inputs; along each axis one of 56 x 3 places is beside the image.
  EXPECT_NE((*task)->explain(c, "")->find("50176 x 2 cycles: 100352 cycles"), std::string::npos);
  EXPECT_NE((*task)->explain(c, "")->find("111556 x 2 cycles: 223112 cycles"), std::string::npos);
  EXPECT_EQ((*task)->features(c).value(), (*task)->build(c)->facts->features);
  nlohmann::json other = layer;
  other["layout"] = "NCHW";
  const auto refused =
      backend::open_task(space::Workload::parse(other).value().dag(), pynq().target());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("in blocks of 16 channels"), std::string::npos);
  other = layer;
  other["tail"] = {"relu"};
  EXPECT_EQ(space::Workload::parse(other).error().code, ErrorCode::Unsupported);
}

TEST(VtaBackend, WhatItCannotDoIsUnsupported) {
  const auto list = model::load_network("resnet-18").value();
  const auto float_task = backend::open_task(list.tasks[0].workload.dag(), pynq().target());
  ASSERT_FALSE(float_task);
  EXPECT_EQ(float_task.error().code, ErrorCode::Unsupported);
  DesignTarget small = pynq();
  small.memory_bytes = 1 << 16;
  const auto vta = model::load_network("resnet-18-vta").value();
  const auto large = backend::open_task(vta.tasks[0].workload.dag(), small.target());
  ASSERT_FALSE(large);
  EXPECT_NE(large.error().message.find("the device takes 65536"), std::string::npos);
  EXPECT_EQ(backend::calibration_programs(pynq().target()).error().code, ErrorCode::Unsupported);
}

// By whom its streams are run is nothing to a program, nor to what was learned.
TEST(VtaBackend, DevicesBehindXrtHaveTheSameTargets) {
  wire::DeviceInfoT device;
  device.key = "zcu104";
  device.fpga = std::make_unique<wire::FpgaFactsT>();
  device.fpga->configuration = configuration_of(find_design("zcu104").value());
  device.memory_limit_bytes = 1 << 27;
  device.kind = wire::DeviceKind::Vta;
  const auto plain = backend::target_for(device);
  device.kind = wire::DeviceKind::Xrt;
  const auto behind = backend::target_for(device);
  ASSERT_TRUE(plain && behind) << behind.error().text();
  EXPECT_EQ(behind->canonical(), plain->canonical());
}

TEST(VtaBackend, OneDesignTeachesItselfAlone) {
  const backend::Backend* row = backend::find_backend(kBackend);
  ASSERT_NE(row, nullptr);
  const DesignTarget stock{find_design("vta-stock").value(), 0};
  EXPECT_TRUE(row->teaches(pynq().target(), pynq().target()));
  EXPECT_FALSE(row->teaches(stock.target(), pynq().target()));
  EXPECT_EQ(row->local_devices()[0].key, "vta-sim");
}

}  // namespace
}  // namespace fettle::vta::host
