// Machine code of every kind of IR node against the reference interpreter, on this
// machine and on both Arm architectures under qemu-user.
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "host/backend/cpu_llvm/codegen.h"
#include "host/backend/cpu_llvm/program.h"
#include "host/ir/interpreter.h"
#include "schemas/wire/codec.h"
#include "tests/support/emulated_run.h"
#include "tests/support/native_run.h"
#include "tests/unit/cpu_llvm_cases.h"

namespace fettle::testing {
namespace {

space::CpuTarget target_of(const std::string& arch) {
  if (arch == "aarch64") return aarch64_target();
  if (arch == "armv7") return armv7_target();
  return native_target();
}

// Bits are equal, but where a CPU without FMA rounds a multiply-add twice.
void expect_equal(const wire::BufferT& buffer, const std::vector<std::uint8_t>& actual,
                  const std::vector<std::uint8_t>& expected, bool rounded_twice) {
  ASSERT_EQ(actual.size(), expected.size());
  if (!rounded_twice) {
    for (std::size_t i = 0; i < actual.size(); ++i) {
      ASSERT_EQ(actual[i], expected[i]) << buffer.name << ", byte " << i;
    }
    return;
  }
  for (std::size_t i = 0; i + 4 <= actual.size(); i += 4) {
    float a = 0, e = 0;
    std::memcpy(&a, &actual[i], 4), std::memcpy(&e, &expected[i], 4);
    ASSERT_NEAR(a, e, 1e-5) << buffer.name << "[" << i / 4 << "]";
  }
}

class Codegen : public ::testing::TestWithParam<std::string> {};

TEST_P(Codegen, AgreesWithTheInterpreter) {
  const space::CpuTarget target = target_of(GetParam());
  const bool native = GetParam() == "native";
  if (!native && !emulation_missing(GetParam()).empty())
    GTEST_SKIP() << emulation_missing(GetParam());
  for (const Case& each : backend_cases()) {
    for (int threads : {1, 3}) {
      SCOPED_TRACE(each.name + ", threads " + std::to_string(threads));
      Result<wire::ProgramT> program = backend::cpu_llvm::make_program(each.module, target);
      ASSERT_TRUE(program.ok()) << program.error().text();
      ASSERT_TRUE(check_program(*program).ok()) << check_program(*program).error().text();
      Result<BufferBytes> expected = filled_buffers(*program);
      ASSERT_TRUE(expected.ok()) << expected.error().text();
      ir::Problem problem = ir::interpret(each.module, *expected, threads);
      ASSERT_FALSE(problem.has_value()) << *problem;
      Result<BufferBytes> actual =
          native ? run_natively(*program, threads) : run_emulated(*program, threads);
      ASSERT_TRUE(actual.ok()) << actual.error().text();
      for (std::size_t i = 0; i < actual->size(); ++i) {
        expect_equal(*program->buffers[i], (*actual)[i], (*expected)[i], each.fused && !target.fma);
      }
    }
  }
}

// What a pipeline remembers of one module must not show in the next one.
TEST_P(Codegen, OneCompilerWritesWhatFreshOnesWrite) {
  using backend::cpu_llvm::Compiler;
  const space::CpuTarget target = target_of(GetParam());
  auto used = Compiler::make(target);
  ASSERT_TRUE(used.ok()) << used.error().text();
  for (int round = 0; round < 2; ++round) {
    for (const Case& each : backend_cases()) {
      SCOPED_TRACE(each.name + ", round " + std::to_string(round));
      std::vector<const ir::Function*> functions;
      for (const ir::Function& function : each.module.functions) functions.push_back(&function);
      auto fresh = Compiler::make(target);
      ASSERT_TRUE(fresh.ok()) << fresh.error().text();
      auto expected = (*fresh)->compile(functions);
      ASSERT_TRUE(expected.ok()) << expected.error().text();
      auto actual = (*used)->compile(functions);
      ASSERT_TRUE(actual.ok()) << actual.error().text();
      EXPECT_FALSE(expected->bytes.empty());
      EXPECT_EQ(actual->bytes, expected->bytes);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Codegen, ::testing::Values("native", "aarch64", "armv7"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace fettle::testing
