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

namespace {

[[maybe_unused]] bool contains(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

}  // namespace

#if defined(__x86_64__)

// __builtin_cpu_supports takes a literal, and counts only what the kernel saves. GCC names them as
// LLVM does.
#define FETTLE_TOLD_FEATURES(each)                                                                 \
  each("sse3") each("ssse3") each("sse4.1") each("sse4.2") each("popcnt") each("avx") each("avx2") \
      each("fma") each("f16c") each("bmi") each("bmi2") each("lzcnt") each("movbe")                \
          each("avx512f") each("avx512bw") each("avx512cd") each("avx512dq") each("avx512vl")      \
              each("avx512vnni") each("avx512bf16") each("avxvnni")
// What compilers may use beside them, once they are told of it.
#define FETTLE_OTHER_FEATURES(each)                                                      \
  each("avx512vbmi") each("avx512vbmi2") each("avx512ifma") each("avx512bitalg")         \
      each("avx512vpopcntdq") each("avx512vp2intersect") each("gfni") each("vpclmulqdq") \
          each("aes") each("pclmul")

std::optional<bool> has_feature(const wire::CpuFactsT& facts, const std::string& feature) {
  __builtin_cpu_init();
#define FETTLE_IS_TOLD(name) \
  if (feature == name) return contains(facts.features, feature);
  FETTLE_TOLD_FEATURES(FETTLE_IS_TOLD)
#undef FETTLE_IS_TOLD
#define FETTLE_IS_THERE(name) \
  if (feature == name) return __builtin_cpu_supports(name) != 0;
  FETTLE_OTHER_FEATURES(FETTLE_IS_THERE)
#undef FETTLE_IS_THERE
  return std::nullopt;
}

void read_native_features(wire::CpuFactsT& facts) {
  __builtin_cpu_init();
  auto& has = facts.features;
#define FETTLE_PUT(name) \
  if (__builtin_cpu_supports(name)) has.push_back(name);
  FETTLE_TOLD_FEATURES(FETTLE_PUT)
#undef FETTLE_PUT
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

namespace {

struct Row {
  int word, bit;
  const char* name;
};
// Bits of the kernel's Documentation/arch/arm64/elf_hwcaps.rst.
constexpr Row kHwcaps[] = {
    {1, 1, "neon"},     {1, 0, "fp-armv8"},  {1, 3, "aes"},   {1, 6, "sha2"},     {1, 7, "crc"},
    {1, 8, "lse"},      {1, 10, "fullfp16"}, {1, 12, "rdm"},  {1, 20, "dotprod"}, {1, 22, "sve"},
    {1, 23, "fp16fml"}, {2, 1, "sve2"},      {2, 13, "i8mm"}, {2, 14, "bf16"}};

}  // namespace

std::optional<bool> has_feature(const wire::CpuFactsT& facts, const std::string& feature) {
  for (const Row& row : kHwcaps) {
    if (feature == row.name) return contains(facts.features, feature);
  }
  return std::nullopt;
}

void read_native_features(wire::CpuFactsT& facts) {
  const unsigned long hwcap = getauxval(AT_HWCAP), hwcap2 = getauxval(AT_HWCAP2);
  // A core named by the user under an emulator that has more: Armv8.0 cores have no extensions.
  const bool plain = facts.cpu == "cortex-a35" || facts.cpu == "cortex-a53" ||
                     facts.cpu == "cortex-a57" || facts.cpu == "cortex-a72" ||
                     facts.cpu == "cortex-a73";
  for (const Row& row : kHwcaps) {
    const unsigned long word = row.word == 1 ? hwcap : hwcap2;
    const bool base = row.word == 1 && row.bit <= 7;
    if ((word >> row.bit & 1) && (base || !plain)) facts.features.push_back(row.name);
  }
  std::sort(facts.features.begin(), facts.features.end());
  facts.vector_bits = 128;
}

#else

std::optional<bool> has_feature(const wire::CpuFactsT& facts, const std::string& feature) {
  for (const char* name : {"neon", "vfp3", "fp16", "vfp4"}) {
    if (feature == name) return contains(facts.features, feature);
  }
  return std::nullopt;
}

void read_native_features(wire::CpuFactsT& facts) {
  constexpr unsigned long kNeon = 1ul << 12;
  if (getauxval(AT_HWCAP) & kNeon) facts.features = armv7_features(facts.cpu);
  facts.vector_bits = facts.features.empty() ? 32 : 128;
}

#endif

}  // namespace fettle::agent
