// Targets: from what a board says, with profiles as fallback.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "host/space/cpu_target.h"
#include "host/space/profile.h"
#include "host/space/target.h"

namespace fettle::space {
namespace {

wire::DeviceInfoT device(const char* key, const char* arch, const char* cpu,
                         std::vector<std::string> features) {
  wire::DeviceInfoT d;
  d.key = key;
  d.cpu = std::make_unique<wire::CpuFactsT>();
  d.cpu->arch = arch;
  d.cpu->cpu = cpu;
  d.cpu->features = std::move(features);
  return d;
}

bool has(const CpuTarget& t, const char* feature) {
  return std::find(t.features.begin(), t.features.end(), feature) != t.features.end();
}

TEST(SpaceTarget, ATextThatIsNoneIsToldInWords) {
  for (const char* text :
       {"", "xyz", "{", "[1]", "null", "7", "{}", R"({"backend":5})",
        R"({"backend":"cpu","threads":"a"})", R"({"backend":"cpu","threads":0})"}) {
    const auto target = Target::parse(text);
    ASSERT_FALSE(target) << text;
    EXPECT_TRUE(target.error().message.starts_with("target: ")) << target.error().message;
    EXPECT_EQ(target.error().message.find("json.exception"), std::string::npos)
        << target.error().message;
  }
}

TEST(SpaceTarget, EveryProfileIsReadable) {
  ASSERT_GE(profiles().size(), 3u);
  for (const Profile& p : profiles()) {
    EXPECT_FALSE(p.target.triple.empty()) << p.name;
    EXPECT_TRUE(p.target.arch == "x86_64" || p.target.arch == "aarch64" || p.target.arch == "armv7")
        << p.name;
    EXPECT_FALSE(p.device_keys.empty()) << p.name;
    EXPECT_FALSE(p.description.empty()) << p.name;
    for (const std::string& key : p.unread) ADD_FAILURE() << p.name << ": nobody reads " << key;
    EXPECT_EQ(p.accelerator.kind.empty(), p.name.starts_with("generic-")) << p.name;
    EXPECT_EQ(p.accelerator.kind.empty(), p.accelerator.name.empty()) << p.name;
    EXPECT_EQ(p.cores > 0 && p.clock_mhz > 0, !p.name.starts_with("generic-")) << p.name;
    // No core starts more than two fused 512-bit operations a cycle, nor half a 32-bit one.
    if (p.peak_gflops_per_core_f32 > 0) {
      const double per_cycle = p.peak_gflops_per_core_f32 * 1000 / p.clock_mhz;
      EXPECT_GE(per_cycle, 1) << p.name;
      EXPECT_LE(per_cycle, 64) << p.name;
      EXPECT_NEAR(per_cycle, std::round(per_cycle), 1e-3) << p.name << ": a whole number";
    }
  }
  for (const char* arch : {"x86_64", "aarch64", "armv7"}) {
    ASSERT_NE(find_profile("nobody", arch), nullptr);
    EXPECT_EQ(find_profile("nobody", arch)->name, std::string("generic-") + arch);
  }
  EXPECT_EQ(find_profile("x", "riscv64"), nullptr);
}

TEST(SpaceTarget, TheBoardsWordComesFirst) {
  const auto t = cpu_target_for(
      device("local", "x86_64", "sapphirerapids", {"avx2", "+avx512f", "avx512vl", "fma"}), 2);
  ASSERT_TRUE(t) << t.error().text();
  EXPECT_EQ(t->cpu, "sapphirerapids");
  EXPECT_EQ(t->vector_bits, 512);
  EXPECT_EQ(t->vector_registers, 32);
  EXPECT_TRUE(t->fma);
  EXPECT_EQ(t->threads, 2);
  const auto old = cpu_target_for(device("local", "x86_64", "nehalem", {"sse4.2"}), 1);
  EXPECT_EQ(old->vector_bits, 128);
  EXPECT_FALSE(old->fma);
}

TEST(SpaceTarget, ProfilesFillWhatTheBoardDoesNotSay) {
  const auto t = cpu_target_for(device("pynq", "armv7", "", {}), 2);
  ASSERT_TRUE(t) << t.error().text();
  EXPECT_EQ(t->cpu, "cortex-a9");
  EXPECT_FALSE(t->fma);
  EXPECT_FALSE(t->caches.empty());
  const auto big = cpu_target_for(device("rk3399-big", "aarch64", "", {}), 1);
  EXPECT_EQ(big->cpu, "cortex-a72");
  EXPECT_EQ(big->vector_registers, 32);
}

// A board that recognised itself is what it says, whatever key its owner gave it.
TEST(SpaceTarget, TheProfileThatTheBoardNames) {
  auto lab = device("lab", "armv7", "", {});
  EXPECT_EQ(profile_of(lab)->name, "generic-armv7");
  EXPECT_TRUE(cpu_target_for(lab, 2)->caches.empty());
  lab.profile = "pynq-z2";
  ASSERT_EQ(profile_of(lab)->name, "pynq-z2");
  EXPECT_FALSE(cpu_target_for(lab, 2)->caches.empty());
  // Two cores, 650 MHz, four operations a cycle; and at half of that clock.
  EXPECT_DOUBLE_EQ(profile_of(lab)->peak_gflops(2, 0), 5.2);
  EXPECT_DOUBLE_EQ(profile_of(lab)->peak_gflops(2, 325'000), 2.6);
  // Another architecture's profile, or one that this host does not know, counts for nothing.
  lab.profile = "rk3399-big";
  EXPECT_EQ(profile_of(lab)->name, "generic-armv7");
  lab.profile = "of-tomorrow";
  EXPECT_EQ(profile_of(lab)->name, "generic-armv7");
  EXPECT_EQ(profile_of(lab)->peak_gflops(2, 650'000), 0);
}

TEST(SpaceTarget, Armv7HasFmaOnlyOnCoresKnownForIt) {
  // An emulator reports vfpv4 although the core that code is made for lacks it.
  const auto a9 = cpu_target_for(device("generic-armv7", "armv7", "", {"+neon", "+vfp4"}), 1);
  ASSERT_TRUE(a9);
  EXPECT_FALSE(a9->fma);
  EXPECT_FALSE(has(*a9, "+vfp4"));
  EXPECT_TRUE(has(*a9, "-vfp4"));
  EXPECT_TRUE(cpu_target_for(device("x", "armv7", "cortex-a7", {"+neon", "+vfp4"}), 1)->fma);
}

TEST(SpaceTarget, DotProductsNeedTheirFeature) {
  const auto name = [](const CpuTarget& target) {
    const ir::IntrinsicRow* row = target.sums_of_byte_products();
    EXPECT_EQ(target.instructions().size(), row ? 1u : 0u);
    return std::string(row ? row->name : "");
  };
  CpuTarget t{"x86_64", "", "x86-64-v4", {"+avx512f", "+avx512vl"}, 512, 32, true, 1};
  EXPECT_EQ(name(t), "");
  t.features.push_back("+avx512vnni");
  EXPECT_EQ(name(t), "dot4_u8s8");
  t.features = {"+avxvnni"};  // 128 and 256 bits only
  EXPECT_EQ(name(t), "");
  t.vector_bits = 256;
  EXPECT_EQ(name(t), "dot4_u8s8");
  t.features = {"-avxvnni"};
  EXPECT_EQ(name(t), "");
  const auto of_profile = [&](const char* key) {
    const Profile* profile = find_profile(key, "aarch64");
    return profile ? name(profile->target) : "no profile";
  };
  EXPECT_EQ(of_profile("rk3399-big"), "");
  EXPECT_EQ(of_profile("jetson-orin"), "dot4_s8s8");
}

TEST(SpaceTarget, CanonicalFormSurvives) {
  const auto t = cpu_target_for(device("rk3399-big", "aarch64", "", {}), 2);
  ASSERT_TRUE(t);
  const auto back = CpuTarget::parse(t->canonical());
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(back->canonical(), t->canonical());
  EXPECT_FALSE(CpuTarget::parse("{}"));
  EXPECT_FALSE(CpuTarget::parse("nonsense"));
}

TEST(SpaceTarget, TheCommonPartIsReadByEveryone) {
  CpuTarget cpu = *cpu_target_for(device("rk3399-big", "aarch64", "", {}), 2);
  cpu.memory_bytes = 1 << 20;
  const Target target = cpu.target();
  EXPECT_EQ(target.backend(), "cpu_llvm");
  EXPECT_EQ(target.threads(), 2);
  EXPECT_EQ(target.memory_bytes(), 1 << 20);
  EXPECT_EQ(Target::parse(target.canonical()).value(), target);
  const auto other = Target::parse(R"({"beads":7,"backend":"abacus"})");
  ASSERT_TRUE(other);
  EXPECT_EQ(other->threads(), 1);
  EXPECT_EQ(other->canonical(), R"({"backend":"abacus","beads":7})");
  EXPECT_FALSE(CpuTarget::parse(*other));
  for (const char* bad :
       {"{}", "nonsense", "[]", R"({"backend":""})", R"({"backend":7})",
        R"({"backend":"abacus","threads":0})", R"({"backend":"abacus","memory_bytes":-1})"}) {
    EXPECT_FALSE(Target::parse(bad)) << bad;
  }
}

TEST(SpaceTarget, AProfileIsADeviceThatHasSaidNothing) {
  for (const Profile& profile : profiles()) {
    const auto target = cpu_target_for(device_of(profile), 1);
    ASSERT_TRUE(target) << profile.name;
    EXPECT_EQ(target->arch, profile.target.arch) << profile.name;
    EXPECT_EQ(target->cpu, profile.target.cpu) << profile.name;
    EXPECT_EQ(target->vector_bits, profile.target.vector_bits) << profile.name;
    EXPECT_EQ(target->fma, profile.target.fma) << profile.name;
  }
}

TEST(SpaceTarget, OthersAreRefused) {
  wire::DeviceInfoT gpu = device("gpu", "aarch64", "", {});
  gpu.kind = wire::DeviceKind::Cuda;
  EXPECT_EQ(cpu_target_for(gpu, 1).error().code, ErrorCode::Unsupported);
  EXPECT_EQ(cpu_target_for(device("x", "riscv64", "", {}), 1).error().code, ErrorCode::Unsupported);
}

}  // namespace
}  // namespace fettle::space
