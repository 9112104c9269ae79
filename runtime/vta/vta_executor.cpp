// Series of streams (vta_executor.h).
#include "runtime/vta/vta_executor.h"

#include <algorithm>
#include <string>

#include "fpga/config/register_map.h"
#include "fpga/isa/determined.h"
#include "runtime/vta/bound_stream.h"

namespace fettle::runtime {
namespace {

// Of GEMM and ALU, each at least a cycle of the compute unit. Every word decodes.
std::uint64_t steps_of(const vta::Encoding& encoding, std::span<const vta::Word> words) {
  std::uint64_t steps = 0;
  for (const vta::Word& word : words) {
    const auto instruction = encoding.decode(word);
    if (const auto* gemm = std::get_if<vta::Gemm>(&instruction->body)) steps += gemm->steps();
    if (const auto* alu = std::get_if<vta::Alu>(&instruction->body)) steps += alu->steps();
  }
  return steps;
}

// Where done is cleared by the next compute instruction only, nothing may come before that.
Result<void> check_beginning(const vta::Design& design, const vta::Word& first) {
  if (!vta::register_map(design.core).done_is_stale) return {};
  const auto instruction = vta::Encoding(design).decode(first);
  const vta::Tokens& tokens = instruction->tokens;
  if (vta::unit_of(*instruction) == vta::Unit::Compute && !tokens.pop_prev && !tokens.pop_next) {
    return {};
  }
  return Error{ErrorCode::Malformed,
               "on a core of the design '" + design.name +
                   "' a stream begins with an instruction of the compute unit that waits for "
                   "nothing, which clears the last one's done flag"};
}

class VtaSeries final : public LaunchSeries {
 public:
  VtaSeries(Accelerator& accelerator, Arena& arena) : accelerator_(accelerator), arena_(arena) {}

  Result<void> add(const wire::LaunchT& launch, const LoadedImage& image,
                   std::span<const std::unique_ptr<BufferMemory>> buffers) override {
    const vta::Design& design = accelerator_.design();
    const auto& stream = *static_cast<const VtaStream*>(image.entry(launch.entry));
    const std::vector<vta::Region> regions = regions_of(buffers);
    auto words = bind_stream(design, stream, launch.relocations, regions);
    if (!words) return std::move(words).error();
    const std::uint64_t steps = steps_of(vta::Encoding(design), *words);
    if (steps > limit()) {
      return Error{ErrorCode::RunTimeout, "the stream has " + std::to_string(steps) +
                                              " steps, a launch may take " +
                                              std::to_string(limit()) + " cycles"};
    }
    if (auto facts = vta::verify(design, *words, regions); !facts) {
      return std::move(facts).error();
    }
    if (auto determined = vta::check_determined(design, *words, regions); !determined) {
      return determined;
    }
    if (auto begins = check_beginning(design, words->front()); !begins) return begins;
    const Bytes bytes = vta::bytes_of(*words);
    auto piece = arena_.take(bytes.size(), 4096);
    if (!piece) return std::move(piece).error();
    std::copy(bytes.begin(), bytes.end(), piece->bytes().begin());
    launches_.push_back({std::move(*piece), static_cast<std::uint32_t>(words->size())});
    return {};
  }

  Result<std::uint64_t> run(std::uint32_t times, std::span<std::uint64_t> launch_ticks) override {
    std::uint64_t total = 0;
    for (std::uint32_t i = 0; i < times; ++i) {
      for (std::size_t n = 0; n < launches_.size(); ++n) {
        const auto cycles =
            accelerator_.run(launches_[n].instructions.address(), launches_[n].count, limit());
        if (!cycles) return cycles.error();
        total += *cycles;
        if (!launch_ticks.empty()) launch_ticks[n] += *cycles;
      }
    }
    return total;
  }

 private:
  struct Bound {
    Arena::Piece instructions;
    std::uint32_t count;
  };
  std::uint64_t limit() const { return kVtaLongestRun * 1000 * accelerator_.design().clock_khz; }

  Accelerator& accelerator_;
  Arena& arena_;
  std::vector<Bound> launches_;
};

}  // namespace

std::unique_ptr<LaunchSeries> VtaExecutor::make_series() {
  return std::make_unique<VtaSeries>(accelerator_, arena_);
}

}  // namespace fettle::runtime
