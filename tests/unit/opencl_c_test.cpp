// The OpenCL C back end: what is said of a device, what is launched, ceilings; the text itself is
// in tests/golden, what it computes in tests/property.
#include <gtest/gtest.h>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "host/backend/backend.h"
#include "host/backend/opencl_c/source_writer.h"
#include "host/backend/opencl_c/types.h"
#include "host/space/gpu_target.h"
#include "host/space/workload.h"
#include "schemas/wire/codec.h"
#include "tests/unit/decimal_comma.h"

namespace fettle::backend {
namespace {

constexpr const char* kName = "opencl_c";

// A Mali-T860 as its driver tells of it.
wire::DeviceInfoT mali() {
  wire::DeviceInfoT device;
  device.key = "rk3399-mali", device.kind = wire::DeviceKind::OpenCl;
  device.memory_limit_bytes = 1ull << 30;
  device.gpu = std::make_unique<wire::GpuFactsT>();
  wire::GpuFactsT& facts = *device.gpu;
  facts.device_type = "GPU", facts.compute_units = 4, facts.max_threads_per_block = 256;
  facts.shared_bytes_per_block = 32 << 10, facts.shared_is_global = true, facts.warp_size = 4;
  facts.vector_width_float = 4, facts.vector_width_half = 8;
  facts.extensions = {"cl_khr_icd", "cl_khr_fp16"};
  return device;
}

TEST(OpenClC, NumbersHaveAPointWhateverTheLocale) {
  const testing::DecimalComma comma;
  ASSERT_TRUE(comma.there());
  const opencl_c::Types types;
  EXPECT_EQ(types.literal(1.5, ir::kFloat32).text, "1.5f");
  EXPECT_EQ(types.literal(-2, ir::kFloat32).text, "-2.0f");
  EXPECT_EQ(types.literal(1e-10, {ir::Scalar::Float64, 1}).text, "1e-10");
}

TEST(OpenClC, TargetsOfDevices) {
  const auto made = target_for(mali());
  ASSERT_TRUE(made) << made.error().text();
  const auto gpu = space::GpuTarget::parse(*made, kName);
  ASSERT_TRUE(gpu) << gpu.error().text();
  EXPECT_EQ(gpu->threads_per_block, 256);
  EXPECT_EQ(gpu->shared_bytes, 32 << 10);
  EXPECT_TRUE(gpu->shared_is_global);
  EXPECT_TRUE(gpu->half);
  EXPECT_EQ(gpu->vector_width, 4);
  EXPECT_EQ(gpu->warp, 4);
  EXPECT_EQ(gpu->target(), *made);
  const Backend& row = *find_backend(kName);
  EXPECT_TRUE(row.teaches(*made, *made));

  auto cpu = mali();  // PoCL's way
  cpu.gpu->device_type = "CPU", cpu.gpu->max_threads_per_block = 4096, cpu.gpu->warp_size = 8;
  cpu.gpu->vector_width_float = 16;
  const auto pocl = space::opencl_target_for(cpu, kName);
  ASSERT_TRUE(pocl);
  EXPECT_EQ(pocl->warp, 1) << "its threads go one after the other";
  EXPECT_LE(pocl->threads_per_block, 64);
  EXPECT_EQ(pocl->vector_width, 16);
  EXPECT_FALSE(row.teaches(pocl->target(), *made));

  auto cuda = mali();
  cuda.kind = wire::DeviceKind::Cuda;
  EXPECT_FALSE(space::opencl_target_for(cuda, kName));
}

// A convolution's weights, laid out in panels, on a device that reads so many texels.
Result<wire::BuildOutputT> convolution(std::int64_t texels, const char* dtype, int images) {
  auto device = mali();
  device.gpu->extensions.clear();
  device.gpu->image_texels = std::uint64_t(texels);
  const auto target = target_for(device);
  nlohmann::json fields = {{"op", "conv2d"},     {"height", 8},   {"width", 8},
                           {"in_channels", 16},  {"kernel", 3},   {"pad", 1},
                           {"out_channels", 32}, {"dtype", dtype}};
  const auto task = open_task(space::Workload::parse(fields)->dag(), *target);
  nlohmann::json chosen = nlohmann::json::parse(
      R"({"sketch":"gpu_tiled","knobs":{"rows":[8,2],"columns":[4,8],"step":[4],"unroll":[16],
          "neighbours":[0],"lanes":[4],"packed":[2],"source":[1]}})");
  if (images >= 0) chosen["knobs"]["images"] = {images};
  const auto configuration = (*task)->space().parse(chosen.dump());
  if (!configuration) return configuration.error();
  return (*task)->build(*configuration);
}

