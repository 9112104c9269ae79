// The CUDA back end beside toolkits and devices: ptxas's report, cubins, calibration, targets.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "host/backend/cuda_ptx/program.h"
#include "host/backend/cuda_ptx/ptxas.h"
#include "schemas/wire/codec.h"
#include "tests/unit/cuda_ptx_case.h"

namespace fettle::backend {
namespace {

TEST(CudaPtx, PtxasReportIsRead) {
  const auto kernels = cuda_ptx::read_report(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'fettle_a' for 'sm_90'\n"
      "ptxas info    : Function properties for fettle_a\n"
      "    8 bytes stack frame, 16 bytes spill stores, 24 bytes spill loads\n"
      "ptxas info    : Used 40 registers, used 1 barriers, 8 bytes cumulative stack size, 2048 "
      "bytes smem\n"
      "ptxas info    : Compiling entry function 'fettle_b' for 'sm_90'\n"
      "ptxas info    : Used 12 registers, used 0 barriers\n");
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].name, "fettle_a");
  EXPECT_EQ(kernels[0].registers, 40);
  EXPECT_EQ(kernels[0].stack_bytes, 8);
  EXPECT_EQ(kernels[0].spill_store_bytes, 16);
  EXPECT_EQ(kernels[0].spill_load_bytes, 24);
  EXPECT_EQ(kernels[0].shared_bytes, 2048);
  EXPECT_EQ(kernels[1].registers, 12);
  EXPECT_EQ(kernels[1].shared_bytes, 0);
}

TEST(CudaPtx, ACubinWhereTheDriverTakesIt) {
  const auto* ptxas = cuda_ptx::ptxas_for(target(90));
  if (!ptxas) GTEST_SKIP() << "no ptxas on this machine (./dev setup cuda)";
  const auto task = task_of(kMatrices, target(90, ptxas->cuda));
  ASSERT_TRUE(task);
  const auto built = task->build(chosen(*task, kTiles));
  ASSERT_TRUE(built) << built.error().text();
  EXPECT_EQ(built->program->images[0]->kind, wire::ImageKind::Cubin);
  EXPECT_TRUE(check_program(*built->program));
  const auto refused = cuda_ptx::assemble("nonsense", target(90));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::BuildError);
}

// An old driver's GPU: the text is judged here, and sent as text.
TEST(CudaPtx, ANewerPtxasJudgesOnly) {
  const auto old = target(90, 1205);
  const auto* ptxas = cuda_ptx::ptxas_for(old);
  if (!ptxas || ptxas->cuda <= old.driver) GTEST_SKIP() << "no ptxas newer than 12.5 here";
  const auto task = task_of(kMatrices, old);
  ASSERT_TRUE(task);
  const auto built = task->build(chosen(*task, kTiles));
  ASSERT_TRUE(built) << built.error().text();
  EXPECT_EQ(built->program->images[0]->kind, wire::ImageKind::Ptx);
}

TEST(CudaPtx, TheAssemblerThatKnowsTheCapability) {
  const auto here = cuda_ptx::ptxas_here();
  if (here.empty()) GTEST_SKIP() << "no ptxas on this machine (./dev setup cuda)";
  for (const int sm : {53, 62, 72, 75, 90, 110}) {
    const bool known = std::any_of(here.begin(), here.end(), [&](const cuda_ptx::Ptxas& p) {
      return std::count(p.capabilities.begin(), p.capabilities.end(), sm) > 0;
    });
    const auto* chosen = cuda_ptx::ptxas_for(target(sm, 1209));
    ASSERT_EQ(chosen != nullptr, known) << sm;
    if (!chosen) continue;
    EXPECT_GT(std::count(chosen->capabilities.begin(), chosen->capabilities.end(), sm), 0) << sm;
    for (const auto& other : here) {  // none whose cubins the driver loads is passed over
      const bool loads = other.cuda <= 1209 &&
                         std::count(other.capabilities.begin(), other.capabilities.end(), sm) > 0;
      EXPECT_TRUE(!loads || chosen->cuda <= 1209) << sm;
    }
  }
}

TEST(CudaPtx, Calibration) {
  const auto programs = calibration_programs(target().target());
  ASSERT_TRUE(programs) << programs.error().text();
  ASSERT_EQ(programs->size(), 4u);
  for (const CalibrationProgram& each : *programs) {
    EXPECT_TRUE(check_program(each.program)) << each.name;
    EXPECT_EQ(each.threads, 1) << each.name;
  }
  EXPECT_EQ((*programs)[0].operations, 2.0 * 16 * 8 * 256 * 8 * 2048);
  EXPECT_EQ((*programs)[1].bytes, double(512 << 20));
  const std::string read((*programs)[1].program.images[0]->bytes.begin(),
                         (*programs)[1].program.images[0]->bytes.end());
  EXPECT_NE(read.find("ld.global.nc.v4"), std::string::npos) << read;
}

TEST(CudaPtx, TargetsOfDevices) {
  wire::DeviceInfoT device;
  device.key = "local-cuda", device.kind = wire::DeviceKind::Cuda;
  device.gpu = std::make_unique<wire::GpuFactsT>();
  device.gpu->compute_capability = "9.0", device.gpu->api_version = "CUDA 12.4";
  const HardwareValue corrections[] = {{"shared_bytes", 4096}, {"compute_units", 7}};
  const auto made = target_for(device, corrections);
  ASSERT_TRUE(made) << made.error().text();
  const auto gpu = space::GpuTarget::parse(*made, kName);
  ASSERT_TRUE(gpu);
  EXPECT_EQ(gpu->sm, 90);
  EXPECT_EQ(gpu->shared_bytes, 4096);
  EXPECT_EQ(gpu->compute_units, 7);
  const Backend& row = *find_backend(kName);
  EXPECT_TRUE(row.teaches(*made, *made));
  EXPECT_FALSE(row.teaches(*made, target(80).target()));
  EXPECT_FALSE(open_task(space::Workload::parse(nlohmann::json::parse(kMatrices))->dag(),
                         *space::Target::parse(R"({"backend":"cuda_ptx"})")));
}

}  // namespace
}  // namespace fettle::backend
