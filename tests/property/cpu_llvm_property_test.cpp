// Random workloads × random configurations: the built program, run on this machine
// and on both Arm architectures under qemu-user, equals the reference evaluator.
#include <cstdlib>

#include <gtest/gtest.h>

#include "host/backend/backend.h"
#include "host/ir/intrinsics.h"
#include "host/ir/printer.h"
#include "host/lower/cpu/lowering.h"
#include "host/space/reference.h"
#include "host/space/sketches/sketches.h"
#include "host/space/wire_types.h"
#include "host/space/workload.h"
#include "schemas/wire/codec.h"
#include "tests/property/random_workload.h"
#include "tests/property/stated_dags.h"
#include "tests/support/compare.h"
#include "tests/support/emulated_run.h"
#include "tests/support/native_run.h"

namespace fettle::testing {
namespace {

// FETTLE_PROPERTY_SEED repeats one run; FETTLE_PROPERTY_TIMES=3 draws three times as many
// configurations in each test, FETTLE_PROPERTY_COUNT so many.
std::uint64_t from_environment(const char* name, std::uint64_t fallback) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::strtoull(value, nullptr, 10) : fallback;
}

std::size_t output_of(const wire::ProgramT& program) {
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    if (program.buffers[i]->role == wire::BufferRole::Output) return i;
  }
  return program.buffers.size();
}

// Targets of this machine's architecture with other vector widths and thread counts.
std::vector<space::CpuTarget> native_variants() {
  space::CpuTarget full = native_target();
  full.threads = 3;
  space::CpuTarget narrow = native_target();
  narrow.vector_bits = 128;
  narrow.vector_registers = 16;
  std::vector<space::CpuTarget> all = {full, narrow};
  if (full.arch == "x86_64" && full.vector_bits >= 256) {
    space::CpuTarget plain = full;  // no FMA: two roundings
    plain.cpu = "sandybridge";
    plain.features.clear();
    plain.vector_bits = 256;
    plain.vector_registers = 16;
    plain.fma = false;
    all.push_back(plain);
  }
  return all;
}

bool has_dot_products(const space::Workload& workload, const space::CpuTarget& target,
                      const space::Configuration& configuration) {
  const auto task = space::open_cpu_space(workload.dag(), target);
  if (!task) return false;
  const auto module = lower::lower_configuration(*task, configuration);
  return module &&
         ir::print(*module).find(target.sums_of_byte_products()->name) != std::string::npos;
}

// One configuration of it, drawn at random.
void check_one(const space::Workload& workload, const space::CpuTarget& target,
               std::mt19937_64& rng) {
  const auto task = backend::open_task(workload.dag(), target.target());
  ASSERT_TRUE(task.ok()) << workload.canonical() << task.error().text();
  const space::Configuration configuration = (*task)->space().random(rng);
  SCOPED_TRACE(workload.canonical() + " " + target.canonical() + " " +
               (*task)->space().to_json(configuration));
  const auto built = (*task)->build(configuration);
  ASSERT_TRUE(built.ok()) << built.error().text();
  const auto travelled = decode_program(encode(*built->program));
  ASSERT_TRUE(travelled.ok()) << travelled.error().text();
  const auto actual = target.arch == native_target().arch
                          ? run_natively(*travelled, target.threads)
                          : run_emulated(*travelled, target.threads);
  ASSERT_TRUE(actual.ok()) << actual.error().text();
  const auto expected = space::evaluate(workload.dag());
  ASSERT_TRUE(expected.ok()) << expected.error().text();
  const space::ExpectedTensor& right = expected->front();
  const auto numbers = [&](const std::vector<std::uint8_t>& bytes) {
    return as_numbers(bytes, space::wire_type(right.type.scalar));
  };
  EXPECT_EQ("", difference(numbers((*actual)[output_of(*travelled)]), numbers(right.bytes),
                           right.tolerance.absolute * built->facts->error_growth,
                           right.tolerance.relative));
}

