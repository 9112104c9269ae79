// Copies, nests and micro-ops as instructions (instruction_writer.h).
#include "host/backend/vta/instruction_writer.h"

#include "fpga/isa/encoding.h"

namespace fettle::vta::host {
namespace {

// Buffers are apart, each on pages of its own, as the device places them.
constexpr std::uint64_t kFirstAddress = std::uint64_t{1} << 20, kPage = 4096;
// Behind all others: how long it is comes out at the end.
constexpr std::uint64_t kMicroOpAddress = std::uint64_t{1} << 31;

}  // namespace

InstructionWriter::InstructionWriter(const Design& design)
    : design_(design), next_address_(kFirstAddress), uops_(design.depth(Memory::Uop)) {}

std::size_t InstructionWriter::add_buffer(const std::string& name, std::uint64_t bytes,
                                          bool writable) {
  out_.regions.push_back({name, next_address_, bytes, writable, {}});
  next_address_ += (bytes + kPage - 1) / kPage * kPage + kPage;
  if (next_address_ > kMicroOpAddress) fail("its buffers are larger than 2 GiB");
  return out_.regions.size() - 1;
}

std::size_t InstructionWriter::add_constant(const std::string& name, Bytes bytes) {
  const std::size_t region = add_buffer(name, bytes.size(), false);
  out_.constants.push_back({name, std::move(bytes)});
  out_.regions[region].contents = out_.constants.back().bytes;
  return region;
}

void InstructionWriter::begin_uops() {
  uop_load_ = out_.instructions.size();
  out_.instructions.push_back({});
}

void InstructionWriter::close_uops(std::size_t first, std::size_t count) {
  const auto length = static_cast<std::uint16_t>(count);
  out_.instructions[*uop_load_] = {
      {},
      Load{{Memory::Uop, 0, dram(kMicroOpAddress, Memory::Uop, static_cast<std::int64_t>(first)), 1,
            length, length}}};
}

const Nest* InstructionWriter::place(std::span<const NestAxis> axes, MicroOp first, bool alu,
                                     Loops& loops) {
  std::vector<std::int64_t> key{first.dst, first.src, first.wgt, alu};
  for (const NestAxis& axis : axes) {
    key.insert(key.end(), {axis.extent, axis.dst, axis.src, axis.wgt});
  }
  auto known = nests_.find(key);
  if (known == nests_.end()) {
    known = nests_.emplace(std::move(key), nest_of(design_, axes, first, alu)).first;
  }
  const std::optional<Nest>& nest = known->second;
  if (!nest) {
    fail("no nest of micro-ops fits UOP and the accumulator's pipeline");
    return nullptr;
  }
  const std::size_t before = uops_.first(), loaded = uops_.loaded();
  if (uops_.place(nest->uops)) {
    close_uops(before, loaded);
    uop_load_.reset();
  }
  if (!uop_load_) begin_uops();
  loops = nest->loops;
  loops.uop_begin = uops_.begin_of(nest->uops);
  loops.uop_end = static_cast<std::uint16_t>(loops.uop_begin + nest->uops.size());
  return &*nest;
}

void InstructionWriter::gemm(std::span<const NestAxis> axes, MicroOp first) {
  Gemm body;
  const Nest* nest = place(axes, first, false, body);
  if (!nest) return;
  body.wgt_factor_out = nest->wgt_factor_out;
  body.wgt_factor_in = nest->wgt_factor_in;
  out_.instructions.push_back({{}, body});
}

void InstructionWriter::reset(std::span<const NestAxis> axes, MicroOp first) {
  Gemm body;
  if (!place(axes, first, false, body)) return;
  body.reset = true;
  out_.instructions.push_back({{}, body});
}

void InstructionWriter::alu(std::span<const NestAxis> axes, MicroOp first, AluOp op,
                            std::optional<std::int64_t> imm) {
  Alu body;
  if (!place(axes, first, !imm, body)) return;
  body.op = op;
  body.use_imm = imm.has_value();
  body.imm = static_cast<std::int16_t>(imm.value_or(0));
  out_.instructions.push_back({{}, body});
}

std::uint32_t InstructionWriter::dram(std::uint64_t address, Memory memory,
                                      std::int64_t element) const {
  return static_cast<std::uint32_t>(address / design_.element_bytes(memory) +
                                    static_cast<std::uint64_t>(element));
}

Transfer InstructionWriter::transfer(Memory memory, const Piece& piece, std::size_t region,
                                     std::int64_t element, std::int64_t on_chip) const {
  return {memory,
          static_cast<std::uint16_t>(on_chip + piece.on_chip),
          dram(out_.regions[region].address, memory, element + piece.dram),
          static_cast<std::uint16_t>(piece.rows),
          static_cast<std::uint16_t>(piece.columns),
          static_cast<std::uint16_t>(piece.stride)};
}

void InstructionWriter::load(Memory memory, std::span<BoxAxis* const> axes, std::size_t region,
                             std::int64_t element, std::int64_t on_chip) {
  // A stream begins with an instruction of the compute unit that waits for nothing: the stock
  // core's done flag is stale until then.
  if (out_.instructions.empty()) begin_uops();
  const std::vector<Piece> pieces = pieces_of(axes);
  if (pieces.empty()) fail("zeros around more than the two axes of a LOAD");
  for (const Piece& piece : pieces) {
    Load body{transfer(memory, piece, region, element, on_chip)};
    body.y_pad_top = static_cast<std::uint8_t>(piece.top);
    body.y_pad_bottom = static_cast<std::uint8_t>(piece.bottom);
    body.x_pad_left = static_cast<std::uint8_t>(piece.left);
    body.x_pad_right = static_cast<std::uint8_t>(piece.right);
    out_.instructions.push_back({{}, body});
  }
}

void InstructionWriter::store(std::span<BoxAxis* const> axes, std::size_t region,
                              std::int64_t element, std::int64_t on_chip) {
  for (const Piece& piece : pieces_of(axes)) {
    out_.instructions.push_back(
        {{}, Store{transfer(Memory::Output, piece, region, element, on_chip)}});
  }
}

Result<Untokened> InstructionWriter::finish() {
  if (!wrong_.empty()) return Error{ErrorCode::BuildError, wrong_};
  if (uop_load_) close_uops(uops_.first(), uops_.loaded());
  const Encoding encoding(design_);
  Bytes bytes;
  for (const MicroOp& uop : uops_.all()) {
    auto bits = encoding.encode(uop);
    if (!bits) return std::move(bits).error().in("a micro-op");
    for (unsigned k = 0; k < 4; ++k) bytes.push_back(static_cast<std::uint8_t>(*bits >> (8 * k)));
  }
  next_address_ = kMicroOpAddress;
  const std::size_t size = bytes.size();
  out_.regions.push_back({"micro_ops", kMicroOpAddress, size, false, {}});
  out_.constants.push_back({"micro_ops", std::move(bytes)});
  out_.regions.back().contents = out_.constants.back().bytes;
  return std::move(out_);
}

void InstructionWriter::fail(const char* why) {
  if (wrong_.empty()) wrong_ = why;
}

}  // namespace fettle::vta::host
