// GpuTarget: what search spaces and code generators must know of a GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/ir/intrinsics.h"
#include "host/space/target.h"
#include "schemas/device_generated.h"
#include "schemas/wire/result.h"

namespace fettle::space {

struct GpuTarget {
  std::string backend;  // its row: the language that the device takes

  int threads_per_block = 1024;
  std::int64_t shared_bytes = 48 << 10;  // of one block, without asking for more
  int registers_per_block = 1 << 16;     // of 32 bits
  int registers_per_thread = 255;
  int warp = 32;                                       // threads that go together
  int compute_units = 1;                               // that run blocks side by side
  std::int64_t shared_bytes_per_unit = 0;              // what those blocks share out; 0: unknown
  std::int64_t grid_x = 0x7fffffff, grid_yz = 0xffff;  // most blocks along an axis
  std::int64_t memory_bytes = 0;                       // the device's limit for one program
  int vector_width = 1;           // floats that a thread best takes at once; 1: one, as CUDA's do
  bool shared_is_global = false;  // shared memory is a piece of the global one

  // CUDA's; 0: another back end's.
  int sm = 0;      // compute capability, 90 of 9.0
  int driver = 0;  // the CUDA version that the driver knows, 1206 of 12.6

  // OpenCL's.
  bool half = false;  // has float16 as a type (cl_khr_fp16)
  // Of four floats each, that a buffer may have to be read through an image; 0: no buffer is.
  std::int64_t image_texels = 0;
  std::vector<std::string> extensions;  // that rows of ir::intrinsics() ask for; sorted

  // It copies from global to shared memory beside the threads.
  bool copies_async() const { return sm >= 80; }
  // Rows of ir::intrinsics() that the device has, in their order.
  std::vector<const ir::IntrinsicRow*> instructions() const;

  // What others see of it: "backend" and the rest by their names.
  Target target() const;
  // InvalidArgument: it is none of `backend`, or an impossible one.
  static Result<GpuTarget> parse(const Target& target, const std::string& backend);
};

// Unsupported: no CUDA device, or one whose driver or compute capability is not known.
Result<GpuTarget> cuda_target_for(const wire::DeviceInfoT& device, const std::string& backend);

// Unsupported: no OpenCL device, or one whose numbers are impossible. What OpenCL does not tell,
// registers, is a guess by the device's type.
Result<GpuTarget> opencl_target_for(const wire::DeviceInfoT& device, const std::string& backend);

// The PTX version, 78 of 7.8, that the target's driver takes: the newest that fettle writes.
// Unsupported: its driver knows none that has the target's instructions.
Result<int> ptx_version_of(const GpuTarget& target);
// The compute capability that PTX is written for: the target's, or the newest one known before it.
int ptx_sm_of(const GpuTarget& target);

}  // namespace fettle::space
