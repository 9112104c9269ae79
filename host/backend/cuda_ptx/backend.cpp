// NVIDIA's GPUs: their language (gpu_language.h).
#include "host/backend/cuda_ptx/backend.h"

#include "host/backend/cuda_ptx/codegen.h"
#include "host/backend/cuda_ptx/kernel_compiler.h"
#include "host/backend/cuda_ptx/program.h"
#include "host/backend/gpu_backend.h"

namespace fettle::backend::cuda_ptx {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;
constexpr HardwareKey kKeys[] = {
    {"threads_per_block", 32, 1024},
    {"shared_bytes", 1024, 227 << 10},
    {"registers_per_block", 1024, 1 << 20},
    {"registers_per_thread", 16, 255},
    {"compute_units", 1, 4096},
    {"memory_bytes", 1 << 20, 1024 * kGiB},
};

Result<std::string> explained(const ir::Module& module, const space::GpuTarget& target) {
  const Result<std::string> ptx = make_ptx(module, target);
  if (!ptx) return ptx;
  return "--- PTX\n" + *ptx + "--- ptxas\n" + ptxas_text(*ptx, target);
}

// The same chip; memory and driver may differ.
bool same_chip(const space::GpuTarget& recorded, const space::GpuTarget& target) {
  return recorded.sm == target.sm && recorded.compute_units == target.compute_units;
}

}  // namespace

const Backend& cuda_backend() {
  static const GpuBackend backend({kName,
                                   wire::DeviceKind::Cuda,
                                   space::cuda_target_for,
                                   kKeys,
                                   make_program,
                                   explained,
                                   same_chip,
                                   {"local-cuda", {"--device-kind", "cuda"}, false},
                                   make_kernel_compiler});
  return backend;
}

}  // namespace fettle::backend::cuda_ptx
