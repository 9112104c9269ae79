// Helpers of writers (call.h), and stages as a call adds them.
#include "host/model/operators/call.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace fettle::model {

space::Stage NodeCall::add(const std::string& name, std::vector<space::Axis> axes,
                           std::vector<space::Axis> reduced, ir::Expr body,
                           space::Combiner combiner) const {
  std::string unique = name;
  const auto taken = [&] {
    return std::any_of(stages_.begin(), stages_.end(),
                       [&](const space::Stage& stage) { return stage.name == unique; });
  };
  for (int i = 2; taken(); ++i) unique = name + std::to_string(i);
  conditions_ = body->type.is_bool();
  if (conditions_) {
    constexpr ir::DataType kByte{ir::Scalar::UInt8, 1};
    body = ir::select(body, ir::int_imm(1, kByte), ir::int_imm(0, kByte));
  }
  stages_.push_back(
      space::make_stage(unique, std::move(axes), std::move(reduced), std::move(body), combiner));
  return stages_.back();
}

space::Stage NodeCall::add_at(const std::string& name, std::vector<space::Axis> axes, ir::Expr body,
                              const Shape& shape, std::vector<ir::Expr> places,
                              std::vector<space::Axis> reduced) const {
  space::Stage stage = add(name, std::move(axes), std::move(reduced), std::move(body));
  stage.buffer =
      std::make_shared<const ir::BufferDecl>(ir::BufferDecl{stage.name, stage.buffer->type, shape});
  stage.store_at = std::move(places);
  return stages_.back() = std::move(stage);
}

space::Stage* NodeCall::placeholder(std::size_t input) const {
  for (space::Stage& stage : stages_) {
    if (stage.buffer == inputs_[input]->buffer) return &stage;
  }
  return nullptr;
}

void NodeCall::sums_up(std::size_t input, std::int64_t terms) const {
  space::Stage* stage = placeholder(input);
  if (!stage || stage->fill.kind != ir::Fill::Kind::UniformReal) return;
  stage->fill.high = 1 / std::sqrt(static_cast<double>(terms));
  stage->fill.low = 0.25 * stage->fill.high;
}

void NodeCall::names_places(std::size_t input, std::int64_t extent) const {
  space::Stage* stage = placeholder(input);
  if (!stage) return;
  const ir::Scalar scalar = stage->buffer->type.scalar;
  const std::int64_t most = scalar == ir::Scalar::Int8    ? 127
                            : scalar == ir::Scalar::UInt8 ? 255
                                                          : extent;
  stage->fill.low = 0;
  stage->fill.high = static_cast<double>(std::min(most, extent - 1));
}

Written written(space::Stage stage) {
  Shape shape = stage.buffer->shape;
  return {std::move(stage), std::move(shape)};
}

std::vector<space::Axis> axes_of(const Shape& shape) {
  std::vector<space::Axis> axes;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    axes.push_back(space::make_axis("d" + std::to_string(d), shape[d]));
  }
  if (axes.empty()) axes.push_back(space::make_axis("d0", 1));
  return axes;
}

std::vector<ir::Expr> indices_of(const std::vector<space::Axis>& axes) {
  std::vector<ir::Expr> indices;
  for (const space::Axis& axis : axes) indices.push_back(ir::var_ref(axis.var));
  return indices;
}

ir::Expr element(const NodeCall& call, std::size_t input, const std::vector<ir::Expr>& indices) {
  const bool scalar = call.shape(input).empty();
  return element_where(call, input, scalar ? std::vector{ir::int_imm(0)} : indices, nullptr);
}

ir::Expr element_where(const NodeCall& call, std::size_t input,
                       const std::vector<ir::Expr>& indices, ir::Expr inside) {
  ir::Expr value = ir::load(call.input(input).buffer, indices, std::move(inside));
  if (call.scalar(input) != ir::Scalar::Bool) return value;
  return ir::binary(ir::BinaryOp::Ne, value, ir::zero_of(value->type));
}

