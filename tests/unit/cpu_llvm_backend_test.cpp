// The CPU back end through its interface: registry, build, explain, and their errors.
#include <gtest/gtest.h>

#include "host/backend/backend.h"
#include "host/backend/calibration.h"
#include "host/backend/cpu_llvm/program.h"
#include "host/lower/cpu/lowering.h"
#include "host/space/profile.h"
#include "host/space/sketches/sketches.h"
#include "host/space/workload.h"
#include "schemas/wire/codec.h"
#include "schemas/wire/content_hash.h"
#include "tests/support/native_run.h"

namespace fettle::testing {
namespace {

const backend::Backend& cpu() { return *backend::find_backend("cpu_llvm"); }

space::Workload small_conv() {
  return space::Workload::
      parse(std::string(
                R"({"op":"conv2d","height":8,"width":8,"in_channels":4,"out_channels":32,"kernel":[3,3],"pad":[1,1],"tail":["bias","relu"]})"))
          .value();
}

std::unique_ptr<const backend::Task> open(const space::Workload& workload,
                                          const space::CpuTarget& target) {
  return cpu().open(workload.dag(), target.target()).value();
}

TEST(Registry, HasTheCpuAndNamesWhatThereIs) {
  ASSERT_NE(backend::find_backend("cpu_llvm"), nullptr);
  EXPECT_STREQ(cpu().name(), "cpu_llvm");
  EXPECT_EQ(backend::find_backend("abacus"), nullptr);
  ASSERT_FALSE(backend::backends().empty());
  EXPECT_EQ(backend::backends()[0], &cpu());
  const space::Target target = space::Target::parse(R"({"backend":"abacus"})").value();
  Result<std::vector<backend::CalibrationProgram>> none = backend::calibration_programs(target);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::Unsupported);
  EXPECT_EQ(backend::open_task(small_conv().dag(), target).error().code, ErrorCode::Unsupported);
}

// A text that names this back end and is no target of it is refused when a task is opened.
TEST(Registry, TargetsAreReadByTheirBackEnd) {
  for (const char* text : {R"({"backend":"cpu_llvm"})", R"({"backend":"abacus","beads":7})"}) {
    const auto target = space::Target::parse(std::string(text));
    ASSERT_TRUE(target) << target.error().text();
    EXPECT_EQ(cpu().open(small_conv().dag(), *target).error().code, ErrorCode::InvalidArgument);
  }
}

TEST(Registry, ADeviceOfAKindWithoutBackEndIsNamed) {
  wire::DeviceInfoT device;
  device.key = "abacus";
  device.kind = wire::DeviceKind::Null;
  const auto target = backend::target_for(device);
  ASSERT_FALSE(target);
  EXPECT_EQ(target.error().code, ErrorCode::Unsupported);
  EXPECT_NE(target.error().text().find("abacus"), std::string::npos);
  EXPECT_NE(target.error().text().find("Null"), std::string::npos);
}

// The same candidate is the same artifact: identical ones are measured once.
TEST(Build, IsDeterministic) {
  std::mt19937_64 rng(1);
  for (const space::CpuTarget& target : {native_target(), aarch64_target(), armv7_target()}) {
    const auto task = open(small_conv(), target);
    const space::SearchSpace& space = task->space();
    const space::Configuration one = space.random(rng), other = space.random(rng);
    Result<wire::BuildOutputT> first = task->build(one);
    Result<wire::BuildOutputT> between = task->build(other);
    Result<wire::BuildOutputT> second = task->build(one);
    ASSERT_TRUE(first.ok()) << first.error().text();
    ASSERT_TRUE(between.ok() && second.ok());
    EXPECT_EQ(to_hex(*first->program_hash), to_hex(*second->program_hash)) << target.arch;
    EXPECT_NE(to_hex(*first->program_hash), to_hex(*between->program_hash)) << target.arch;
    EXPECT_EQ(to_hex(*first->program_hash), to_hex(content_hash(encode(*first->program))));
  }
}

// What comes before the last launch is the same code in many programs of a task: it is compiled
// once, and which program it was compiled for first cannot be told.
TEST(Build, FunctionsBeforeTheLastAreCompiledOnce) {
  namespace cpu_llvm = backend::cpu_llvm;
  const space::CpuTarget target = native_target();
  const auto task = space::open_cpu_space(small_conv().dag(), target).value();
  std::mt19937_64 rng(8);
  const auto together = cpu_llvm::Compiler::make(target).value();
  std::size_t prepared = 0, padded = 0;
  for (int i = 0; i < 20; ++i) {
    const auto module = lower::lower_configuration(task, task.space().random(rng)).value();
    for (const ir::Launch& launch : module.launches) {
      prepared += launch.prepare;
      padded += !launch.prepare && &launch != &module.launches.back();
    }
    const auto alone = cpu_llvm::Compiler::make(target).value();
    const auto image = cpu_llvm::make_image(module, target, *together);
    ASSERT_TRUE(image) << image.error().text();
    EXPECT_EQ(image->bytes, cpu_llvm::make_image(module, target, *alone)->bytes);
    EXPECT_EQ(alone->kept_objects_used(), 0u);
  }
  EXPECT_GE(prepared, 20u);
  EXPECT_GT(padded, 0u);
  EXPECT_GT(together->kept_objects_used(), prepared / 2);
}

// Knobs that change nothing: all of the program is there.
TEST(Build, AProgramThatWasBuiltBeforeIsNotCompiledAgain) {
  namespace cpu_llvm = backend::cpu_llvm;
  const space::CpuTarget target = native_target();
  const auto task = space::open_cpu_space(small_conv().dag(), target).value();
  const auto compiler = cpu_llvm::Compiler::make(target).value();
  std::mt19937_64 rng(4);
  const space::Configuration configuration = task.space().random(rng);
  const auto lowered = [&] { return lower::lower_configuration(task, configuration).value(); };
  const auto first = cpu_llvm::make_image(lowered(), target, *compiler);
  ASSERT_TRUE(first) << first.error().text();
  const std::size_t units = compiler->compile(lowered()).value().size();
  const std::size_t before = compiler->kept_objects_used();
  const auto second = cpu_llvm::make_image(lowered(), target, *compiler);
  ASSERT_TRUE(second) << second.error().text();
  EXPECT_EQ(first->bytes, second->bytes);
  EXPECT_EQ(compiler->kept_objects_used(), before + units);
}

// A padding launch is one function for all its programs, but for how many lanes it copies at once.
TEST(Build, APaddingLaunchIsCompiledOnce) {
  namespace cpu_llvm = backend::cpu_llvm;
  const auto task = space::open_cpu_space(small_conv().dag(), native_target()).value();
  const auto compiler = cpu_llvm::Compiler::make(native_target()).value();
  std::mt19937_64 rng(9);
  std::size_t launches = 0;
  for (int i = 0; i < 200 && launches < 20; ++i) {
    auto module = lower::lower_configuration(task, task.space().random(rng)).value();
    std::erase_if(module.launches, [](const ir::Launch& launch) { return launch.prepare; });
    if (module.launches.size() < 2) continue;
    ++launches;
    ASSERT_TRUE(compiler->compile(module).ok());
  }
  ASSERT_EQ(launches, 20u);
  EXPECT_GT(compiler->kept_objects_used(), 10u);
}

TEST(Build, SaysWhatTheProgramDoes) {
  const space::CpuTarget target = native_target();
  std::mt19937_64 rng(2);
  const auto task = open(small_conv(), target);
  const space::SearchSpace& space = task->space();
  const space::Configuration configuration = space.random(rng);
  Result<wire::BuildOutputT> built = task->build(configuration);
  ASSERT_TRUE(built.ok()) << built.error().text();
  EXPECT_TRUE(check_program(*built->program).ok()) << check_program(*built->program).error().text();
  EXPECT_GE(built->facts->operations, 0.95 * small_conv().operations());
  EXPECT_EQ(built->facts->compulsory_bytes, 4.0 * (8 * 8 * 4 + 9 * 4 * 32 + 32 + 8 * 8 * 32));
  EXPECT_FALSE(built->facts->features.empty());
}

// A user may say that vectors are wider than registers: they are cut then.
TEST(Build, VectorsWiderThanDotProducts) {
  space::CpuTarget vnni{"x86_64", "", "x86-64-v4", {"+avx512vl", "+avx512vnni"}, 1024, 32, true, 1};
  space::CpuTarget a76 = aarch64_target();
  a76.cpu = "cortex-a76", a76.features = {"+dotprod"}, a76.vector_bits = 512;
  const space::Workload dense =
      space::Workload::parse(
          std::string(
              R"({"op":"dense","batch":4,"in_features":64,"out_features":128,"dtype":"int8"})"))
          .value();
  for (const space::CpuTarget& target : {vnni, a76}) {
    const auto task = open(dense, target);
    const space::SearchSpace& space = task->space();
    std::mt19937_64 rng(4);
    for (int i = 0; i < 12; ++i) {
      const space::Configuration configuration = space.random(rng);
      Result<wire::BuildOutputT> built = task->build(configuration);
      ASSERT_TRUE(built.ok()) << space.to_json(configuration) << " " << built.error().text();
    }
  }
}

// LLVM itself goes on without what it does not know, or ends the process.
TEST(Build, RefusesNamesThatLlvmDoesNotKnow) {
  std::mt19937_64 rng(3);
  for (const space::CpuTarget& known : {native_target(), aarch64_target(), armv7_target()}) {
    const auto task = open(small_conv(), known);
    const space::SearchSpace& space = task->space();
    const space::Configuration configuration = space.random(rng);
    space::CpuTarget cpu_name = known, feature = known;
    cpu_name.cpu = "bogus";
    feature.features.push_back("+bogus");
    for (const space::CpuTarget& target : {cpu_name, feature}) {
      Result<wire::BuildOutputT> built = open(small_conv(), target)->build(configuration);
      ASSERT_FALSE(built.ok()) << target.arch;
      EXPECT_EQ(built.error().code, ErrorCode::InvalidArgument);
      EXPECT_NE(built.error().text().find("\"bogus\""), std::string::npos);
    }
  }
}

TEST(Build, LlvmKnowsEveryProfile) {
  for (const space::Profile& profile : space::profiles()) {
    space::CpuTarget target = profile.target;
    std::mt19937_64 rng(5);
    const auto task = open(small_conv(), target);
    const space::SearchSpace& space = task->space();
    Result<wire::BuildOutputT> built = task->build(space.random(rng));
    EXPECT_TRUE(built.ok()) << profile.name << ": " << built.error().text();
  }
}

TEST(Build, RefusesAnArchitectureThatItDoesNotKnow) {
  space::CpuTarget target = native_target();
  std::mt19937_64 rng(3);
  const auto task = open(small_conv(), target);
  const space::SearchSpace& space = task->space();
  const space::Configuration configuration = space.random(rng);
  target.arch = "vax";
  Result<wire::BuildOutputT> built = open(small_conv(), target)->build(configuration);
  ASSERT_FALSE(built.ok());
  EXPECT_NE(built.error().text().find("vax"), std::string::npos);
}

TEST(Explain, ShowsIrAssemblyAndCounts) {
  const space::CpuTarget target = aarch64_target();
  const auto task = open(small_conv(), target);
  const space::SearchSpace& space = task->space();
  const space::Configuration configuration = space.at(0);  // the direct sketch, little unrolled
  Result<std::string> text = task->explain(configuration, "");
  ASSERT_TRUE(text.ok()) << text.error().text();
  for (const char* part : {"--- IR", "--- LLVM IR", "--- assembly", "fmla", "--- loops",
                           "cycles an iteration", "--- densest loop", "code: "}) {
    EXPECT_NE(text->find(part), std::string::npos) << part;
  }
  Result<std::string> dump = task->explain(configuration, "vectorize");
  ASSERT_TRUE(dump.ok()) << dump.error().text();
  EXPECT_TRUE(dump->starts_with("--- IR after vectorize")) << dump->substr(0, 60);
  Result<std::string> none = task->explain(configuration, "polish");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::InvalidArgument);
  EXPECT_NE(none.error().message.find("vectorize"), std::string::npos);
}

}  // namespace
}  // namespace fettle::testing
