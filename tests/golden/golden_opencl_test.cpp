// The OpenCL C of a few configurations against files. `golden_opencl --update-golden` writes them
// anew.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "host/backend/backend.h"
#include "host/space/gpu_target.h"
#include "host/space/workload.h"
#include "tests/golden/golden_file.h"

namespace {

using namespace fettle;

void check(const std::string& name, const char* workload_json, const space::GpuTarget& target,
           const char* configuration_json) {
  const auto workload = space::Workload::parse(nlohmann::json::parse(workload_json));
  ASSERT_TRUE(workload) << workload.error().text();
  const auto task = backend::open_task(workload->dag(), target.target());
  ASSERT_TRUE(task) << task.error().text();
  const auto configuration = (*task)->space().parse(configuration_json);
  ASSERT_TRUE(configuration) << configuration.error().text();
  const auto built = (*task)->build(*configuration);
  ASSERT_TRUE(built) << built.error().text();
  const auto& source = built->program->images[0]->bytes;
  golden::expect(std::string(source.begin(), source.end()),
                 std::string(FETTLE_GOLDEN_DIR) + "/" + name + ".cl");
}

// With local memory, threads that take one element each.
space::GpuTarget desktop() {
  space::GpuTarget t;
  t.backend = "opencl_c";
  return t;
}

// Vectors of four, local memory that is a piece of the global one.
space::GpuTarget mali() {
  space::GpuTarget t;
  t.backend = "opencl_c", t.vector_width = 4, t.shared_is_global = true, t.warp = 4;
  t.threads_per_block = 256, t.shared_bytes = 32 << 10, t.registers_per_thread = 128;
  return t;
}

TEST(GoldenOpenCl, PaddedConvolutionInVectors) {
  check(
      "conv2d_mali",
      R"({"op":"conv2d","height":8,"width":8,"in_channels":4,"out_channels":16,"kernel":[3,3],"pad":[1,1],"tail":["bias","relu"]})",
      mali(),
      R"({"sketch":"gpu_tiled","knobs":{"rows":[8,2],"columns":[2,8],"step":[4],"unroll":[16],
          "neighbours":[0],"lanes":[4],"packed":[1],"source":[1]}})");
}

TEST(GoldenOpenCl, WinogradsAlgorithmInVectors) {
  check(
      "conv2d_winograd_mali",
      R"({"op":"conv2d","height":8,"width":8,"in_channels":8,"out_channels":16,"kernel":[3,3],"pad":[1,1],"tail":["bias","relu"]})",
      mali(),
      R"({"sketch":"gpu_winograd_2","knobs":{"rows":[4,2],"columns":[2,8],"step":[4],"unroll":[16],
          "neighbours":[0],"lanes":[4],"packed":[0],"transform_threads":[8],"transform_lanes":[4],
          "source":[0]}})");
}

// Inputs and constants through images, float16 that is no type.
TEST(GoldenOpenCl, TexelsOfHalves) {
  space::GpuTarget images = mali();
  images.image_texels = 63488;
  check(
      "conv2d_images_mali",
      R"({"op":"conv2d","height":8,"width":8,"in_channels":8,"out_channels":16,"kernel":[3,3],"pad":[1,1],"dtype":"float16","tail":["bias","relu"]})",
      images,
      R"({"sketch":"gpu_winograd_2","knobs":{"rows":[4,2],"columns":[2,8],"step":[4],"unroll":[16],
          "neighbours":[0],"lanes":[4],"packed":[0],"transform_threads":[8],"transform_lanes":[4],
          "source":[0],"images":[1]}})");
}

TEST(GoldenOpenCl, StagedProductOfInt8) {
  check("batch_matmul_int8_desktop",
        R"({"op":"batch_matmul","batch":2,"m":12,"n":20,"k":16,"dtype":"int8"})", desktop(),
        R"({"sketch":"gpu_tiled","knobs":{"rows":[4,2],"columns":[8,2],"step":[4],"unroll":[64],
            "neighbours":[0],"shared":[3],"first_order":[1],"second_order":[0]}})");
}

// A Mali of a later generation than the T860.
TEST(GoldenOpenCl, ProductsOfInt8ByFours) {
  space::GpuTarget dots = mali();
  dots.extensions = {"cl_arm_integer_dot_product_accumulate_int8"};
  check(
      "conv2d_int8_mali_dot",
      R"({"op":"conv2d","height":6,"width":6,"in_channels":8,"out_channels":8,"kernel":[3,3],"pad":[1,1],"dtype":"int8"})",
      dots,
      R"({"sketch":"gpu_tiled_dot4_s8s8","knobs":{"rows":[8,2],"columns":[2,4],"step":[2],
            "unroll":[16],"neighbours":[0],"lanes":[4],"packed":[1],"source":[1]}})");
}

TEST(GoldenOpenCl, StagedAhead) {
  check("batch_matmul_ahead_desktop", R"({"op":"batch_matmul","batch":1,"m":12,"n":20,"k":16})",
        desktop(),
        R"({"sketch":"gpu_tiled","knobs":{"rows":[4,2],"columns":[8,2],"step":[4],"unroll":[64],
            "neighbours":[0],"shared":[3],"first_order":[1],"second_order":[0],"stages":[2,0]}})");
}

TEST(GoldenOpenCl, SoftmaxOverARow) {
  check("softmax_desktop", R"({"op":"softmax","batch":3,"features":100})", desktop(),
        R"({"sketch":"gpu_rows","knobs":{"threads":[64],"unroll":[1]}})");
}

constexpr const char* kDepthwise =
    R"({"op":"depthwise_conv2d","height":5,"width":6,"channels":8,"kernel":[3,3],"stride":[2,2],"pad":[1,1],"dtype":"float16","tail":["bias"]})";
constexpr const char* kFours =
    R"({"sketch":"gpu_spatial","knobs":{"threads":[4],"elements":[4],"rows":[1],"unroll":[16]}})";

TEST(GoldenOpenCl, HalvesWhereTheyAreNoType) {
  check("depthwise_half_storage", kDepthwise, mali(), kFours);
}

TEST(GoldenOpenCl, HalvesWhereTheyAreAType) {
  space::GpuTarget with = mali();
  with.half = true;
  check("depthwise_half", kDepthwise, with, kFours);
}

}  // namespace

int main(int argc, char** argv) { return fettle::golden::run(argc, argv); }
