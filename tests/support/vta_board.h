// An accelerator of this process with all that loads and runs Programs on it: a board without an
// agent.
#pragma once

#include "runtime/loaded_program.h"
#include "runtime/vta/vta_executor.h"
#include "runtime/vta/vta_image.h"
#include "runtime/vta/vta_memory.h"

namespace fettle::testing {

struct VtaBoard {
  explicit VtaBoard(std::unique_ptr<runtime::Accelerator> core)
      : accelerator(std::move(core)),
        arena(accelerator->memory()),
        memory(arena),
        loader(accelerator->design()),
        executor(*accelerator, arena) {}

  // One at a time. Lives no longer than the board.
  Result<runtime::LoadedProgram> load(const wire::ProgramT& program, const BlobLookup& blobs = {}) {
    const runtime::Kind kinds[] = {{wire::ImageKind::VtaStream, loader, executor}};
    return runtime::LoadedProgram::load(program, memory, kinds, blobs);
  }

  std::unique_ptr<runtime::Accelerator> accelerator;
  runtime::Arena arena;
  runtime::VtaMemory memory;
  runtime::VtaLoader loader;
  runtime::VtaExecutor executor;
};

}  // namespace fettle::testing
