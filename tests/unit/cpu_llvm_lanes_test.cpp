// What instructions inputs become: on Arm one vector load for neighbouring channels, and
// multiply-adds by its lanes; padding.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "host/backend/backend.h"
#include "host/backend/cpu_llvm/disassemble.h"
#include "host/space/workload.h"
#include "tests/support/native_run.h"

namespace fettle::testing {
namespace {

namespace cpu = backend::cpu_llvm;

// A pointwise convolution in tiles of `rows` x 4 pixels x 2 vectors, 4 input channels a step.
struct Pointwise {
  std::vector<cpu::Instruction> code;
  std::span<const cpu::Instruction> loop;
};

Result<Pointwise> pointwise(const space::CpuTarget& target, int rows) {
  auto workload = space::Workload::parse(nlohmann::json{{"op", "conv2d"},
                                                        {"height", 4},
                                                        {"width", 8},
                                                        {"in_channels", 32},
                                                        {"out_channels", 16},
                                                        {"kernel", 1}});
  if (!workload) return std::move(workload).error();
  auto task = backend::open_task(workload->dag(), target.target());
  if (!task) return std::move(task).error();
  auto configuration =
      (*task)->space().parse(R"({"sketch":"cpu_tiled","knobs":{"register_tile":[)" +
                             std::to_string(rows) + R"(,4,2,4],"task_y":[0],"task_x":[0],
          "task_oc":[0],"task_order":[0],"tile_order":[0],"reduce_inner":[4],"reduce_order":[0],
          "unroll":[64]}})");
  if (!configuration) return std::move(configuration).error();
  auto built = (*task)->build(*configuration);
  if (!built) return std::move(built).error();
  auto code = cpu::disassemble(*built->program->images[0], target);
  if (!code) return std::move(code).error();
  Pointwise made{std::move(*code), {}};
  made.loop = cpu::hottest_loop(made.code, target.arch);
  return made;
}

TEST(InputLanes, AArch64MultipliesByEachLane) {
  auto made = pointwise(aarch64_target(), 2);
  ASSERT_TRUE(made.ok()) << made.error().text();
  int lanes[4] = {};
  for (const cpu::Instruction& each : made->loop) {
    if (!each.mnemonic.starts_with("fmla")) continue;
    for (int lane = 0; lane < 4; ++lane) {
      lanes[lane] += each.operands.ends_with("[" + std::to_string(lane) + "]");
    }
  }
  for (const int count : lanes) EXPECT_EQ(count, 16) << cpu::to_text(made->loop);
  // 8 vectors of inputs and 8 of weights, some by pairs, for 64 multiply-adds.
  const cpu::CodeCounts counts = cpu::count(made->loop, "aarch64");
  EXPECT_EQ(counts.fused, 64);
  EXPECT_LE(counts.loads, 16) << cpu::to_text(made->loop);
  EXPECT_EQ(counts.stack_accesses, 0) << cpu::to_text(made->loop);
}

