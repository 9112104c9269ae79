// Packing and unpacking (encoding.h).
#include "fpga/isa/encoding.h"

#include <algorithm>

namespace fettle::vta {
namespace {

enum Opcode : std::uint64_t { kLoad, kStore, kGemm, kFinish, kAlu };

constexpr std::uint64_t mask(unsigned bits) {
  return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

// Puts fields side by side into 64 bits, from bit 0 on; remembers the first that does not fit.
class Packer {
 public:
  void put(const char* field, std::uint64_t value, unsigned bits) {
    if (value > mask(bits) && too_wide_.empty()) {
      too_wide_ = std::string(field) + " " + std::to_string(value) + " needs more than " +
                  std::to_string(bits) + " bits";
    }
    word_ |= (value & mask(bits)) << at_;
    at_ += bits;
  }
  std::uint64_t word() const { return word_; }
  const std::string& too_wide() const { return too_wide_; }

 private:
  std::uint64_t word_ = 0;
  unsigned at_ = 0;
  std::string too_wide_;
};

class Unpacker {
 public:
  explicit Unpacker(std::uint64_t word) : word_(word) {}
  std::uint16_t get(unsigned bits) { return static_cast<std::uint16_t>(get_wide(bits)); }
  std::uint64_t get_wide(unsigned bits) {
    const std::uint64_t value = word_ & mask(bits);
    word_ >>= bits;
    return value;
  }
  bool flag() { return get(1) != 0; }
  bool rest_is_zero() const { return word_ == 0; }

 private:
  std::uint64_t word_;
};

constexpr unsigned kIterBits = 14;

}  // namespace

const char* name_of(Unit unit) {
  static constexpr const char* names[kUnits] = {"load", "compute", "store"};
  return names[static_cast<std::size_t>(unit)];
}

Unit unit_of(const Instruction& instruction) {
  if (std::holds_alternative<Store>(instruction.body)) return Unit::Store;
  const Load* load = std::get_if<Load>(&instruction.body);
  return load && (load->memory == Memory::Input || load->memory == Memory::Weight) ? Unit::Load
                                                                                   : Unit::Compute;
}

Encoding::Encoding(const Design& design)
    : uop_bits_(design.index_bits(Memory::Uop)),
      weight_bits_(design.index_bits(Memory::Weight)),
      input_bits_(design.index_bits(Memory::Input)),
      accumulator_bits_(design.index_bits(Memory::Accumulator)) {}

Result<Word> Encoding::encode(const Instruction& instruction) const {
  Packer low, high;
  const auto begin = [&](Opcode opcode) {
    low.put("opcode", opcode, 3);
    low.put("pop_prev", instruction.tokens.pop_prev, 1);
    low.put("pop_next", instruction.tokens.pop_next, 1);
    low.put("push_prev", instruction.tokens.push_prev, 1);
    low.put("push_next", instruction.tokens.push_next, 1);
  };
  const auto put_transfer = [&](const Transfer& transfer) {
    low.put("memory", static_cast<std::uint64_t>(transfer.memory), 3);
    low.put("sram_base", transfer.sram_base, 16);
    low.put("dram_base", transfer.dram_base, 32);
    high.put("y_size", transfer.y_size, 16);
    high.put("x_size", transfer.x_size, 16);
    high.put("x_stride", transfer.x_stride, 16);
  };
  const auto put_loops = [&](const Loops& loops, bool reset, unsigned src_bits) {
    low.put("reset", reset, 1);
    low.put("uop_begin", loops.uop_begin, uop_bits_);
    low.put("uop_end", loops.uop_end, uop_bits_ + 1);
    low.put("iter_out", loops.iter_out, kIterBits);
    low.put("iter_in", loops.iter_in, kIterBits);
    high.put("dst_factor_out", loops.dst_factor_out, accumulator_bits_);
    high.put("dst_factor_in", loops.dst_factor_in, accumulator_bits_);
    high.put("src_factor_out", loops.src_factor_out, src_bits);
    high.put("src_factor_in", loops.src_factor_in, src_bits);
  };
  if (const Load* load = std::get_if<Load>(&instruction.body)) {
    begin(kLoad);
    put_transfer(*load);
    high.put("y_pad_top", load->y_pad_top, 4);
    high.put("y_pad_bottom", load->y_pad_bottom, 4);
    high.put("x_pad_left", load->x_pad_left, 4);
    high.put("x_pad_right", load->x_pad_right, 4);
  } else if (const Store* store = std::get_if<Store>(&instruction.body)) {
    begin(kStore);
    put_transfer(*store);
  } else if (const Gemm* gemm = std::get_if<Gemm>(&instruction.body)) {
    begin(kGemm);
    put_loops(*gemm, gemm->reset, input_bits_);
    high.put("wgt_factor_out", gemm->wgt_factor_out, weight_bits_);
    high.put("wgt_factor_in", gemm->wgt_factor_in, weight_bits_);
  } else if (const Alu* alu = std::get_if<Alu>(&instruction.body)) {
    begin(kAlu);
    put_loops(*alu, false, accumulator_bits_);
    high.put("alu operation", static_cast<std::uint64_t>(alu->op), 3);
    high.put("use_imm", alu->use_imm, 1);
    high.put("imm", static_cast<std::uint16_t>(alu->imm), 16);
  } else {
    begin(kFinish);
  }
  for (const Packer* packer : {&low, &high}) {
    if (!packer->too_wide().empty()) {
      return Error{ErrorCode::InvalidArgument, packer->too_wide()};
    }
  }
  return Word{low.word(), high.word()};
}

Result<Instruction> Encoding::decode(const Word& word) const {
  Unpacker low(word.low), high(word.high);
  const auto bad = [](std::string what) { return Error{ErrorCode::Malformed, std::move(what)}; };
  const std::uint64_t opcode = low.get(3);
  Instruction instruction;
  instruction.tokens.pop_prev = low.flag();
  instruction.tokens.pop_next = low.flag();
  instruction.tokens.push_prev = low.flag();
  instruction.tokens.push_next = low.flag();
  unsigned memory = 0;
  const auto get_transfer = [&](Transfer& transfer) {
    memory = low.get(3);
    transfer.memory = static_cast<Memory>(memory);
    transfer.sram_base = low.get(16);
    transfer.dram_base = static_cast<std::uint32_t>(low.get_wide(32));
    transfer.y_size = high.get(16);
    transfer.x_size = high.get(16);
    transfer.x_stride = high.get(16);
  };
  bool reset = false;
  const auto get_loops = [&](Loops& loops, unsigned src_bits) {
    reset = low.flag();
    loops.uop_begin = low.get(uop_bits_);
    loops.uop_end = low.get(uop_bits_ + 1);
    loops.iter_out = low.get(kIterBits);
    loops.iter_in = low.get(kIterBits);
    loops.dst_factor_out = high.get(accumulator_bits_);
    loops.dst_factor_in = high.get(accumulator_bits_);
    loops.src_factor_out = high.get(src_bits);
    loops.src_factor_in = high.get(src_bits);
  };
  switch (opcode) {
    case kLoad: {
      Load load;
      get_transfer(load);
      load.y_pad_top = static_cast<std::uint8_t>(high.get(4));
      load.y_pad_bottom = static_cast<std::uint8_t>(high.get(4));
      load.x_pad_left = static_cast<std::uint8_t>(high.get(4));
      load.x_pad_right = static_cast<std::uint8_t>(high.get(4));
      if (memory >= static_cast<unsigned>(Memory::Output)) {
        return bad("LOAD to memory " + std::to_string(memory) + ", which takes none");
      }
      instruction.body = load;
      break;
    }
    case kStore: {
      Store store;
      get_transfer(store);
      if (store.memory != Memory::Output) {
        return bad("STORE from memory " + std::to_string(memory) + ": only OUT (4) is stored");
      }
      instruction.body = store;
      break;
    }
    case kGemm: {
      Gemm gemm;
      get_loops(gemm, input_bits_);
      gemm.reset = reset;
      gemm.wgt_factor_out = high.get(weight_bits_);
      gemm.wgt_factor_in = high.get(weight_bits_);
      instruction.body = gemm;
      break;
    }
    case kAlu: {
      Alu alu;
      get_loops(alu, accumulator_bits_);
      if (reset) return bad("ALU with bit 7, GEMM's reset");
      const unsigned op = high.get(3);
      if (op >= kAluOps) return bad("ALU operation " + std::to_string(op) + ", which no core has");
      alu.op = static_cast<AluOp>(op);
      alu.use_imm = high.flag();
      alu.imm = static_cast<std::int16_t>(high.get(16));
      instruction.body = alu;
      break;
    }
    case kFinish:
      instruction.body = Finish{};
      break;
    default:
      return bad("unknown opcode " + std::to_string(opcode));
  }
  if (!low.rest_is_zero() || !high.rest_is_zero()) {
    return bad("bits are set where the instruction encodes nothing");
  }
  return instruction;
}

Result<std::uint32_t> Encoding::encode(const MicroOp& uop) const {
  Packer packer;
  packer.put("dst", uop.dst, accumulator_bits_);
  packer.put("src", uop.src, std::max(accumulator_bits_, input_bits_));
  packer.put("wgt", uop.wgt, weight_bits_);
  if (!packer.too_wide().empty()) return Error{ErrorCode::InvalidArgument, packer.too_wide()};
  return static_cast<std::uint32_t>(packer.word());
}

MicroOp Encoding::decode(std::uint32_t uop) const {
  Unpacker bits(uop);
  const std::uint16_t dst = bits.get(accumulator_bits_);
  const std::uint16_t src = bits.get(std::max(accumulator_bits_, input_bits_));
  return {dst, src, bits.get(weight_bits_)};
}

Result<void> set_dram_address(const Design& design, Word& word, std::uint64_t address) {
  const Encoding encoding(design);
  Result<Instruction> instruction = encoding.decode(word);
  if (!instruction) return std::move(instruction).error();
  Transfer* transfer = std::get_if<Load>(&instruction->body);
  if (!transfer) transfer = std::get_if<Store>(&instruction->body);
  const auto bad = [](const std::string& what) { return Error{ErrorCode::InvalidArgument, what}; };
  if (!transfer) return bad("only LOAD and STORE have an address in DRAM");
  const std::uint64_t element = design.element_bytes(transfer->memory);
  if (address % element != 0 || address / element > mask(32)) {
    return bad(std::string("no address of ") + name_of(transfer->memory) + " elements of " +
               std::to_string(element) + " bytes: " + std::to_string(address));
  }
  transfer->dram_base = static_cast<std::uint32_t>(address / element);
  const Result<Word> encoded = encoding.encode(*instruction);
  if (!encoded) return encoded.error();
  word = *encoded;
  return {};
}

Bytes bytes_of(std::span<const Word> words) {
  Bytes bytes;
  bytes.reserve(words.size() * kWordBytes);
  for (const Word& word : words) {
    for (const std::uint64_t half : {word.low, word.high}) {
      for (unsigned i = 0; i < 8; ++i) bytes.push_back(static_cast<std::uint8_t>(half >> (8 * i)));
    }
  }
  return bytes;
}

Result<std::vector<Word>> words_of(ByteView bytes) {
  if (bytes.size() % kWordBytes != 0) {
    return Error{ErrorCode::Malformed, "a stream of " + std::to_string(bytes.size()) +
                                           " bytes, which are no whole instructions"};
  }
  std::vector<Word> words(bytes.size() / kWordBytes);
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (unsigned k = 0; k < 8; ++k) {
      words[i].low |= std::uint64_t{bytes[i * kWordBytes + k]} << (8 * k);
      words[i].high |= std::uint64_t{bytes[i * kWordBytes + 8 + k]} << (8 * k);
    }
  }
  return words;
}

}  // namespace fettle::vta