TEST(OpenClC, ReadsWeightsThroughAnImage) {
  for (const char* dtype : {"float32", "float16"}) {
    const auto built = convolution(63488, dtype, 1);
    ASSERT_TRUE(built) << built.error().text();
    const wire::ProgramT& program = *built->program;
    const std::string source(program.images[0]->bytes.begin(), program.images[0]->bytes.end());
    EXPECT_NE(source.find("__read_only image1d_buffer_t conv_second, int conv_second_begin"),
              std::string::npos)
        << source;
    EXPECT_NE(source.find("read_imagef(conv_second, conv_second_begin + "), std::string::npos);
    const auto kind = dtype[5] == '3' ? wire::ArgKind::TexelsFloat32 : wire::ArgKind::TexelsFloat16;
    const auto& args = program.launches.back()->args;
    EXPECT_EQ(std::ranges::count(args, kind, &wire::Arg::kind), 1) << source;
    EXPECT_TRUE(decode_program(encode(program))) << source;
  }
}

TEST(OpenClC, ImagesAreAChoiceWhereTheDeviceHasThem) {
  const auto reads_texels = [](const Result<wire::BuildOutputT>& built) {
    EXPECT_TRUE(built) << built.error().text();
    if (!built) return false;
    for (const wire::Arg& arg : built->program->launches.back()->args) {
      if (arg.kind() != wire::ArgKind::Buffer) return true;
    }
    return false;
  };
  EXPECT_FALSE(reads_texels(convolution(63488, "float32", 0)));
  EXPECT_FALSE(reads_texels(convolution(63488, "float32", -1))) << "of a record from before";
  EXPECT_FALSE(convolution(0, "float32", 1)) << "no such knob";
  EXPECT_FALSE(convolution(63488, "int8", 1)) << "no such knob";
  // 3 * 3 * 16 * 32 / 4 are the weights.
  EXPECT_FALSE(reads_texels(convolution(1151, "float32", 1)));
  EXPECT_TRUE(reads_texels(convolution(1152, "float32", 1)));

  auto device = mali();
  device.gpu->image_texels = 63488;
  EXPECT_EQ(space::opencl_target_for(device, kName)->image_texels, 63488);
  device.gpu->device_type = "CPU";
  EXPECT_EQ(space::opencl_target_for(device, kName)->image_texels, 0);
  const HardwareValue wanted[] = {{"image_texels", 100}};
  EXPECT_EQ(space::GpuTarget::parse(*target_for(device, wanted), kName)->image_texels, 100);
}

// OpenCL's own division may be 2.5 units in the last place off: a half would come to another
// integer.
TEST(OpenClC, QuotientsThatAreRoundedAreExact) {
  const std::string mean = R"dag({"title": "mean", "stages": [
      {"name": "a", "role": "input", "type": "int8", "axes": [["i", 64]]},
      {"name": "o", "role": "output", "axes": [["i", 64]],
       "value": "int8(round(float32(a[i]) / 12.0))"}]})dag";
  const auto task = open_task(space::Workload::parse(mean)->dag(), *target_for(mali()));
  ASSERT_TRUE(task) << task.error().text();
  std::mt19937_64 rng(1);
  const auto built = (*task)->build((*task)->space().random(rng));
  ASSERT_TRUE(built) << built.error().text();
  const auto& bytes = built->program->images[0]->bytes;
  const std::string source(bytes.begin(), bytes.end());
  EXPECT_NE(source.find("rint(quotient"), std::string::npos) << source;
}

TEST(OpenClC, CorrectionsOfAUser) {
  const HardwareValue corrections[] = {{"shared_is_global", 0}, {"vector_width", 1}, {"warp", 16}};
  const auto made = target_for(mali(), corrections);
  ASSERT_TRUE(made);
  const auto gpu = space::GpuTarget::parse(*made, kName);
  EXPECT_FALSE(gpu->shared_is_global);
  EXPECT_EQ(gpu->vector_width, 1);
  EXPECT_EQ(gpu->warp, 16);
}

bool has_knob(const Task& task, const std::string& name) {
  for (const space::Knob& knob : task.space().sketches()[0].knobs) {
    if (knob.name == name) return true;
  }
  return false;
}

