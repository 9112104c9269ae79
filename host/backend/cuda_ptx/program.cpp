// ir::Module → wire::Program of a CUDA device (program.h).
#include "host/backend/cuda_ptx/program.h"

#include "host/backend/cuda_ptx/codegen.h"
#include "host/backend/gpu_program.h"
#include "host/lower/gpu/launch_shape.h"

namespace fettle::backend::cuda_ptx {
namespace {

constexpr std::int64_t kRegistersAtOnce = 8;  // a thread's are shared out by eights

Result<void> check_registers(const Assembled& assembled, const std::vector<BlockOf>& blocks,
                             const space::GpuTarget& target) {
  for (const auto& [name, threads] : blocks) {
    for (const KernelFacts& kernel : assembled.kernels) {
      if (kernel.name != name) continue;
      const std::int64_t each =
          (kernel.registers + kRegistersAtOnce - 1) / kRegistersAtOnce * kRegistersAtOnce;
      if (threads * each <= target.registers_per_block) continue;
      return Error{ErrorCode::BuildError, name + ": " + std::to_string(threads) + " threads of " +
                                              std::to_string(kernel.registers) +
                                              " registers, a block has " +
                                              std::to_string(target.registers_per_block)};
    }
  }
  return {};
}

}  // namespace

Result<wire::ImageT> image_of_ptx(const std::string& ptx, const std::vector<BlockOf>& blocks,
                                  const space::GpuTarget& target) {
  wire::ImageT image;
  image.kind = wire::ImageKind::Ptx;
  Result<Assembled> assembled = assemble(ptx, target);
  if (assembled) {
    if (auto fit = check_registers(*assembled, blocks, target); !fit) return std::move(fit).error();
    if (assembled->cuda <= target.driver) {
      image.kind = wire::ImageKind::Cubin;
      image.bytes = std::move(assembled->cubin);
    }
  } else if (assembled.error().code != ErrorCode::Unsupported) {
    return std::move(assembled).error();
  }
  if (image.kind == wire::ImageKind::Ptx) image.bytes.assign(ptx.begin(), ptx.end());
  return image;
}

Result<wire::ProgramT> make_program(const ir::Module& module, const space::GpuTarget& target) {
  Result<std::string> ptx = make_ptx(module, target);
  if (!ptx) return std::move(ptx).error();
  std::vector<BlockOf> blocks;
  for (const ir::Function& function : module.functions) {
    blocks.push_back({kernel_name(function), lower::launch_shape(function).threads()});
  }
  Result<wire::ImageT> image = image_of_ptx(*ptx, blocks, target);
  if (!image) return std::move(image).error();
  wire::ProgramT program =
      gpu_module_program(module, std::make_unique<wire::ImageT>(std::move(*image)));
  program.target = "sm_" + std::to_string(target.sm);
  return program;
}

}  // namespace fettle::backend::cuda_ptx
