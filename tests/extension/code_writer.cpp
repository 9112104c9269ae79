// Code of the stack machine (code_writer.h).
#include "tests/extension/code_writer.h"

#include <algorithm>
#include <cstring>

#include "host/ir/expr.h"

namespace fettle::extension {
namespace {

constexpr const char* kNames[] = {"int",   "real",  "var",          "set",    "load",
                                  "store", "unary", "binary",       "select", "cast",
                                  "bits",  "jump",  "jump_if_zero", "return"};

// Values that are on the stack after the instruction, less those before.
int change(Op op) {
  switch (op) {
    case Op::PushInt:
    case Op::PushReal:
    case Op::PushVar:
      return 1;
    case Op::SetVar:
    case Op::Binary:
    case Op::JumpIfZero:
      return -1;
    case Op::Store:
    case Op::Select:
      return -2;
    default:
      return 0;
  }
}

template <typename T>
void append(std::vector<std::uint8_t>& to, const T* from, std::size_t count) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(from);
  to.insert(to.end(), bytes, bytes + count * sizeof(T));
}

}  // namespace

void CodeWriter::emit(Op op, wire::ScalarType type, std::size_t slot, std::int64_t value) {
  code_.push_back({op, type, static_cast<std::uint16_t>(slot), 0, value});
}

std::uint16_t CodeWriter::new_local(std::uint64_t bytes) {
  locals_.push_back(bytes);
  return static_cast<std::uint16_t>(locals_.size() - 1);
}

void CodeWriter::jump_to(std::size_t instruction, std::size_t target) {
  code_[instruction].value = static_cast<std::int64_t>(target);
}

// Jumps stand where the stack is as it was: depth follows from the order alone.
std::size_t CodeWriter::most_slots() const {
  int depth = 0, most = 0;
  for (const Instruction& each : code_) most = std::max(most, depth += change(each.op));
  return static_cast<std::size_t>(most);
}

CodeWriter::Loop CodeWriter::begin_loop() {
  Loop loop{new_variable(), new_variable(), 0, 0};
  emit(Op::SetVar, wire::ScalarType::Int64, loop.end);
  emit(Op::PushInt);
  emit(Op::SetVar, wire::ScalarType::Int64, loop.variable);
  loop.top = here();
  emit(Op::PushVar, wire::ScalarType::Int64, loop.variable);
  emit(Op::PushVar, wire::ScalarType::Int64, loop.end);
  emit(Op::Binary, wire::ScalarType::Int64, static_cast<std::size_t>(ir::BinaryOp::Lt));
  loop.exit = here();
  emit(Op::JumpIfZero);
  return loop;
}

void CodeWriter::end_loop(const Loop& loop) {
  emit(Op::PushVar, wire::ScalarType::Int64, loop.variable);
  emit(Op::PushInt, wire::ScalarType::Int64, 0, 1);
  emit(Op::Binary, wire::ScalarType::Int64, static_cast<std::size_t>(ir::BinaryOp::Add));
  emit(Op::SetVar, wire::ScalarType::Int64, loop.variable);
  emit(Op::Jump, wire::ScalarType::Int64, 0, static_cast<std::int64_t>(loop.top));
  jump_to(loop.exit, here());
}

void CodeWriter::append_to(wire::ImageT& image, const std::string& name, std::uint32_t arguments) {
  emit(Op::Return);
  auto entry = std::make_unique<wire::EntryPointT>();
  entry->name = name;
  entry->offset = image.bytes.size();
  image.entries.push_back(std::move(entry));
  const FunctionHeader header{arguments,
                              scalars_,
                              variables_,
                              static_cast<std::uint32_t>(locals_.size()),
                              static_cast<std::uint32_t>(code_.size()),
                              0};
  append(image.bytes, &header, 1);
  append(image.bytes, locals_.data(), locals_.size());
  append(image.bytes, code_.data(), code_.size());
}

std::string listing(const std::vector<Instruction>& code) {
  std::string text;
  for (std::size_t i = 0; i < code.size(); ++i) {
    const Instruction& each = code[i];
    text += std::to_string(i) + "\t" + kNames[static_cast<std::size_t>(each.op)] + "\t" +
            wire::EnumNameScalarType(each.type) + "\t" + std::to_string(each.slot) + "\t" +
            std::to_string(each.value) + "\n";
  }
  return text;
}

}  // namespace fettle::extension
