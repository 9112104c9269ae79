// This machine's own CPU as a CpuTarget, by LLVM's detection.
#include "host/backend/cpu_llvm/host_cpu.h"

#include <algorithm>

#include <unistd.h>

#include <llvm/ADT/StringMap.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/Triple.h>

namespace fettle::backend::cpu_llvm {

space::CpuTarget host_target() {
  space::CpuTarget target;
  target.triple = llvm::sys::getDefaultTargetTriple();
  const llvm::Triple triple(target.triple);
  target.arch = triple.isAArch64() ? "aarch64" : triple.isARM() ? "armv7" : "x86_64";
  target.cpu = llvm::sys::getHostCPUName().str();
  bool avx = false, avx512 = false, fma = false;
  for (const auto& feature : llvm::sys::getHostCPUFeatures()) {
    const std::string name = feature.first().str();
    target.features.push_back((feature.second ? "+" : "-") + name);
    if (!feature.second) continue;
    avx |= name == "avx", avx512 |= name == "avx512f", fma |= name == "fma" || name == "vfp4";
  }
  std::sort(target.features.begin(), target.features.end());
  target.vector_bits = avx512 ? 512 : avx ? 256 : 128;
  target.vector_registers = avx512 || target.arch == "aarch64" ? 32 : 16;
  target.fma = target.arch == "aarch64" || fma;
  struct {
    int level, size_name, line_name;
  } const kCaches[] = {{1, _SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL1_DCACHE_LINESIZE},
                       {2, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL2_CACHE_LINESIZE},
                       {3, _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL3_CACHE_LINESIZE}};
  for (const auto& cache : kCaches) {
    const long bytes = ::sysconf(cache.size_name), line = ::sysconf(cache.line_name);
    if (bytes > 0)
      target.caches.push_back({cache.level, bytes, static_cast<int>(std::max(line, 1L)), 1});
  }
  return target;
}

}  // namespace fettle::backend::cpu_llvm
