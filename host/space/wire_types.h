// The IR's enumerations as the schemas name them. The IR knows no schema, so the
// two lists are written twice; that they agree is checked here.
#pragma once

#include <memory>

#include "host/ir/module.h"
#include "schemas/program_generated.h"

namespace fettle::space {

inline wire::ScalarType wire_type(ir::Scalar scalar) {
  using ir::Scalar;
  using wire::ScalarType;
  static_assert(int(Scalar::Bool) == int(ScalarType::Bool) &&
                int(Scalar::Int8) == int(ScalarType::Int8) &&
                int(Scalar::UInt8) == int(ScalarType::UInt8) &&
                int(Scalar::Int16) == int(ScalarType::Int16) &&
                int(Scalar::Int32) == int(ScalarType::Int32) &&
                int(Scalar::Int64) == int(ScalarType::Int64) &&
                int(Scalar::Float16) == int(ScalarType::Float16) &&
                int(Scalar::Float32) == int(ScalarType::Float32) &&
                int(Scalar::Float64) == int(ScalarType::Float64));
  return static_cast<ScalarType>(scalar);
}

inline wire::FillKind wire_kind(ir::Fill::Kind kind) {
  using Kind = ir::Fill::Kind;
  static_assert(int(Kind::Zero) == int(wire::FillKind::Zero) &&
                int(Kind::UniformReal) == int(wire::FillKind::UniformReal) &&
                int(Kind::UniformInt) == int(wire::FillKind::UniformInt));
  return static_cast<wire::FillKind>(kind);
}

inline wire::BufferRole wire_role(ir::Role role) {
  static_assert(int(ir::Role::Input) == int(wire::BufferRole::Input) &&
                int(ir::Role::Output) == int(wire::BufferRole::Output) &&
                int(ir::Role::Constant) == int(wire::BufferRole::Constant) &&
                int(ir::Role::Scratch) == int(wire::BufferRole::Scratch));
  return static_cast<wire::BufferRole>(role);
}

inline std::unique_ptr<wire::BufferT> wire_buffer(const ir::ProgramBuffer& from) {
  auto buffer = std::make_unique<wire::BufferT>();
  buffer->name = from.buffer->name;
  buffer->bytes = static_cast<std::uint64_t>(from.buffer->elements()) *
                  static_cast<std::uint64_t>(from.buffer->type.bytes());
  buffer->alignment = from.buffer->alignment;
  buffer->role = wire_role(from.role);
  buffer->fill = std::make_unique<wire::FillT>();
  buffer->fill->kind = wire_kind(from.fill.kind);
  buffer->fill->dtype = wire_type(from.buffer->type.scalar);
  buffer->fill->low = from.fill.low;
  buffer->fill->high = from.fill.high;
  buffer->fill->stream = from.fill.stream;
  return buffer;
}

}  // namespace fettle::space
