// ir::Module → wire::Program of a CUDA device (program.h).
#include "host/backend/cuda_ptx/program.h"

#include "host/backend/cuda_ptx/codegen.h"
#include "host/backend/cuda_ptx/gpu_function.h"
#include "host/backend/gpu_program.h"
#include "host/lower/gpu/launch_shape.h"

namespace fettle::backend::cuda_ptx {
namespace {

constexpr std::int64_t kRegistersAtOnce = 8;  // a thread's are shared out by eights
constexpr std::int64_t kFewSpilled = 64;      // bytes of a thread: 16 registers

Error too_much(const std::string& kernel, std::int64_t wanted, const char* what,
               std::int64_t most) {
  return {ErrorCode::BuildError, kernel + ": a block takes " + std::to_string(wanted) + " " + what +
                                     ", it may have " + std::to_string(most)};
}

Result<void> check_limits(const Assembled& assembled, const std::vector<BlockOf>& blocks,
                          const space::GpuTarget& target, Spills spills) {
  for (const BlockOf& block : blocks) {
    for (const KernelFacts& kernel : assembled.kernels) {
      if (kernel.name != block.kernel) continue;
      if (spills == Spills::Few && kernel.spill_store_bytes > kFewSpilled) {
        return Error{ErrorCode::BuildError, block.kernel + ": a thread spills " +
                                                std::to_string(kernel.spill_store_bytes) +
                                                " bytes of registers to memory, more than " +
                                                std::to_string(kFewSpilled)};
      }
      const std::int64_t each =
          (kernel.registers + kRegistersAtOnce - 1) / kRegistersAtOnce * kRegistersAtOnce;
      if (block.threads * each > target.registers_per_block) {
        return too_much(block.kernel, block.threads * each, "registers",
                        target.registers_per_block);
      }
      const std::int64_t shared = kernel.shared_bytes + block.shared_bytes;
      if (shared > target.shared_bytes) {
        return too_much(block.kernel, shared, "bytes of shared memory", target.shared_bytes);
      }
    }
  }
  return {};
}

}  // namespace

Result<wire::ImageT> image_of_ptx(const std::string& ptx, const std::vector<BlockOf>& blocks,
                                  const space::GpuTarget& target, Spills spills) {
  wire::ImageT image;
  image.kind = wire::ImageKind::Ptx;
  Result<Assembled> assembled = assemble(ptx, target);
  if (assembled) {
    if (auto fit = check_limits(*assembled, blocks, target, spills); !fit) {
      return std::move(fit).error();
    }
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
    const lower::LaunchShape shape = lower::launch_shape(function);
    blocks.push_back({kernel_name(function), shape.threads(), dynamic_shared_bytes(shape)});
  }
  Result<wire::ImageT> image = image_of_ptx(*ptx, blocks, target, Spills::Few);
  if (!image) return std::move(image).error();
  wire::ProgramT program =
      gpu_module_program(module, std::make_unique<wire::ImageT>(std::move(*image)));
  for (std::size_t i = 0; i < module.launches.size(); ++i) {
    const auto function = static_cast<std::size_t>(module.launches[i].function);
    program.launches[i]->shared_bytes = static_cast<std::uint32_t>(blocks[function].shared_bytes);
  }
  program.target = "sm_" + std::to_string(target.sm);
  return program;
}

}  // namespace fettle::backend::cuda_ptx
