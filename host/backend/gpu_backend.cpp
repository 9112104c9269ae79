// Rows of back ends for GPUs (gpu_backend.h).
#include "host/backend/gpu_backend.h"

#include "host/backend/gpu_calibration.h"
#include "host/backend/gpu_task.h"
#include "host/lower/gpu/features.h"

namespace fettle::backend {
namespace {

void correct(space::GpuTarget& target, std::span<const HardwareValue> hardware) {
  const auto set = [&](const char* key, auto& field) {
    if (const auto value = value_of(hardware, key)) {
      field = static_cast<std::remove_reference_t<decltype(field)>>(*value);
    }
  };
  set("threads_per_block", target.threads_per_block);
  set("shared_bytes", target.shared_bytes);
  set("shared_is_global", target.shared_is_global);
  set("registers_per_block", target.registers_per_block);
  set("registers_per_thread", target.registers_per_thread);
  set("warp", target.warp);
  set("vector_width", target.vector_width);
  set("image_texels", target.image_texels);
  set("compute_units", target.compute_units);
  set("memory_bytes", target.memory_bytes);
}

}  // namespace

Result<space::Target> GpuBackend::target_for(const wire::DeviceInfoT& device,
                                             std::span<const HardwareValue> hardware) const {
  auto target = language_.target_for(device, language_.name);
  if (!target) return std::move(target).error();
  correct(*target, hardware);
  return target->target();
}

Result<std::unique_ptr<const Task>> GpuBackend::open(space::ComputeDag dag,
                                                     const space::Target& target) const {
  auto gpu = space::GpuTarget::parse(target, language_.name);
  if (!gpu) return std::move(gpu).error();
  auto task = space::open_gpu_space(std::move(dag), *gpu);
  if (!task) return std::move(task).error();
  return make_gpu_task(std::move(*task), language_);
}

Result<std::unique_ptr<const Task>> GpuBackend::open_kernel(space::OwnKernel kernel,
                                                            const space::Target& target) const {
  auto gpu = space::GpuTarget::parse(target, language_.name);
  if (!gpu) return std::move(gpu).error();
  auto compiler = language_.kernel_compiler(kernel.language, *gpu);
  if (!compiler) return Backend::open_kernel(std::move(kernel), target);
  return open_kernel_task(std::move(kernel), target, std::move(compiler));
}

std::vector<std::string> GpuBackend::feature_names() const { return lower::gpu_feature_names(); }

bool GpuBackend::teaches(const space::Target& recorded, const space::Target& target) const {
  const auto there = space::GpuTarget::parse(recorded, language_.name),
             here = space::GpuTarget::parse(target, language_.name);
  return there && here && language_.teaches(*there, *here);
}

Result<std::vector<CalibrationProgram>> GpuBackend::calibration(const space::Target& target) const {
  auto gpu = space::GpuTarget::parse(target, language_.name);
  if (!gpu) return std::move(gpu).error();
  return gpu_calibration(*gpu, language_.make_program);
}

}  // namespace fettle::backend