Result<Shape> broadcast(const std::vector<Shape>& shapes) {
  Shape out;
  for (const Shape& shape : shapes) {
    if (shape.size() > out.size()) out.insert(out.begin(), shape.size() - out.size(), 1);
    const std::size_t ahead = out.size() - shape.size();
    for (std::size_t d = 0; d < shape.size(); ++d) {
      std::int64_t& extent = out[ahead + d];
      if (extent == 1) extent = shape[d];
      if (shape[d] != 1 && shape[d] != extent) {
        return invalid("shapes do not broadcast: " + std::to_string(shape[d]) + " and " +
                       std::to_string(extent) + " along one axis");
      }
    }
  }
  return out;
}

ir::Expr broadcast_element(const NodeCall& call, std::size_t input,
                           const std::vector<space::Axis>& axes) {
  const Shape& shape = call.shape(input);
  std::vector<ir::Expr> indices;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const space::Axis& axis = axes[axes.size() - shape.size() + d];
    indices.push_back(shape[d] == 1 ? ir::int_imm(0) : ir::var_ref(axis.var));
  }
  return element(call, input, indices);
}

Result<std::size_t> axis_number(std::int64_t axis, std::size_t rank) {
  const auto limit = static_cast<std::int64_t>(rank);
  if (axis < -limit || axis >= limit) {
    return invalid("there is no axis " + std::to_string(axis) + " of " + std::to_string(rank));
  }
  return static_cast<std::size_t>(axis < 0 ? axis + limit : axis);
}

Result<std::vector<std::size_t>> axis_numbers(const std::vector<std::int64_t>& axes,
                                              std::size_t rank) {
  std::set<std::size_t> numbers;
  for (const std::int64_t axis : axes) {
    auto number = axis_number(axis, rank);
    if (!number) return std::move(number).error();
    if (!numbers.insert(*number).second) {
      return invalid("axis " + std::to_string(axis) + " is named twice");
    }
  }
  return std::vector<std::size_t>(numbers.begin(), numbers.end());
}

Result<void> check_types(const NodeCall& call, Takes takes) {
  const auto words = [&](std::size_t i) { return ir::to_string(ir::DataType{call.scalar(i)}); };
  const auto differ = [&](std::size_t i, std::size_t j) {
    return invalid("its inputs differ in type: " + words(i) + " and " + words(j));
  };
  if (takes == Takes::AChoice) {
    if (call.scalar(0) != ir::Scalar::Bool) return invalid("its condition is " + words(0));
    return call.scalar(1) == call.scalar(2) ? Result<void>() : differ(1, 2);
  }
  if (takes == Takes::Anything) return {};
  const auto wide = [&](std::size_t i) {
    return widened(ir::zero_of({call.scalar(i), 1}))->type.scalar;
  };
  for (std::size_t i = 0; i < call.inputs(); ++i) {
    if (!call.has(i)) continue;
    const bool floats = takes == Takes::Floats     ? wide(i) == ir::Scalar::Float32
                        : takes == Takes::AnyFloat ? ir::DataType{call.scalar(i)}.is_float()
                                                   : true;
    if (!floats) return unsupported("of " + words(i));
    const bool right = takes == Takes::Same ? call.scalar(i) == call.scalar(0) : wide(i) == wide(0);
    if (!right) return differ(0, i);
  }
  return {};
}

ir::Expr widened(const ir::Expr& value) {
  switch (value->type.scalar) {
    case ir::Scalar::UInt8:
    case ir::Scalar::Int16:
    case ir::Scalar::Bool:
      return ir::cast(ir::kInt32, value);
    default:
      return space::widened(value);
  }
}

ir::Expr narrowed(const ir::Expr& value, ir::Scalar to) {
  return value->type.scalar == to ? value : ir::cast({to, 1}, value);
}

Error invalid(const std::string& what) { return {ErrorCode::InvalidArgument, what}; }
Error unsupported(const std::string& what) { return {ErrorCode::Unsupported, what}; }

}  // namespace fettle::model
