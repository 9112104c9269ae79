// Random workloads × random configurations: the program is interpreted after
// every lowering pass and must equal the reference evaluator each time.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "host/ir/interpreter.h"
#include "host/ir/printer.h"
#include "host/lower/lower.h"
#include "host/space/reference.h"
#include "host/space/sketches/sketches.h"
#include "host/space/wire_types.h"
#include "host/space/workload.h"
#include "tests/property/random_workload.h"
#include "tests/support/compare.h"

namespace fettle {
namespace {

// Empty: the module computes what is expected. NaN where nothing was written.
std::string difference(const ir::Module& module, const space::ExpectedTensor& expected,
                       int threads) {
  std::vector<std::vector<std::uint8_t>> buffers;
  std::size_t output = 0;
  for (std::size_t i = 0; i < module.buffers.size(); ++i) {
    const ir::ProgramBuffer& b = module.buffers[i];
    if (b.role == ir::Role::Output) output = i;
    if (b.role == ir::Role::Input || b.role == ir::Role::Constant) {
      auto bytes = space::filled(b.buffer, b.fill);
      if (!bytes) return bytes.error().text();
      buffers.push_back(std::move(*bytes));
    } else {
      buffers.emplace_back(b.buffer->elements() * b.buffer->type.bytes(),
                           0xFF);  // NaN
    }
  }
  if (auto problem = ir::interpret(module, buffers, threads)) return *problem;
  const auto type = space::wire_type(expected.type.scalar);
  const auto actual = testing::as_numbers(buffers[output], type),
             wanted = testing::as_numbers(expected.bytes, type);
  if (actual.size() != wanted.size()) return "size of the output";
  const auto [absolute, relative] = expected.tolerance;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!(std::fabs(actual[i] - wanted[i]) <= absolute + relative * std::fabs(wanted[i]))) {
      return "element " + std::to_string(i) + ": " + std::to_string(actual[i]) + ", expected " +
             std::to_string(wanted[i]);
    }
  }
  return "";
}

// FETTLE_PROPERTY_SEED repeats one run; FETTLE_PROPERTY_TIMES=3 draws three times as many
// configurations in each test, FETTLE_PROPERTY_COUNT so many.
std::uint64_t from_environment(const char* name, std::uint64_t fallback) {
  const char* value = std::getenv(name);
  return value ? std::strtoull(value, nullptr, 10) : fallback;
}

TEST(LoweringProperty, EveryPassOfRandomConfigurationsEqualsTheReference) {
  const std::uint64_t seed = from_environment("FETTLE_PROPERTY_SEED", 20260101);
  const std::uint64_t count =
      from_environment("FETTLE_PROPERTY_COUNT", 300 * from_environment("FETTLE_PROPERTY_TIMES", 1));
  std::printf("seed %llu, %llu configurations\n", (unsigned long long)seed,
              (unsigned long long)count);
  std::mt19937_64 rng(seed);
  const auto targets = property::small_targets();
  for (std::uint64_t i = 0; i < count; ++i) {
    const space::Workload workload = property::random_workload(rng);
    const space::Target& target = targets[i % targets.size()];
    const auto task = space::open_cpu_space(workload.dag(), target);
    ASSERT_TRUE(task) << task.error().text();
    const space::SearchSpace* space = &task->space();
    const auto configuration = space->random(rng);
    const std::string what = "number " + std::to_string(i) + " of seed " + std::to_string(seed) +
                             ": " + workload.canonical() + " " + target.cpu + " " +
                             space->to_json(configuration);
    auto expected = space::evaluate(workload.dag());
    ASSERT_TRUE(expected) << what << ": " << expected.error().text();
    expected->front().tolerance.absolute *= task->error_growth(configuration);
    int dumps = 0;
    auto module = lower::lower_configuration(
        *task, configuration, [&](const std::string& pass, const ir::Module& stage) {
          ++dumps;
          const std::string wrong = difference(stage, expected->front(), target.threads);
          ASSERT_EQ(wrong, "") << "after " << pass << ", " << what << "\n" << ir::print(stage);
        });
    ASSERT_TRUE(module) << what << ": " << module.error().text();
    ASSERT_EQ(dumps, int(lower::pass_names().size()));
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace fettle
