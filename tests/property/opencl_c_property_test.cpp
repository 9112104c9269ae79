// Random workloads × random configurations as OpenCL C: the built program, compiled and run by
// this machine's driver, equals the reference evaluator. For its device, and for devices that the
// driver only plays: with local memory of their own, and with vectors of four.
#include <gtest/gtest.h>

#include <map>

#include "host/backend/backend.h"
#include "host/space/gpu_target.h"
#include "host/space/workload.h"
#include "schemas/wire/codec.h"
#include "tests/property/interpreted.h"
#include "tests/property/random_workload.h"
#include "tests/support/opencl_candidates.h"
#include "tests/support/opencl_run.h"

namespace fettle::testing {
namespace {

using property::from_environment;

std::vector<space::GpuTarget> targets_on(const wire::DeviceInfoT& device) {
  const auto mine = space::opencl_target_for(device, "opencl_c");
  EXPECT_TRUE(mine) << mine.error().text();
  if (!mine) return {};
  space::GpuTarget stages = *mine;  // a desktop's
  stages.shared_is_global = false, stages.vector_width = 1, stages.warp = 8;
  stages.threads_per_block = 128, stages.shared_bytes = 16 << 10;
  stages.registers_per_thread = 128;
  space::GpuTarget fours = *mine;  // a Mali's
  fours.shared_is_global = true, fours.vector_width = 4, fours.warp = 4;
  fours.threads_per_block = 256, fours.shared_bytes = 32 << 10, fours.registers_per_thread = 128;
  return {*mine, stages, fours};
}

TEST(OpenClProperty, RandomConfigurationsEqualTheReference) {
  if (const std::string why = test::why_no_opencl(); !why.empty()) GTEST_SKIP() << why;
  auto device = OpenClRun::open();
  ASSERT_TRUE(device) << device.error().text();
  const std::uint64_t seed = from_environment("FETTLE_PROPERTY_SEED", 20260303);
  const std::uint64_t count =
      from_environment("FETTLE_PROPERTY_COUNT", 60 * from_environment("FETTLE_PROPERTY_TIMES", 1));
  std::printf("seed %llu, %llu configurations on %s\n", (unsigned long long)seed,
              (unsigned long long)count, device->info().name.c_str());
  std::mt19937_64 rng(seed);
  const auto targets = targets_on(device->info());
  ASSERT_FALSE(targets.empty());
  std::map<std::string, int> met;
  for (std::uint64_t i = 0; i < count; ++i) {
    const space::Workload workload = property::random_workload(rng, i % 4 == 3);
    const auto task = backend::open_task(workload.dag(), targets[i % targets.size()].target());
    ASSERT_TRUE(task) << workload.canonical() << ": " << task.error().text();
    const auto configuration = (*task)->space().random(rng);
    ++met[(*task)->space().sketches()[configuration.sketch].name];
    ++met[ir::to_string(workload.dag().stages.front().buffer->type)];
    SCOPED_TRACE("number " + std::to_string(i) + " of seed " + std::to_string(seed) + ": " +
                 workload.canonical() + " " + (*task)->space().to_json(configuration));
    const auto built = (*task)->build(configuration);
    ASSERT_TRUE(built) << built.error().text();
    const auto program = decode_program(encode(*built->program));
    ASSERT_TRUE(program) << program.error().text();
    const auto& image = *program->images[0];
    const std::string source(image.bytes.begin(), image.bytes.end());
    const auto buffers = device->run(*program);
    ASSERT_TRUE(buffers) << buffers.error().text() << "\n" << source;
    const auto expected = space::evaluate(workload.dag());
    ASSERT_TRUE(expected) << expected.error().text();
    const auto type = space::wire_type(expected->front().type.scalar);
    for (std::size_t b = 0; b < program->buffers.size(); ++b) {
      if (program->buffers[b]->role != wire::BufferRole::Output) continue;
      const auto [absolute, relative] = expected->front().tolerance;
      ASSERT_EQ(
          "", difference(as_numbers((*buffers)[b], type), as_numbers(expected->front().bytes, type),
                         absolute * built->facts->error_growth, relative))
          << source;
    }
    EXPECT_EQ(source.find("double"), std::string::npos) << source;
  }
  for (const auto& [name, times] : met) std::printf("%s: %d\n", name.c_str(), times);
  EXPECT_TRUE(met.size() == 6u || count < 60) << "each sketch, each type";
}

}  // namespace
}  // namespace fettle::testing