constexpr const char* kDense =
    R"({"op":"dense","batch":16,"in_features":64,"out_features":96,"tail":["bias"]})";

TEST(OpenClC, NoStagingWhereLocalMemoryIsGlobal) {
  const auto dag = space::Workload::parse(nlohmann::json::parse(kDense))->dag();
  const auto without = open_task(dag, *target_for(mali()));
  ASSERT_TRUE(without) << without.error().text();
  EXPECT_FALSE(has_knob(**without, "shared"));
  EXPECT_TRUE(has_knob(**without, "lanes"));
  auto desktop = mali();
  desktop.gpu->shared_is_global = false, desktop.gpu->vector_width_float = 1;
  const auto with = open_task(dag, *target_for(desktop));
  ASSERT_TRUE(with);
  EXPECT_TRUE(has_knob(**with, "shared"));
  EXPECT_FALSE(has_knob(**with, "lanes"));
}

TEST(OpenClC, AProgramAndWhatIsSaidOfIt) {
  const auto task =
      open_task(space::Workload::parse(nlohmann::json::parse(kDense))->dag(), *target_for(mali()));
  ASSERT_TRUE(task);
  const auto configuration = (*task)->space().parse(
      R"({"sketch":"gpu_tiled","knobs":{"rows":[4,4],"columns":[12,8],"step":[8],"unroll":[64],
          "neighbours":[0],"lanes":[4],"packed":[1]}})");
  ASSERT_FALSE(configuration) << "columns are powers of two";
  const auto chosen = (*task)->space().parse(
      R"({"sketch":"gpu_tiled","knobs":{"rows":[4,4],"columns":[4,8],"step":[8],"unroll":[64],
          "neighbours":[0],"lanes":[4],"packed":[1]}})");
  ASSERT_TRUE(chosen) << chosen.error().text();
  const auto built = (*task)->build(*chosen);
  ASSERT_TRUE(built) << built.error().text();
  const wire::ProgramT& program = *built->program;
  EXPECT_TRUE(check_program(program));
  ASSERT_EQ(program.launches.size(), 2u);
  EXPECT_EQ(program.launches[0]->phase, wire::Phase::Prepare) << "the packed weights";
  EXPECT_EQ(program.launches[1]->block->x(), 4u);
  EXPECT_EQ(program.launches[1]->block->y(), 4u);
  EXPECT_EQ(program.images[0]->kind, wire::ImageKind::OpenClSource);
  EXPECT_EQ(built->facts->operations, 2.0 * 16 * 64 * 96 + 16 * 96);
  const auto features = (*task)->features(*chosen);
  ASSERT_TRUE(features);
  EXPECT_EQ(*features, built->facts->features);
  const auto text = (*task)->explain(*chosen, "");
  ASSERT_TRUE(text);
  for (const char* part : {"--- IR", "--- OpenCL C", "__kernel", "restrict", "--- launches",
                           "reqd_work_group_size(4, 4, 1)", "--- facts"}) {
    EXPECT_NE(text->find(part), std::string::npos) << part;
  }
}

TEST(OpenClC, Calibration) {
  const auto programs = calibration_programs(*target_for(mali()));
  ASSERT_TRUE(programs) << programs.error().text();
  ASSERT_EQ(programs->size(), 4u);
  for (const CalibrationProgram& each : *programs) {
    EXPECT_TRUE(check_program(each.program)) << each.name;
  }
  const auto& bytes = (*programs)[0].program.images[0]->bytes;
  const std::string peak(bytes.begin(), bytes.end());
  EXPECT_NE(peak.find("float4 sums[12]"), std::string::npos) << peak;
}

TEST(OpenClC, WhatLoweringLeftOutIsNamed) {
  const ir::Buffer out = std::make_shared<ir::BufferDecl>(
      ir::BufferDecl{"out", ir::kFloat32, {4}, ir::Scope::Global, 64});
  const ir::Var i = ir::make_var("i");
  ir::Function function;
  function.name = "wrong", function.params = {out}, function.written = {true};
  function.parallel = ir::make_var("task");
  function.body = ir::make_for(i, ir::int_imm(0), ir::int_imm(4), ir::ForKind::Unrolled,
                               ir::make_store(out, {ir::var_ref(i)}, ir::float_imm(1)));
  const auto refused = opencl_c::make_source({{}, {function}, {}}, space::GpuTarget());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Internal);
  EXPECT_NE(refused.error().text().find("loop i is not serial"), std::string::npos);
}

}  // namespace
}  // namespace fettle::backend
