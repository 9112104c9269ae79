// ir::Module → wire::Program of a CUDA device (program.h).
#include "host/backend/cuda_ptx/program.h"

#include "host/backend/cuda_ptx/codegen.h"
#include "host/backend/cuda_ptx/gpu_function.h"
#include "host/backend/module_program.h"
#include "host/lower/gpu/launch_shape.h"

namespace fettle::backend::cuda_ptx {
namespace {

constexpr std::int64_t kRegistersAtOnce = 8;  // a thread's are shared out by eights

std::unique_ptr<wire::Dim3> dim(const std::array<std::int64_t, 3>& of) {
  return std::make_unique<wire::Dim3>(static_cast<std::uint32_t>(of[0]),
                                      static_cast<std::uint32_t>(of[1]),
                                      static_cast<std::uint32_t>(of[2]));
}

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
  wire::ProgramT program = module_program(module);
  program.target = "sm_" + std::to_string(target.sm);
  for (const ir::Function& function : module.functions) {
    image->entries.push_back(std::make_unique<wire::EntryPointT>());
    image->entries.back()->name = kernel_name(function);
  }
  program.images.push_back(std::move(image));
  for (std::size_t i = 0; i < module.launches.size(); ++i) {
    const ir::Function& function =
        module.functions[static_cast<std::size_t>(module.launches[i].function)];
    const lower::LaunchShape shape = lower::launch_shape(function);
    program.launches[i]->grid = dim(shape.grid);
    program.launches[i]->block = dim(shape.block);
  }
  return program;
}

}  // namespace fettle::backend::cuda_ptx
