// Hand-made programs (machine_programs.h).
#include "tests/extension/machine_programs.h"

#include <cassert>
#include <cstring>

#include "host/ir/expr.h"
#include "schemas/fill/fill.h"
#include "tests/extension/code_writer.h"

namespace fettle::extension {
namespace {

using wire::ScalarType;
constexpr std::size_t kAdd = static_cast<std::size_t>(ir::BinaryOp::Add);

void count_to(CodeWriter& code, std::int64_t count) {
  code.emit(Op::PushInt, ScalarType::Int64, 0, count);
}

// output[i] = input[i] + input[i]; `past`: as many more elements, all of them a 0.
void write_doubling(CodeWriter& code, std::int64_t elements, std::int64_t past) {
  count_to(code, elements);
  const auto loop = code.begin_loop();
  code.emit(Op::PushVar, ScalarType::Int64, loop.variable);
  for (int i = 0; i < 2; ++i) {
    code.emit(Op::PushVar, ScalarType::Int64, loop.variable);
    code.emit(Op::Load, ScalarType::Float32, 0);
  }
  code.emit(Op::Binary, ScalarType::Float32, kAdd);
  code.emit(Op::Store, ScalarType::Float32, 1);
  code.end_loop(loop);
  for (std::int64_t i = elements; i < elements + past; ++i) {
    count_to(code, i);
    code.emit(Op::PushReal);
    code.emit(Op::Store, ScalarType::Float32, 1);
  }
}

// output[i] becomes one more; 1 where it is no number, which what was never written is not.
void write_counting(CodeWriter& code) {
  const std::uint16_t extent = code.new_scalar();
  constexpr std::size_t kEq = static_cast<std::size_t>(ir::BinaryOp::Eq);
  const std::uint16_t value = code.new_variable();
  code.emit(Op::PushVar, ScalarType::Int64, extent);
  const auto loop = code.begin_loop();
  code.emit(Op::PushVar, ScalarType::Int64, loop.variable);
  code.emit(Op::Load, ScalarType::Float32, 1);
  code.emit(Op::SetVar, ScalarType::Float32, value);
  code.emit(Op::PushVar, ScalarType::Int64, loop.variable);
  for (int i = 0; i < 2; ++i) code.emit(Op::PushVar, ScalarType::Float32, value);
  code.emit(Op::Binary, ScalarType::Float32, kEq);
  code.emit(Op::PushVar, ScalarType::Float32, value);
  code.emit(Op::PushReal);
  code.emit(Op::Select, ScalarType::Float32);
  double one = 1;
  std::int64_t bits;
  std::memcpy(&bits, &one, sizeof bits);
  code.emit(Op::PushReal, ScalarType::Float64, 0, bits);
  code.emit(Op::Binary, ScalarType::Float32, kAdd);
  code.emit(Op::Store, ScalarType::Float32, 1);
  code.end_loop(loop);
}

void write_nothing(CodeWriter& code, std::int64_t steps) {
  count_to(code, steps);
  code.end_loop(code.begin_loop());
}

// Its buffers and one launch of entry 0; no image yet.
wire::ProgramT program_of(std::uint32_t elements) {
  wire::ProgramT program;
  program.target = "stack machine";
  auto image = std::make_unique<wire::ImageT>();
  image->kind = wire::ImageKind::Extension;
  program.images.push_back(std::move(image));
  for (const auto role : {wire::BufferRole::Input, wire::BufferRole::Output}) {
    auto buffer = std::make_unique<wire::BufferT>();
    buffer->name = role == wire::BufferRole::Input ? "in" : "out";
    buffer->bytes = elements * sizeof(float);
    buffer->role = role;
    program.buffers.push_back(std::move(buffer));
  }
  auto launch = std::make_unique<wire::LaunchT>();
  for (const std::uint32_t buffer : {0u, 1u}) {
    launch->args.emplace_back(wire::ArgKind::Buffer, buffer, 0, 0, 0.0);
  }
  program.launches.push_back(std::move(launch));
  return program;
}

wire::FillT input_fill() {
  wire::FillT fill;
  fill.kind = wire::FillKind::UniformReal;
  fill.low = 0.25;
  fill.high = 1;
  fill.stream = 7;
  return fill;
}

}  // namespace

wire::ProgramT doubling_program(std::uint32_t elements) {
  wire::ProgramT program = program_of(elements);
  CodeWriter code;
  write_doubling(code, elements, 0);
  code.append_to(*program.images[0], "double", 2);
  return program;
}

wire::ProgramT machine_candidate(CandidateKind candidate, std::uint32_t extent) {
  constexpr CandidateKind kKinds[] = {kGood, kCount, kSlow, kWriteBehind};  // by entry
  wire::ProgramT program = program_of(kElements);
  program.buffers[0]->fill = std::make_unique<wire::FillT>(input_fill());
  for (std::size_t entry = 0; entry < std::size(kKinds); ++entry) {
    const CandidateKind kind = kKinds[entry];
    CodeWriter code;
    if (kind == kCount) {
      write_counting(code);
    } else {
      if (kind == kSlow) write_nothing(code, 1'000'000);
      write_doubling(code, kElements, kind == kWriteBehind ? 2 : 0);
    }
    code.append_to(*program.images[0], "candidate", 2);
    if (kind == candidate) program.launches[0]->entry = static_cast<std::uint32_t>(entry);
  }
  if (candidate == kCount) {
    program.launches[0]->args.emplace_back(wire::ArgKind::Int64, 0, 0, std::int64_t{extent}, 0.0);
  }
  return program;
}

Bytes machine_answer() {
  Bytes bytes(kElements * sizeof(float));
  const auto filled = fill_buffer(input_fill(), {}, bytes);
  assert(filled);
  for (std::size_t i = 0; i < kElements; ++i) {
    float value;
    std::memcpy(&value, bytes.data() + 4 * i, 4);
    value += value;
    std::memcpy(bytes.data() + 4 * i, &value, 4);
  }
  return bytes;
}

}  // namespace fettle::extension
