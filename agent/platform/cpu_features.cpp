// Features from cpuid (x86) or AT_HWCAP and the core's name (Arm) (cpu_features.h).
#include "agent/platform/cpu_features.h"

#include <algorithm>
#include <string>
#include <vector>

#if !defined(__x86_64__)
#include <sys/auxv.h>
#endif

#include "agent/platform/cpu_facts.h"

namespace fettle::agent {

std::string arm_core_name(std::uint64_t midr) {
  struct Row {
    unsigned implementer, part;
    const char* name;
  };
  // Arm's and NVIDIA's technical reference manuals, MIDR_EL1.
  static constexpr Row rows[] = {
      {0x41, 0xc05, "cortex-a5"},   {0x41, 0xc07, "cortex-a7"},     {0x41, 0xc08, "cortex-a8"},
      {0x41, 0xc09, "cortex-a9"},   {0x41, 0xc0d, "cortex-a12"},    {0x41, 0xc0e, "cortex-a17"},
      {0x41, 0xc0f, "cortex-a15"},  {0x41, 0xd03, "cortex-a53"},    {0x41, 0xd04, "cortex-a35"},
      {0x41, 0xd05, "cortex-a55"},  {0x41, 0xd07, "cortex-a57"},    {0x41, 0xd08, "cortex-a72"},
      {0x41, 0xd09, "cortex-a73"},  {0x41, 0xd0a, "cortex-a75"},    {0x41, 0xd0b, "cortex-a76"},
      {0x41, 0xd0c, "neoverse-n1"}, {0x41, 0xd0d, "cortex-a77"},    {0x41, 0xd40, "neoverse-v1"},
      {0x41, 0xd41, "cortex-a78"},  {0x41, 0xd42, "cortex-a78ae"},  {0x41, 0xd49, "neoverse-n2"},
      {0x41, 0xd4f, "neoverse-v2"}, {0x41, 0xd83, "neoverse-v3ae"}, {0x41, 0xd84, "neoverse-v3"},
      {0x4e, 0x004, "carmel"},
  };
  const unsigned implementer = (midr >> 24) & 0xff, part = (midr >> 4) & 0xfff;
  for (const Row& row : rows) {
    if (row.implementer == implementer && row.part == part) return row.name;
  }
  return "";
}

std::vector<std::string> armv7_features(const std::string& core) {
  // Cores whose NEON always has VFPv4. 64-bit cores have it in their 32-bit state.
  static const char* const with_vfp4[] = {"cortex-a7",  "cortex-a12", "cortex-a15", "cortex-a17",
                                          "cortex-a35", "cortex-a53", "cortex-a55", "cortex-a57",
                                          "cortex-a72", "cortex-a73", "cortex-a75", "cortex-a76"};
  std::vector<std::string> features = {"neon", "vfp3"};
  if (core == "cortex-a9") features.push_back("fp16");
  if (std::find(std::begin(with_vfp4), std::end(with_vfp4), core) != std::end(with_vfp4)) {
    features.insert(features.end(), {"fp16", "vfp4"});
  }
  std::sort(features.begin(), features.end());
  return features;
}

#if defined(__x86_64__)

void read_native_features(wire::CpuFactsT& facts) {
  __builtin_cpu_init();
  auto& has = facts.features;
// __builtin_cpu_supports takes a literal, and counts only what the kernel saves.
#define FETTLE_FEATURE(name, gcc) \
  if (__builtin_cpu_supports(gcc)) has.push_back(name)
  FETTLE_FEATURE("sse3", "sse3");
  FETTLE_FEATURE("ssse3", "ssse3");
  FETTLE_FEATURE("sse4.1", "sse4.1");
  FETTLE_FEATURE("sse4.2", "sse4.2");
  FETTLE_FEATURE("popcnt", "popcnt");
  FETTLE_FEATURE("avx", "avx");
  FETTLE_FEATURE("avx2", "avx2");
  FETTLE_FEATURE("fma", "fma");
  FETTLE_FEATURE("f16c", "f16c");
  FETTLE_FEATURE("bmi", "bmi");
  FETTLE_FEATURE("bmi2", "bmi2");
  FETTLE_FEATURE("lzcnt", "lzcnt");
  FETTLE_FEATURE("movbe", "movbe");
  FETTLE_FEATURE("avx512f", "avx512f");
  FETTLE_FEATURE("avx512bw", "avx512bw");
  FETTLE_FEATURE("avx512cd", "avx512cd");
  FETTLE_FEATURE("avx512dq", "avx512dq");
  FETTLE_FEATURE("avx512vl", "avx512vl");
  FETTLE_FEATURE("avx512vnni", "avx512vnni");
  FETTLE_FEATURE("avx512bf16", "avx512bf16");
  FETTLE_FEATURE("avxvnni", "avxvnni");
#undef FETTLE_FEATURE
  auto all = [&](std::initializer_list<const char*> names) {
    return std::all_of(names.begin(), names.end(), [&](const char* name) {
      return std::find(has.begin(), has.end(), name) != has.end();
    });
  };
  std::sort(has.begin(), has.end());
  const bool v2 = all({"sse3", "ssse3", "sse4.1", "sse4.2", "popcnt"});
  const bool v3 = v2 && all({"avx", "avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt", "movbe"});
  const bool v4 = v3 && all({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"});
  if (facts.cpu.empty()) {
    facts.cpu = v4 ? "x86-64-v4" : v3 ? "x86-64-v3" : v2 ? "x86-64-v2" : "x86-64";
  }
  facts.vector_bits = all({"avx512f"}) ? 512 : all({"avx"}) ? 256 : 128;
}

#elif defined(__aarch64__)

void read_native_features(wire::CpuFactsT& facts) {
  const unsigned long hwcap = getauxval(AT_HWCAP), hwcap2 = getauxval(AT_HWCAP2);
  struct Row {
    int word, bit;
    const char* name;
  };
  // Bits of the kernel's Documentation/arch/arm64/elf_hwcaps.rst.
  static constexpr Row rows[] = {
      {1, 1, "neon"},     {1, 0, "fp-armv8"},  {1, 3, "aes"},   {1, 6, "sha2"},     {1, 7, "crc"},
      {1, 8, "lse"},      {1, 10, "fullfp16"}, {1, 12, "rdm"},  {1, 20, "dotprod"}, {1, 22, "sve"},
      {1, 23, "fp16fml"}, {2, 1, "sve2"},      {2, 13, "i8mm"}, {2, 14, "bf16"}};
  // A core named by the user under an emulator that has more: Armv8.0 cores have no extensions.
  const bool plain = facts.cpu == "cortex-a35" || facts.cpu == "cortex-a53" ||
                     facts.cpu == "cortex-a57" || facts.cpu == "cortex-a72" ||
                     facts.cpu == "cortex-a73";
  for (const Row& row : rows) {
    const unsigned long word = row.word == 1 ? hwcap : hwcap2;
    const bool base = row.word == 1 && row.bit <= 7;
    if ((word >> row.bit & 1) && (base || !plain)) facts.features.push_back(row.name);
  }
  std::sort(facts.features.begin(), facts.features.end());
  facts.vector_bits = 128;
}

#else

void read_native_features(wire::CpuFactsT& facts) {
  constexpr unsigned long kNeon = 1ul << 12;
  if (getauxval(AT_HWCAP) & kNeon) facts.features = armv7_features(facts.cpu);
  facts.vector_bits = facts.features.empty() ? 32 : 128;
}

#endif

}  // namespace fettle::agent
