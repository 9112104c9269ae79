// Networks through the runtime (network_run.h).
#include "tests/support/network_run.h"

#include "runtime/cpu/cpu_executor.h"
#include "runtime/cpu/cpu_image.h"
#include "runtime/cpu/guarded_memory.h"
#include "runtime/loaded_program.h"

namespace fettle::testing {

Result<TensorBytesList> run_network(const network::LinkedNetwork& linked,
                                    const TensorBytesList& inputs) {
  wire::ProgramT program(*linked.network.program);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    wire::FillT& fill = *program.buffers[linked.network.inputs[i]->buffer]->fill;
    fill.kind = wire::FillKind::Blob;
    fill.bytes = inputs[i];
  }
  const BlobLookup lookup = network::blobs_of(linked);
  if (auto checked = check_program(program); !checked) return std::move(checked).error();
  runtime::GuardedMemory memory(0);
  runtime::CpuLoader loader;
  runtime::CpuExecutor executor({0});
  const runtime::Kind kind{wire::ImageKind::CpuImage, loader, executor};
  auto loaded = runtime::LoadedProgram::load(program, memory, std::span(&kind, 1), lookup);
  if (!loaded) return std::move(loaded).error();
  if (auto prepared = loaded->prepare(); !prepared) return std::move(prepared).error();
  if (auto ran = loaded->run(2); !ran) return std::move(ran).error();
  for (std::size_t b = 0; b < program.buffers.size(); ++b) {
    const auto damage = loaded->buffers()[b]->damage();
    if (!damage) return damage.error();
    if (!damage->empty()) {
      return Error{ErrorCode::StrayWrite, runtime::name_of(program, b) + ": " + *damage};
    }
  }
  TensorBytesList outputs;
  for (const auto& output : linked.network.outputs) {
    const auto data = loaded->buffers()[output->buffer]->data();
    outputs.emplace_back(data.begin(), data.end());
  }
  return outputs;
}

}  // namespace fettle::testing
