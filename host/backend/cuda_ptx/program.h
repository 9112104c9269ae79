// ir::Module → wire::Program of a CUDA device: PTX or a cubin, and how each kernel is launched.
#pragma once

#include <string>
#include <vector>

#include "host/backend/cuda_ptx/ptxas.h"
#include "host/ir/module.h"
#include "host/space/gpu_target.h"
#include "schemas/program_generated.h"
#include "schemas/wire/result.h"

namespace fettle::backend::cuda_ptx {

// A kernel by its name in the PTX, and what a block of it has: threads, and bytes of shared memory
// that its launch states.
struct BlockOf {
  std::string kernel;
  std::int64_t threads, shared_bytes = 0;
};

// A kernel of ours that spills many registers to memory is slower than its like, and others are
// tried: it is refused. One that a user wrote is measured as it is.
enum class Spills { Allowed, Few };

// Without entry points. Where a ptxas here knows the device it judges the text, and its cubin is
// sent if it is no newer than the driver; else the driver compiles the PTX. BuildError: ptxas
// refuses it, a block would need more registers or shared memory than there are, or a kernel
// spills.
Result<wire::ImageT> image_of_ptx(const std::string& ptx, const std::vector<BlockOf>& blocks,
                                  const space::GpuTarget& target, Spills spills);

// BuildError: LLVM refuses it, or as image_of_ptx.
Result<wire::ProgramT> make_program(const ir::Module& module, const space::GpuTarget& target);

}  // namespace fettle::backend::cuda_ptx
