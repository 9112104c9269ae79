// ir::Module → wire::Program of a CUDA device (program.h).
#include "host/backend/cuda_ptx/program.h"

#include "host/backend/cuda_ptx/codegen.h"
#include "host/backend/gpu_program.h"
#include "host/lower/gpu/launch_shape.h"

namespace fettle::backend::cuda_ptx {
namespace {

constexpr std::int64_t kRegistersAtOnce = 8;  // a thread's are shared out by eights

Result<void> check_registers(const Assembled& assembled, const ir::Module& module,
                             const space::GpuTarget& target) {
  for (const ir::Function& function : module.functions) {
    for (const KernelFacts& kernel : assembled.kernels) {
      if (kernel.name != kernel_name(function)) continue;
      const std::int64_t threads = lower::launch_shape(function).threads(),
                         each = (kernel.registers + kRegistersAtOnce - 1) / kRegistersAtOnce *
                                kRegistersAtOnce;
      if (threads * each <= target.registers_per_block) continue;
      return Error{ErrorCode::BuildError, function.name + ": " + std::to_string(threads) +
                                              " threads of " + std::to_string(kernel.registers) +
                                              " registers, a block has " +
                                              std::to_string(target.registers_per_block)};
    }
  }
  return {};
}

}  // namespace

Result<wire::ProgramT> make_program(const ir::Module& module, const space::GpuTarget& target) {
  Result<std::string> ptx = make_ptx(module, target);
  if (!ptx) return std::move(ptx).error();
  auto image = std::make_unique<wire::ImageT>();
  image->kind = wire::ImageKind::Ptx;
  const Ptxas* ptxas = find_ptxas();
  if (ptxas != nullptr && ptxas->cuda <= target.driver) {
    Result<Assembled> assembled = assemble(*ptx, target);
    if (assembled) {
      if (auto fit = check_registers(*assembled, module, target); !fit) {
        return std::move(fit).error();
      }
      image->kind = wire::ImageKind::Cubin;
      image->bytes = std::move(assembled->cubin);
    } else if (assembled.error().code != ErrorCode::Unsupported) {
      return std::move(assembled).error();
    }
  }
  if (image->kind == wire::ImageKind::Ptx) image->bytes.assign(ptx->begin(), ptx->end());
  wire::ProgramT program = gpu_module_program(module, std::move(image));
  program.target = "sm_" + std::to_string(target.sm);
  return program;
}

}  // namespace fettle::backend::cuda_ptx
