// Text of instructions (disassemble.h).
#include "fpga/isa/disassemble.h"

#include <cstdio>

namespace fettle::vta {
namespace {

std::string number(std::uint64_t value) { return std::to_string(value); }

std::string hex(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string text_of(const Tokens& tokens) {
  std::string out;
  if (tokens.pop_prev) out += " pop_prev";
  if (tokens.pop_next) out += " pop_next";
  if (tokens.push_prev) out += " push_prev";
  if (tokens.push_next) out += " push_next";
  return out;
}

std::string text_of(const Transfer& transfer) {
  return " sram " + number(transfer.sram_base) + " dram " + hex(transfer.dram_base) + " " +
         number(transfer.y_size) + "x" + number(transfer.x_size) + " stride " +
         number(transfer.x_stride);
}

std::string text_of(const Loops& loops) {
  return " uop " + number(loops.uop_begin) + ".." + number(loops.uop_end) + " iter " +
         number(loops.iter_out) + "x" + number(loops.iter_in) + " dst " +
         number(loops.dst_factor_out) + "/" + number(loops.dst_factor_in) + " src " +
         number(loops.src_factor_out) + "/" + number(loops.src_factor_in);
}

}  // namespace

std::string disassemble(const Instruction& instruction) {
  const std::string tokens = text_of(instruction.tokens);
  if (const Load* load = std::get_if<Load>(&instruction.body)) {
    std::string out = std::string("LOAD ") + name_of(load->memory) + tokens + text_of(*load);
    if (load->y_pad_top || load->y_pad_bottom || load->x_pad_left || load->x_pad_right) {
      out += " pad " + number(load->y_pad_top) + "," + number(load->y_pad_bottom) + "," +
             number(load->x_pad_left) + "," + number(load->x_pad_right);
    }
    return out;
  }
  if (const Store* store = std::get_if<Store>(&instruction.body)) {
    return std::string("STORE ") + name_of(store->memory) + tokens + text_of(*store);
  }
  if (const Gemm* gemm = std::get_if<Gemm>(&instruction.body)) {
    return std::string("GEMM") + (gemm->reset ? " reset" : "") + tokens + text_of(*gemm) + " wgt " +
           number(gemm->wgt_factor_out) + "/" + number(gemm->wgt_factor_in);
  }
  if (const Alu* alu = std::get_if<Alu>(&instruction.body)) {
    static constexpr const char* names[kAluOps] = {"MIN", "MAX", "ADD", "SHR"};
    return std::string("ALU ") + names[static_cast<std::size_t>(alu->op)] +
           (alu->use_imm ? " imm " + std::to_string(alu->imm) : "") + tokens + text_of(*alu);
  }
  return "FINISH" + tokens;
}

std::string disassemble(const MicroOp& uop) {
  return "dst " + number(uop.dst) + " src " + number(uop.src) + " wgt " + number(uop.wgt);
}

std::string disassemble(const Design& design, std::span<const Word> words) {
  const Encoding encoding(design);
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Result<Instruction> instruction = encoding.decode(words[i]);
    out += number(i) + ": " +
           (instruction ? disassemble(*instruction) : "? " + instruction.error().message) + "\n";
  }
  return out;
}

}  // namespace fettle::vta
