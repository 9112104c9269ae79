// Random workloads × random configurations as OpenCL C: the built program, compiled and run by
// this machine's driver, equals the reference evaluator. For its device, and for devices that the
// driver only plays.
#include <algorithm>
#include <map>

#include "tests/property/interpreted.h"
#include "tests/property/opencl_cases.h"
#include "tests/property/stated_dags.h"
#include "tests/support/opencl_candidates.h"
#include "tests/support/opencl_run.h"

namespace fettle::testing {
namespace {

using property::from_environment;

TEST(OpenClProperty, RandomConfigurationsEqualTheReference) {
  if (const std::string why = test::why_no_opencl(); !why.empty()) GTEST_SKIP() << why;
  auto device = OpenClRun::open();
  ASSERT_TRUE(device) << device.error().text();
  const std::uint64_t seed = from_environment("FETTLE_PROPERTY_SEED", 20260303);
  const std::uint64_t count =
      from_environment("FETTLE_PROPERTY_COUNT", 60 * from_environment("FETTLE_PROPERTY_TIMES", 1));
  std::printf("seed %llu, %llu configurations on %s\n", (unsigned long long)seed,
              (unsigned long long)count, device->info().name.c_str());
  const auto mine = space::opencl_target_for(device->info(), "opencl_c");
  ASSERT_TRUE(mine) << mine.error().text();
  const auto targets = property::opencl_targets(*mine);
  std::mt19937_64 rng(seed);
  std::map<std::string, int> met;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto each = property::draw_case(rng, i, targets[i % targets.size()]);
    if (HasFailure()) return;
    ++met[each.sketch], ++met[each.type];
    for (const char* call :
         {"arm_dot_acc(as_char4(", "dot_4x8packed_ss_int(as_uint(", "read_imagef("}) {
      if (each.source.find(call) != std::string::npos) ++met[call];
    }
    const auto buffers = device->run(each.program);
    ASSERT_TRUE(buffers) << each.what << "\n" << buffers.error().text() << "\n" << each.source;
    ASSERT_EQ("", property::wrong_output(each.program, *buffers, each.expected))
        << each.what << "\n"
        << each.source;
    EXPECT_EQ(each.source.find("double"), std::string::npos) << each.source;
  }
  for (const auto& [name, times] : met) std::printf("%s: %d\n", name.c_str(), times);
  EXPECT_TRUE(met.size() >= 12u || count < 60)
      << "each sketch, type and product of bytes, and images";
}

TEST(OpenClProperty, TypesWrapAndRoundAsTheReferences) {
  if (const std::string why = test::why_no_opencl(); !why.empty()) GTEST_SKIP() << why;
  auto device = OpenClRun::open();
  ASSERT_TRUE(device) << device.error().text();
  const auto mine = space::opencl_target_for(device->info(), "opencl_c");
  ASSERT_TRUE(mine) << mine.error().text();
  const auto& extensions = device->info().gpu->extensions;
  const bool doubles = std::count(extensions.begin(), extensions.end(), "cl_khr_fp64") > 0;
  const auto targets = property::opencl_targets(*mine);
  std::mt19937_64 rng(7);
  for (const auto* dags : {&property::stated_dags(), &property::stated_dags_of_doubles()}) {
    if (dags == &property::stated_dags_of_doubles() && !doubles) continue;
    for (const property::StatedDag& dag : *dags) {
      const auto workload = space::Workload::parse(property::json_of(dag));
      ASSERT_TRUE(workload) << property::json_of(dag) << workload.error().text();
      for (std::size_t i = 0; i < 3; ++i) {
        const auto each = property::case_of(rng, *workload, targets[i], false);
        if (HasFailure()) return;
        const auto buffers = device->run(each.program);
        ASSERT_TRUE(buffers) << each.what << "\n" << buffers.error().text() << "\n" << each.source;
        ASSERT_EQ("", property::wrong_output(each.program, *buffers, each.expected))
            << each.what << "\n"
            << each.source;
      }
    }
  }
}

// Through images, on a Mali that the driver plays.
TEST(OpenClProperty, WhatIsReadThroughImagesEqualsTheReference) {
  if (const std::string why = test::why_no_opencl(); !why.empty()) GTEST_SKIP() << why;
  auto device = OpenClRun::open();
  ASSERT_TRUE(device) << device.error().text();
  if (device->info().gpu->image_texels == 0) GTEST_SKIP() << "no images here";
  const std::uint64_t seed = from_environment("FETTLE_PROPERTY_SEED", 20260505);
  const std::uint64_t count = 30 * from_environment("FETTLE_PROPERTY_TIMES", 1);
  std::printf("seed %llu, %llu configurations\n", (unsigned long long)seed,
              (unsigned long long)count);
  const auto mine = space::opencl_target_for(device->info(), "opencl_c");
  ASSERT_TRUE(mine) << mine.error().text();
  const auto mali = property::opencl_targets(*mine)[2];
  std::mt19937_64 rng(seed);
  std::uint64_t images = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto each = property::draw_texel_case(rng, mali);
    if (HasFailure()) return;
    images += each.source.find("read_imagef(") != std::string::npos;
    const auto buffers = device->run(each.program);
    ASSERT_TRUE(buffers) << each.what << "\n" << buffers.error().text() << "\n" << each.source;
    ASSERT_EQ("", property::wrong_output(each.program, *buffers, each.expected))
        << each.what << "\n"
        << each.source;
  }
  std::printf("%llu read images\n", (unsigned long long)images);
  EXPECT_GE(images, count / 2);
}

}  // namespace
}  // namespace fettle::testing
