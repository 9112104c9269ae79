// Streams verified, and as Programs (stream.h).
#include "host/backend/vta/stream.h"

#include "fpga/isa/encoding.h"
#include "host/backend/vta/tokens.h"
#include "host/space/wire_types.h"

namespace fettle::vta::host {
namespace {

Error build_error(Error error, const char* context) {
  error.code = ErrorCode::BuildError;
  return std::move(error).in(context);
}

std::unique_ptr<wire::BufferT> wire_constant(const ConstantBytes& from) {
  auto buffer = std::make_unique<wire::BufferT>();
  buffer->name = from.name;
  buffer->bytes = from.bytes.size();
  buffer->role = wire::BufferRole::Constant;
  buffer->fill = std::make_unique<wire::FillT>();
  buffer->fill->kind = wire::FillKind::Blob;
  buffer->fill->bytes = from.bytes;
  return buffer;
}

const Transfer* transfer_of(const Instruction& instruction) {
  const Transfer* transfer = std::get_if<Load>(&instruction.body);
  if (!transfer) transfer = std::get_if<Store>(&instruction.body);
  return transfer && transfer->x_size > 0 ? transfer : nullptr;
}

}  // namespace

Result<Stream> finish_stream(const Design& design, Untokened code) {
  Stream stream;
  auto ordered = with_tokens(design, code.instructions, code.regions);
  if (!ordered) return std::move(ordered).error();
  stream.instructions = std::move(*ordered);
  const Encoding encoding(design);
  for (const Instruction& each : stream.instructions) {
    auto word = encoding.encode(each);
    if (!word) return build_error(std::move(word).error(), "encoding");
    stream.words.push_back(*word);
  }
  auto facts = verify(design, stream.words, code.regions);
  if (!facts) return build_error(std::move(facts).error(), "verifying");
  stream.facts = *facts;
  code.instructions.clear();
  stream.data = std::move(code);
  return stream;
}

wire::ProgramT program_of(std::span<const ir::ProgramBuffer> buffers, const Design& design,
                          const Stream& stream) {
  wire::ProgramT program;
  program.target = configuration_of(design);
  for (const ir::ProgramBuffer& each : buffers) program.buffers.push_back(space::wire_buffer(each));
  for (const ConstantBytes& each : stream.data.constants) {
    program.buffers.push_back(wire_constant(each));
  }
  auto launch = std::make_unique<wire::LaunchT>();
  std::vector<Word> words = stream.words;
  const std::span<const Region> regions = stream.data.regions;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Transfer* transfer = transfer_of(stream.instructions[i]);
    if (!transfer) continue;
    const DramRange range = range_of(design, *transfer);
    const Region* region = region_of(range, regions);
    launch->relocations.emplace_back(static_cast<std::uint32_t>(i),
                                     static_cast<std::uint32_t>(region - regions.data()),
                                     range.begin - region->address);
    (void)set_dram_address(design, words[i], 0);  // the device's matter; 0 fits any field
  }
  auto image = std::make_unique<wire::ImageT>();
  image->kind = wire::ImageKind::VtaStream;
  image->bytes = bytes_of(words);
  image->configuration = configuration_of(design);
  image->entries.push_back(std::make_unique<wire::EntryPointT>());
  image->entries.back()->name = "main";
  program.images.push_back(std::move(image));
  program.launches.push_back(std::move(launch));
  return program;
}

}  // namespace fettle::vta::host
