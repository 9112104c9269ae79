// CpuTarget: canonical form, and what follows from a connected device (cpu_target.h).
#include "host/space/cpu_target.h"

#include <algorithm>
#include <cassert>

#include <nlohmann/json.hpp>

#include "host/space/json_reason.h"
#include "host/space/profile.h"

namespace fettle::space {

using nlohmann::json;

Target CpuTarget::target() const {
  json levels = json::array();
  for (const CacheLevel& c : caches) {
    levels.push_back({{"level", c.level},
                      {"bytes", c.bytes},
                      {"line_bytes", c.line_bytes},
                      {"shared_by", c.shared_by}});
  }
  const json text{{"backend", kBackend},
                  {"arch", arch},
                  {"triple", triple},
                  {"cpu", cpu},
                  {"features", features},
                  {"vector_bits", vector_bits},
                  {"vector_registers", vector_registers},
                  {"fma", fma},
                  {"threads", threads},
                  {"caches", levels},
                  {"memory_bytes", memory_bytes}};
  Result<Target> target = Target::parse(text.dump());
  assert(target);
  return std::move(*target);
}

Result<CpuTarget> CpuTarget::parse(const std::string& canonical) {
  Result<Target> target = Target::parse(canonical);
  if (!target) return std::move(target).error();
  return parse(*target);
}

Result<CpuTarget> CpuTarget::parse(const Target& target) {
  if (target.backend() != kBackend) {
    return Error{ErrorCode::InvalidArgument,
                 "the target is one of the back end " + target.backend() + ", not of a CPU"};
  }
  try {
    const json j = json::parse(target.canonical());
    CpuTarget t;
    t.arch = j.at("arch");
    t.triple = j.at("triple");
    t.cpu = j.at("cpu");
    t.features = j.at("features").get<std::vector<std::string>>();
    t.vector_bits = j.at("vector_bits");
    t.vector_registers = j.at("vector_registers");
    t.fma = j.at("fma");
    t.threads = j.at("threads");
    for (const json& c : j.at("caches")) {
      t.caches.push_back({c.at("level"), c.at("bytes"), c.at("line_bytes"), c.at("shared_by")});
    }
    t.memory_bytes = j.at("memory_bytes");
    if (t.vector_bits < 32 || t.vector_bits > 4096 || t.vector_bits % 32 != 0 ||
        t.vector_registers < 4 || t.vector_registers > 256 || t.threads < 1) {
      return Error{ErrorCode::InvalidArgument, "target: impossible vector or thread numbers"};
    }
    return t;
  } catch (const json::exception& e) {
    return Error{ErrorCode::InvalidArgument, "target: " + json_reason(e)};
  }
}

namespace {

bool has(const std::vector<std::string>& features, const std::string& name) {
  return std::find(features.begin(), features.end(), name) != features.end();
}

// ARMv7-A cores whose manuals name VFPv4 (fused multiply-add), and Armv8 ones in
// 32-bit state. The Cortex-A8 and A9 are VFPv3.
bool armv7_core_has_fma(const std::string& cpu) {
  static const std::vector<std::string> cores = {
      "cortex-a5",  "cortex-a7",  "cortex-a12", "cortex-a15", "cortex-a17",
      "cortex-a32", "cortex-a35", "cortex-a53", "cortex-a55", "cortex-a57",
      "cortex-a72", "cortex-a73", "cortex-a75", "cortex-a76", "krait"};
  return std::find(cores.begin(), cores.end(), cpu) != cores.end();
}

// What the features of a connected x86-64 core mean for register tiles.
void x86_vectors(CpuTarget& t) {
  t.fma = has(t.features, "+fma");
  const bool avx512 = has(t.features, "+avx512f") && has(t.features, "+avx512vl");
  t.vector_registers = avx512 ? 32 : 16;
  t.vector_bits = avx512 ? 512 : has(t.features, "+avx2") || has(t.features, "+avx") ? 256 : 128;
}

}  // namespace

bool CpuTarget::converts_float16() const {
  if (arch == "x86_64") return has(features, "+f16c") || has(features, "+avx512f");
  // Cortex-A9's VFPv3 has the half-precision extension, as LLVM's description of it says;
  // cores with FMA have VFPv4, which includes it.
  if (arch == "armv7") return fma || has(features, "+fp16") || cpu == "cortex-a9";
  return arch == "aarch64";
}

std::vector<const ir::IntrinsicRow*> CpuTarget::instructions() const {
  return ir::intrinsics_of(arch, vector_bits,
                           [&](const std::string& feature) { return has(features, feature); });
}

const ir::IntrinsicRow* CpuTarget::sums_of_byte_products() const {
  const auto there = instructions();
  for (const ir::Scalar left : {ir::Scalar::Int8, ir::Scalar::UInt8}) {
    const ir::IntrinsicRow* row = ir::find_sum_of_products(left, ir::Scalar::Int8);
    if (std::find(there.begin(), there.end(), row) != there.end()) return row;
  }
  return nullptr;
}

Result<CpuTarget> cpu_target_for(const wire::DeviceInfoT& device, int threads) {
  if (device.kind != wire::DeviceKind::Cpu || !device.cpu) {
    return Error{ErrorCode::Unsupported, "device " + device.key + " is not a CPU device"};
  }
  const wire::CpuFactsT& facts = *device.cpu;
  const Profile* profile = profile_of(device);
  if (!profile) {
    return Error{ErrorCode::Unsupported,
                 "device " + device.key + ": no target profile for architecture " + facts.arch};
  }
  CpuTarget t = profile->target;
  t.arch = facts.arch;
  t.threads = std::max(1, threads);
  if (!facts.triple.empty()) t.triple = facts.triple;
  if (!facts.cpu.empty()) t.cpu = facts.cpu;
  if (!facts.features.empty()) {
    t.features.clear();
    for (const std::string& f : facts.features) {
      t.features.push_back(f[0] == '+' || f[0] == '-' ? f : "+" + f);
    }
    if (t.arch == "x86_64") x86_vectors(t);
  }
  // The board's own word on usable vectors may be lower than its features' (and only lower).
  if (facts.vector_bits >= 64) {
    t.vector_bits = t.arch == "x86_64" ? std::min(t.vector_bits, int(facts.vector_bits))
                                       : int(facts.vector_bits);
  }
  if (t.arch == "armv7") {
    t.fma = armv7_core_has_fma(facts.cpu);
    // An emulator runs fused instructions that the real core lacks.
    if (!t.fma) {
      std::erase_if(t.features, [](const std::string& f) {
        return f == "+vfp4" || f == "+vfp4d16" || f == "-vfp4" || f == "+fp-armv8";
      });
      t.features.push_back("-vfp4");
    }
  }
  std::sort(t.features.begin(), t.features.end());
  t.features.erase(std::unique(t.features.begin(), t.features.end()), t.features.end());
  if (!facts.caches.empty()) {
    t.caches.clear();
    for (const auto& c : facts.caches) {
      if (c->kind == "instruction") continue;
      t.caches.push_back({c->level, std::int64_t(c->bytes), int(c->line_bytes), int(c->shared_by)});
    }
  }
  if (device.memory_limit_bytes > 0) t.memory_bytes = std::int64_t(device.memory_limit_bytes);
  return t;
}

}  // namespace fettle::space
