// The CPU back end through its interface: registry, build, explain, and their errors.
#include <gtest/gtest.h>

#include "host/backend/backend.h"
#include "host/backend/calibration.h"
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

TEST(Registry, HasTheCpuAndNamesWhatThereIs) {
  ASSERT_NE(backend::find_backend("cpu_llvm"), nullptr);
  EXPECT_STREQ(cpu().name(), "cpu_llvm");
  EXPECT_EQ(backend::find_backend("abacus"), nullptr);
  EXPECT_EQ(backend::backend_names(), std::vector<std::string>{"cpu_llvm"});
  space::Target target = native_target();
  target.backend = "abacus";
  Result<std::vector<backend::CalibrationProgram>> none = backend::calibration_programs(target);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::Unsupported);
}

// The same candidate is the same artifact: identical ones are measured once.
TEST(Build, IsDeterministic) {
  std::mt19937_64 rng(1);
  for (const space::Target& target : {native_target(), aarch64_target(), armv7_target()}) {
    space::SearchSpace space = cpu().space(small_conv(), target).value();
    const space::Configuration one = space.random(rng), other = space.random(rng);
    Result<wire::BuildOutputT> first = cpu().build(small_conv(), target, one);
    Result<wire::BuildOutputT> between = cpu().build(small_conv(), target, other);
    Result<wire::BuildOutputT> second = cpu().build(small_conv(), target, one);
    ASSERT_TRUE(first.ok()) << first.error().text();
    ASSERT_TRUE(between.ok() && second.ok());
    EXPECT_EQ(to_hex(*first->program_hash), to_hex(*second->program_hash)) << target.arch;
    EXPECT_NE(to_hex(*first->program_hash), to_hex(*between->program_hash)) << target.arch;
    EXPECT_EQ(to_hex(*first->program_hash), to_hex(content_hash(encode(*first->program))));
  }
}

TEST(Build, SaysWhatTheProgramDoes) {
  const space::Target target = native_target();
  std::mt19937_64 rng(2);
  space::SearchSpace space = cpu().space(small_conv(), target).value();
  const space::Configuration configuration = space.random(rng);
  Result<wire::BuildOutputT> built = cpu().build(small_conv(), target, configuration);
  ASSERT_TRUE(built.ok()) << built.error().text();
  EXPECT_TRUE(check_program(*built->program).ok()) << check_program(*built->program).error().text();
  EXPECT_GE(built->facts->operations, 0.95 * small_conv().operations());
  EXPECT_EQ(built->facts->compulsory_bytes, 4.0 * (8 * 8 * 4 + 9 * 4 * 32 + 32 + 8 * 8 * 32));
  EXPECT_FALSE(built->facts->features.empty());
}

TEST(Build, RefusesAnArchitectureThatItDoesNotKnow) {
  space::Target target = native_target();
  std::mt19937_64 rng(3);
  space::SearchSpace space = cpu().space(small_conv(), target).value();
  const space::Configuration configuration = space.random(rng);
  target.arch = "vax";
  Result<wire::BuildOutputT> built = cpu().build(small_conv(), target, configuration);
  ASSERT_FALSE(built.ok());
  EXPECT_NE(built.error().text().find("vax"), std::string::npos);
}

TEST(Explain, ShowsIrAssemblyAndCounts) {
  const space::Target target = aarch64_target();
  space::SearchSpace space = cpu().space(small_conv(), target).value();
  const space::Configuration configuration = space.at(0);  // the direct sketch, little unrolled
  Result<std::string> text = cpu().explain(small_conv(), target, configuration, "");
  ASSERT_TRUE(text.ok()) << text.error().text();
  for (const char* part : {"--- IR", "--- LLVM IR", "--- assembly", "fmla", "--- loops",
                           "cycles an iteration", "--- densest loop", "code: "}) {
    EXPECT_NE(text->find(part), std::string::npos) << part;
  }
  Result<std::string> dump = cpu().explain(small_conv(), target, configuration, "vectorize");
  ASSERT_TRUE(dump.ok()) << dump.error().text();
  EXPECT_TRUE(dump->starts_with("--- IR after vectorize")) << dump->substr(0, 60);
  Result<std::string> none = cpu().explain(small_conv(), target, configuration, "polish");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::InvalidArgument);
  EXPECT_NE(none.error().message.find("vectorize"), std::string::npos);
}

}  // namespace
}  // namespace fettle::testing
