// The stages of a DAG in their order, from fills to outputs (reference.h).
#include "host/space/reference.h"

#include <map>

#include "host/space/stage_evaluator.h"
#include "host/space/tensor.h"
#include "host/space/wire_types.h"
#include "schemas/fill/fill.h"

namespace fettle::space {

Result<std::vector<std::uint8_t>> filled(const ir::Buffer& buffer, const ir::Fill& fill) {
  std::vector<std::uint8_t> bytes(buffer->elements() * buffer->type.bytes());
  wire::FillT wire_fill;
  wire_fill.kind = wire_kind(fill.kind);
  wire_fill.dtype = wire_type(buffer->type.scalar);
  wire_fill.low = fill.low;
  wire_fill.high = fill.high;
  wire_fill.stream = fill.stream;
  auto done = fill_bytes(wire_fill, bytes);
  if (!done) return std::move(done).error();
  return bytes;
}

Result<std::vector<ExpectedTensor>> evaluate(const ComputeDag& dag, const std::stop_token& stop,
                                             const PlaceholderBytes& given) {
  std::map<ir::Buffer, Tensor> tensors;
  std::vector<ExpectedTensor> outputs;
  for (const Stage& stage : dag.stages) {
    if (stage.placeholder()) {
      const auto told = given.find(stage.buffer);
      auto bytes = told != given.end() ? Result(told->second) : filled(stage.buffer, stage.fill);
      if (!bytes) return std::move(bytes).error();
      if (std::ssize(*bytes) != stage.buffer->elements() * stage.buffer->type.bytes()) {
        return Error{ErrorCode::InvalidArgument, "other bytes than it holds", {}}.in(
            "reference evaluator: stage " + stage.name);
      }
      auto tensor = to_doubles(*bytes, stage.buffer->type);
      if (!tensor) return std::move(tensor).error().in("reference evaluator: stage " + stage.name);
      tensors[stage.buffer] = std::move(*tensor);
      continue;
    }
    auto computed = evaluate_stage(stage, tensors, stop);
    if (!computed) return std::move(computed).error();
    if (stage.role == ir::Role::Output) {
      ExpectedTensor out{stage.name, stage.buffer->type, {}, tolerance_of(dag)};
      auto bytes = to_bytes(*computed, stage.buffer->type);
      if (!bytes) return std::move(bytes).error().in("reference evaluator: stage " + stage.name);
      out.bytes = std::move(*bytes);
      outputs.push_back(std::move(out));
    }
    tensors[stage.buffer] = std::move(*computed);
  }
  return outputs;
}

}  // namespace fettle::space
