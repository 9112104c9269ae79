// OpenCL devices: their language (gpu_language.h).
#include "host/backend/opencl_c/backend.h"

#include "host/backend/gpu_backend.h"
#include "host/backend/opencl_c/kernel_compiler.h"
#include "host/backend/opencl_c/program.h"
#include "host/backend/opencl_c/source_writer.h"

namespace fettle::backend::opencl_c {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;
constexpr HardwareKey kKeys[] = {
    {"threads_per_block", 32, 1024},
    {"shared_bytes", 1024, 1 << 20},
    {"shared_is_global", 0, 1},
    {"registers_per_thread", 16, 1024},
    {"warp", 1, 128},
    {"vector_width", 1, 16},
    {"image_texels", 0, 1 << 28},
    {"compute_units", 1, 4096},
    {"memory_bytes", 1 << 20, 1024 * kGiB},
};

Result<std::string> explained(const ir::Module& module, const space::GpuTarget& target) {
  Result<std::string> source = make_source(module, target);
  if (!source) return source;
  return "--- OpenCL C\n" + *source;
}

// OpenCL does not name a chip in a way that is worth a comparison: what it says in numbers does.
bool alike(const space::GpuTarget& recorded, const space::GpuTarget& target) {
  return recorded.warp == target.warp && recorded.vector_width == target.vector_width &&
         recorded.shared_is_global == target.shared_is_global &&
         recorded.shared_bytes == target.shared_bytes &&
         recorded.threads_per_block == target.threads_per_block &&
         recorded.compute_units == target.compute_units;
}

}  // namespace

const Backend& opencl_backend() {
  static const GpuBackend backend({kName,
                                   wire::DeviceKind::OpenCl,
                                   space::opencl_target_for,
                                   kKeys,
                                   make_program,
                                   explained,
                                   alike,
                                   {"local-opencl", {"--device-kind", "opencl"}, true},
                                   make_kernel_compiler});
  return backend;
}

}  // namespace fettle::backend::opencl_c