// Vectors over four groups of four channels: each pixel's sixteen inputs are loaded at once, and
// each of a group's four is put into its group's lanes by one instruction.
TEST(InputLanes, Avx512SpreadsEachGroupsInputsByOnePermutation) {
  const space::CpuTarget avx512{"x86_64", "x86_64-linux-gnu", "x86-64-v4", {"+f16c"}, 512, 32, true,
                                1};
  auto workload = space::Workload::parse(nlohmann::json{{"op", "conv2d"},
                                                        {"height", 4},
                                                        {"width", 8},
                                                        {"in_channels", 64},
                                                        {"out_channels", 64},
                                                        {"groups", 16},
                                                        {"kernel", {3, 1}}});
  ASSERT_TRUE(workload.ok()) << workload.error().text();
  auto task = backend::open_task(workload->dag(), avx512.target());
  ASSERT_TRUE(task.ok()) << task.error().text();
  auto configuration =
      (*task)->space().parse(R"({"sketch":"cpu_tiled_groups","knobs":{"register_tile":[2,8,1,16],
          "task_y":[0],"task_x":[0],"task_oc":[0],"task_order":[0],"tile_order":[0],
          "reduce_inner":[4],"reduce_order":[0],"reduce_inside":[1],"unroll":[64]}})");
  ASSERT_TRUE(configuration.ok()) << configuration.error().text();
  auto built = (*task)->build(*configuration);
  ASSERT_TRUE(built.ok()) << built.error().text();
  auto code = cpu::disassemble(*built->program->images[0], avx512);
  ASSERT_TRUE(code.ok()) << code.error().text();
  const auto loop = cpu::hottest_loop(*code, "x86_64");
  const cpu::CodeCounts counts = cpu::count(loop, "x86_64");
  // 16 pixels of 4 input channels.
  EXPECT_EQ(counts.fused, 64) << cpu::to_text(loop);
  EXPECT_EQ(counts.stack_accesses, 0) << cpu::to_text(loop);
  int permutations = 0;
  for (const cpu::Instruction& each : loop) {
    permutations += each.mnemonic.starts_with("vperm") || each.mnemonic.starts_with("vshuf") ||
                    each.mnemonic.starts_with("vmovsldup") ||
                    each.mnemonic.starts_with("vbroadcast");
    EXPECT_FALSE(each.mnemonic.starts_with("vinsert") || each.mnemonic.starts_with("vgather"))
        << cpu::to_text(loop);
  }
  EXPECT_EQ(permutations, 64) << cpu::to_text(loop);
}

// A row of padding is zeros from elsewhere: under a mask a load that touches no page, as in front
// of a buffer, takes hundreds of cycles, and a kernel whose buffers lie apart took ten times as
// long.
TEST(Padding, IsReadAsZerosAndNotUnderAMask) {
  const space::CpuTarget avx512{"x86_64", "x86_64-linux-gnu", "x86-64-v4", {"+f16c"}, 512, 32, true,
                                1};
  auto workload = space::Workload::parse(nlohmann::json{{"op", "depthwise_conv2d"},
                                                        {"height", 28},
                                                        {"width", 28},
                                                        {"channels", 192},
                                                        {"kernel", 7},
                                                        {"pad", 3}});
  ASSERT_TRUE(workload.ok()) << workload.error().text();
  auto task = backend::open_task(workload->dag(), avx512.target());
  ASSERT_TRUE(task.ok()) << task.error().text();
  auto configuration =
      (*task)->space().parse(R"({"sketch":"cpu_spatial","knobs":{"register_tile":[5,1,2,8],
          "task_y":[0],"task_x":[0],"task_c":[0],"tile_order":[0],"reduce_inner":[1],
          "reduce_order":[0],"unroll":[256],"pad":[2]}})");
  ASSERT_TRUE(configuration.ok()) << configuration.error().text();
  auto built = (*task)->build(*configuration);
  ASSERT_TRUE(built.ok()) << built.error().text();
  auto code = cpu::disassemble(*built->program->images[0], avx512);
  ASSERT_TRUE(code.ok()) << code.error().text();
  int chosen = 0;
  for (const cpu::Instruction& each : *code) {
    chosen += each.mnemonic.starts_with("cmov");
    EXPECT_EQ(each.operands.find("{%k"), std::string::npos) << each.mnemonic << each.operands;
    EXPECT_FALSE(each.mnemonic.starts_with("vmaskmov")) << each.operands;
  }
  EXPECT_GT(chosen, 0);
}

// vmla.f32 q, q, d[lane]: multiplied and added with two roundings, by one instruction.
TEST(InputLanes, CortexA9MultipliesAndAddsByEachLane) {
  auto made = pointwise(armv7_target(), 1);
  ASSERT_TRUE(made.ok()) << made.error().text();
  int by_lane = 0;
  for (const cpu::Instruction& each : made->loop) {
    by_lane += each.mnemonic == "vmla.f32" && each.operands.ends_with("]");
    EXPECT_FALSE(cpu::is_fused("armv7", each.mnemonic)) << each.mnemonic;
    EXPECT_NE(each.mnemonic, "vadd.f32") << cpu::to_text(made->loop);
  }
  EXPECT_EQ(by_lane, 32) << cpu::to_text(made->loop);
}

}  // namespace
}  // namespace fettle::testing