// int8: of that type only, for targets with dot products.
void check(const std::vector<space::CpuTarget>& targets, std::uint64_t count, bool int8 = false) {
  const std::uint64_t seed = from_environment("FETTLE_PROPERTY_SEED", 20260202);
  count *= from_environment("FETTLE_PROPERTY_TIMES", 1);
  count = from_environment("FETTLE_PROPERTY_COUNT", count);
  std::printf("seed %llu, %llu configurations\n", static_cast<unsigned long long>(seed),
              static_cast<unsigned long long>(count));
  std::mt19937_64 rng(seed);
  const std::string native = native_target().arch;
  int channels_last = 0;  // configurations of sketches that bring them there
  int dots = 0;           // programs with products of bytes by one instruction
  for (std::uint64_t i = 0; i < count; ++i) {
    const space::Workload workload = property::random_workload(rng, int8);
    const space::CpuTarget& target = targets[i % targets.size()];
    const auto task = backend::open_task(workload.dag(), target.target());
    if (workload.scalar() == ir::Scalar::Float16 && !target.converts_float16()) {
      ASSERT_FALSE(task.ok());
      EXPECT_EQ(task.error().code, ErrorCode::Unsupported);
      continue;
    }
    ASSERT_TRUE(task.ok()) << task.error().text();
    const space::SearchSpace* space = &(*task)->space();
    const space::Configuration configuration = space->random(rng);
    SCOPED_TRACE("number " + std::to_string(i) + " of seed " + std::to_string(seed) + ": " +
                 workload.canonical() + " " + target.canonical() + " " +
                 space->to_json(configuration));
    Result<wire::BuildOutputT> built = (*task)->build(configuration);
    ASSERT_TRUE(built.ok()) << built.error().text();
    Result<wire::ProgramT> travelled = decode_program(encode(*built->program));
    ASSERT_TRUE(travelled.ok()) << travelled.error().text();
    Result<BufferBytes> actual = target.arch == native ? run_natively(*travelled, target.threads)
                                                       : run_emulated(*travelled, target.threads);
    ASSERT_TRUE(actual.ok()) << actual.error().text();
    auto expected = space::evaluate(workload.dag());
    ASSERT_TRUE(expected.ok()) << expected.error().text();
    const space::ExpectedTensor& right = expected->front();
    const auto numbers = [&](const std::vector<std::uint8_t>& bytes) {
      return as_numbers(bytes, space::wire_type(right.type.scalar));
    };
    ASSERT_EQ("", difference(numbers((*actual)[output_of(*travelled)]), numbers(right.bytes),
                             right.tolerance.absolute * built->facts->error_growth,
                             right.tolerance.relative));
    const std::string& sketch = space->sketches()[configuration.sketch].name;
    channels_last += sketch.ends_with("_channels_last");
    if (int8) dots += has_dot_products(workload, target, configuration);
  }
  if (int8) std::printf("%d with dot products\n", dots);
  EXPECT_TRUE(!int8 || dots >= static_cast<int>(count / 5)) << dots << " with dot products";
  EXPECT_TRUE(channels_last > 0 || count < 60) << "no sketch with channels last was drawn";
}

TEST(CpuProperty, RandomConfigurationsEqualTheReferenceNatively) { check(native_variants(), 500); }

TEST(CpuProperty, TypesWrapAndRoundAsTheReferences) {
  std::mt19937_64 rng(7);
  for (const auto* dags : {&property::stated_dags(), &property::stated_dags_of_doubles()}) {
    for (const property::StatedDag& dag : *dags) {
      const auto workload = space::Workload::parse(property::json_of(dag));
      ASSERT_TRUE(workload.ok()) << property::json_of(dag) << workload.error().text();
      for (const space::CpuTarget& target : native_variants()) {
        for (int i = 0; i < 3; ++i) check_one(*workload, target, rng);
      }
    }
  }
}

TEST(CpuProperty, DotProductsEqualTheReferenceNatively) {
  space::CpuTarget full = native_target();
  if (!full.sums_of_byte_products()) GTEST_SKIP() << "no dot product here";
  std::vector<space::CpuTarget> targets = {full};
  for (const int bits : {256, 128}) {
    targets.push_back(full);
    targets.back().vector_bits = bits;
    targets.back().vector_registers = 16;
  }
  check(targets, 150, true);
}

TEST(CpuProperty, DotProductsEqualTheReferenceOnAArch64) {
  if (!emulation_missing("aarch64").empty()) GTEST_SKIP() << emulation_missing("aarch64");
  space::CpuTarget target = aarch64_target();
  target.cpu = "cortex-a76", target.features = {"+dotprod"};
  ASSERT_TRUE(target.sums_of_byte_products());
  check({target}, 60, true);
}

TEST(CpuProperty, RandomConfigurationsEqualTheReferenceOnAArch64) {
  if (!emulation_missing("aarch64").empty()) GTEST_SKIP() << emulation_missing("aarch64");
  space::CpuTarget target = aarch64_target();
  target.threads = 2;
  check({target}, 100);
}

TEST(CpuProperty, RandomConfigurationsEqualTheReferenceOnArmv7) {
  if (!emulation_missing("armv7").empty()) GTEST_SKIP() << emulation_missing("armv7");
  space::CpuTarget a7 = armv7_target();  // has FMA
  a7.cpu = "cortex-a7";
  a7.fma = true;
  check({armv7_target(), armv7_target(), a7}, 100);
}

}  // namespace
}  // namespace fettle::testing
