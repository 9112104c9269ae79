// Setting addresses (bound_stream.h).
#include "runtime/vta/bound_stream.h"

#include <string>

#include "fpga/isa/disassemble.h"
#include "runtime/vta/vta_memory.h"

namespace fettle::runtime {

std::vector<vta::Region> regions_of(std::span<const std::unique_ptr<BufferMemory>> buffers) {
  std::vector<vta::Region> regions;
  for (const auto& buffer : buffers) {
    const auto& at = static_cast<const VtaBuffer&>(*buffer);
    vta::Region region{at.name(), at.address(), at.data().size(), !at.read_only()};
    if (at.read_only()) region.contents = at.data();
    regions.push_back(std::move(region));
  }
  return regions;
}

Result<std::vector<vta::Word>> bind_stream(const vta::Design& design, VtaStream stream,
                                           std::span<const wire::Relocation> relocations,
                                           std::span<const vta::Region> regions) {
  const vta::Encoding encoding(design);
  std::vector<vta::Word> words(stream.begin(), stream.end());
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto instruction = encoding.decode(words[i]);
    const auto bad = [&](const std::string& what) {
      return Error{ErrorCode::Malformed, "instruction " + std::to_string(i) + " (" +
                                             vta::disassemble(*instruction) + "): " + what};
    };
    if (!instruction) {
      return Error{ErrorCode::Malformed,
                   "instruction " + std::to_string(i) + ": " + instruction.error().message};
    }
    const vta::Transfer* transfer = std::get_if<vta::Load>(&instruction->body);
    if (!transfer) transfer = std::get_if<vta::Store>(&instruction->body);
    if (transfer && transfer->dram_base != 0) {
      return bad("has an address in DRAM already; relocations set them");
    }
    const bool moves = transfer && transfer->x_size != 0;
    if (relocations.empty() || relocations.front().instruction() != i) {
      if (moves) return bad("has no relocation that says its buffer");
      continue;
    }
    const wire::Relocation& relocation = relocations.front();
    if (!moves) return bad("has a relocation, but moves nothing");
    const vta::Region& region = regions[relocation.buffer()];
    if (auto set = vta::set_dram_address(design, words[i], region.address + relocation.offset());
        !set) {
      return bad("byte " + std::to_string(relocation.offset()) + " of " + region.name + " is " +
                 set.error().message);
    }
    relocations = relocations.subspan(1);
  }
  return words;
}

}  // namespace fettle::runtime
