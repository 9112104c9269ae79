// CpuTarget: what compilers and search spaces must know of a CPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/ir/intrinsics.h"
#include "host/space/target.h"
#include "schemas/device_generated.h"
#include "schemas/wire/result.h"

namespace fettle::space {

struct CacheLevel {
  int level;
  std::int64_t bytes;
  int line_bytes;
  int shared_by;
};

struct CpuTarget {
  static constexpr const char* kBackend = "cpu_llvm";

  std::string arch;  // "x86_64", "aarch64", "armv7"
  std::string triple;
  std::string cpu;                    // LLVM's name; "generic" when unknown
  std::vector<std::string> features;  // LLVM's "+avx2" form, sorted
  int vector_bits = 128;
  int vector_registers = 16;
  bool fma = false;                // fused multiply-add exists; false: none may be emitted
  int threads = 1;                 // that the kernel may use
  std::vector<CacheLevel> caches;  // data and unified, by level
  std::int64_t memory_bytes = 0;   // the device's limit for one program

  // Whether instructions convert between float16 and float32: without them LLVM would
  // call functions, which an image cannot.
  bool converts_float16() const;

  // Rows of ir::intrinsics() that the device has, in their order.
  std::vector<const ir::IntrinsicRow*> instructions() const;
  // Of those: the one that sums products of int8, or of uint8 by int8 where none does. Null:
  // there is neither.
  const ir::IntrinsicRow* sums_of_byte_products() const;

  // What others see of it: "backend" is "cpu_llvm", the rest the fields by their names.
  Target target() const;
  std::string canonical() const { return target().canonical(); }
  // InvalidArgument: it is no target of cpu_llvm, or an impossible one.
  static Result<CpuTarget> parse(const Target& target);
  static Result<CpuTarget> parse(const std::string& canonical);
};

// From what the connected board says, with the target profile
// toolchains/profiles/*.toml as fallback for what it does not say. ARMv7 gets
// FMA only when the board names a core that is known to have it.
Result<CpuTarget> cpu_target_for(const wire::DeviceInfoT& device, int threads);

}  // namespace fettle::space
