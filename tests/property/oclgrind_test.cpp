// Random configurations as OpenCL C under Oclgrind, which interprets every thread: no two touch
// the same memory without a barrier between, and none touches what is not the program's.
#include <map>

#include "tests/property/interpreted.h"
#include "tests/property/opencl_cases.h"
#include "tests/support/oclgrind.h"

namespace fettle::testing {
namespace {

using property::from_environment;

TEST(Oclgrind, NoRaceAndNoBadAccess) {
  auto watched = Oclgrind::open();
  if (!watched) GTEST_SKIP() << watched.error().text();
  const std::uint64_t seed = from_environment("FETTLE_PROPERTY_SEED", 20260404);
  const std::uint64_t count =
      from_environment("FETTLE_PROPERTY_COUNT", 100 * from_environment("FETTLE_PROPERTY_TIMES", 1));
  std::printf("seed %llu, %llu configurations\n", (unsigned long long)seed,
              (unsigned long long)count);
  const auto targets = property::opencl_targets(property::pocl_target());
  std::mt19937_64 rng(seed);
  std::map<std::string, int> met;
  for (std::uint64_t i = 0; i < count; ++i) {
    // Every tenth through images, on a Mali.
    const auto each = i % 10 == 5 ? property::draw_texel_case(rng, targets[2])
                                  : property::draw_case(rng, i, targets[i % targets.size()]);
    if (HasFailure()) return;
    ++met[each.sketch], ++met[each.type];
    const auto buffers = watched->run(each.program);
    ASSERT_TRUE(buffers) << each.what << "\n" << buffers.error().text() << "\n" << each.source;
    ASSERT_EQ("", watched->complaints()) << each.what << "\n" << each.source;
    ASSERT_EQ("", property::wrong_output(each.program, *buffers, each.expected))
        << each.what << "\n"
        << each.source;
  }
  for (const auto& [name, times] : met) std::printf("%s: %d\n", name.c_str(), times);
  EXPECT_TRUE(met.size() >= 8u || count < 100) << "each sketch and type";
}

// What it is there for.
TEST(Oclgrind, TellsOfARaceAndOfABadAccess) {
  auto watched = Oclgrind::open();
  if (!watched) GTEST_SKIP() << watched.error().text();
  wire::ProgramT program;
  auto image = std::make_unique<wire::ImageT>();
  image->kind = wire::ImageKind::OpenClSource;
  const std::string text =
      "__kernel void race(__global float* out) { __local float kept[4];"
      " kept[get_local_id(0)] = 1; out[get_local_id(0)] = kept[3 - get_local_id(0)]; }\n"
      "__kernel void wild(__global float* out) { out[4 + get_local_id(0)] = 1; }\n";
  image->bytes.assign(text.begin(), text.end());
  for (const char* name : {"race", "wild"}) {
    image->entries.push_back(std::make_unique<wire::EntryPointT>());
    image->entries.back()->name = name;
  }
  program.images.push_back(std::move(image));
  program.buffers.push_back(std::make_unique<wire::BufferT>());
  program.buffers[0]->bytes = 16, program.buffers[0]->role = wire::BufferRole::Output;
  program.launches.push_back(std::make_unique<wire::LaunchT>());
  program.launches[0]->args.push_back(wire::Arg(wire::ArgKind::Buffer, 0, 0, 0, 0));
  program.launches[0]->grid = std::make_unique<wire::Dim3>(1, 1, 1);
  program.launches[0]->block = std::make_unique<wire::Dim3>(4, 1, 1);
  ASSERT_TRUE(watched->run(program));
  EXPECT_NE(watched->complaints().find("race"), std::string::npos);
  program.launches[0]->entry = 1;
  ASSERT_TRUE(watched->run(program));
  EXPECT_NE(watched->complaints().find("Invalid write"), std::string::npos);
}

}  // namespace
}  // namespace fettle::testing
