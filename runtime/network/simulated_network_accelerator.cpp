// VTA's simulator for networks (network_accelerator.h).
#include "runtime/network/network_accelerator.h"
#include "runtime/vta/simulated_accelerator.h"
#include "runtime/vta/vta_executor.h"
#include "runtime/vta/vta_image.h"
#include "runtime/vta/vta_memory.h"

namespace fettle::runtime {
namespace {

class Simulated final : public NetworkAccelerator {
 public:
  explicit Simulated(std::unique_ptr<Accelerator> accelerator)
      : accelerator_(std::move(accelerator)),
        arena_(accelerator_->memory()),
        memory_(arena_),
        loader_(accelerator_->design()),
        executor_(*accelerator_, arena_) {}
  Memory& memory() override { return memory_; }
  Kind kind() override { return {wire::ImageKind::VtaStream, loader_, executor_}; }

 private:
  std::unique_ptr<Accelerator> accelerator_;
  Arena arena_;
  VtaMemory memory_;
  VtaLoader loader_;
  VtaExecutor executor_;
};

// Buffers and streams with what lies around each: guards, and up to the next multiple of a buffer's
// alignment.
std::uint64_t memory_for(const wire::ProgramT& program) {
  constexpr std::uint64_t kAround = 2 * kVtaBufferAlignment + 2 * 16384;
  std::uint64_t bytes = 0;
  for (const auto& buffer : program.buffers) bytes += buffer->bytes + buffer->alignment + kAround;
  for (const auto& launch : program.launches) {
    const wire::ImageT& image = *program.images[launch->image];
    if (image.kind != wire::ImageKind::VtaStream) continue;
    const bool last = launch->entry + std::size_t{1} == image.entries.size();
    const std::uint64_t begin = image.entries[launch->entry]->offset;
    const std::uint64_t end = last ? image.bytes.size() : image.entries[launch->entry + 1]->offset;
    bytes += (end > begin ? end - begin : 0) + kAround;
  }
  return bytes;
}

}  // namespace

Result<std::unique_ptr<NetworkAccelerator>> make_simulated_network_accelerator(
    const wire::ImageT& image, const wire::ProgramT& program) {
  for (const vta::Design& design : vta::designs()) {
    if (vta::configuration_of(design) != image.configuration) continue;
    auto accelerator = make_simulated_accelerator(design, memory_for(program));
    if (!accelerator) return std::move(accelerator).error();
    return std::unique_ptr<NetworkAccelerator>(new Simulated(std::move(*accelerator)));
  }
  return Error{
      ErrorCode::WrongConfiguration,
      "the network is built for an accelerator that is not known here: " + image.configuration};
}

}  // namespace fettle::runtime
