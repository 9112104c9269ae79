// Making of stages (stages.h).
#include "host/space/operators/stages.h"

namespace fettle::space {

Axis make_axis(std::string name, std::int64_t extent) { return {name, ir::make_var(name), extent}; }

namespace {

Stage placeholder_of(std::string name, std::vector<std::pair<std::string, std::int64_t>> dims,
                     ir::Role role, ir::DataType type, ir::Fill fill) {
  Stage stage;
  ir::BufferDecl decl{name, type, {}};
  for (const auto& [axis, extent] : dims) {
    stage.axes.push_back(make_axis(axis, extent));
    decl.shape.push_back(extent);
  }
  stage.name = std::move(name);
  stage.buffer = std::make_shared<const ir::BufferDecl>(std::move(decl));
  stage.role = role;
  stage.fill = fill;
  return stage;
}

}  // namespace

Stage make_placeholder(std::string name, std::vector<std::pair<std::string, std::int64_t>> dims,
                       ir::Role role, std::uint64_t stream, double scale, ir::Scalar type) {
  return placeholder_of(std::move(name), std::move(dims), role, {type, 1},
                        {ir::Fill::Kind::UniformReal, 0.25 * scale, scale, stream});
}

Stage make_int_placeholder(std::string name, std::vector<std::pair<std::string, std::int64_t>> dims,
                           ir::Role role, std::uint64_t stream, ir::Scalar type,
                           std::int64_t magnitude) {
  const std::int64_t low = type == ir::Scalar::UInt8 ? 0 : -magnitude;
  return placeholder_of(std::move(name), std::move(dims), role, {type, 1},
                        {ir::Fill::Kind::UniformInt, double(low), double(magnitude), stream});
}

Stage make_operand(ir::Scalar type, std::string name,
                   std::vector<std::pair<std::string, std::int64_t>> dims, ir::Role role,
                   std::uint64_t stream, double scale) {
  if (ir::DataType{type}.is_float()) {
    return make_placeholder(std::move(name), std::move(dims), role, stream, scale, type);
  }
  return make_int_placeholder(std::move(name), std::move(dims), role, stream, type, 127);
}

ir::Expr widened(const ir::Expr& value) {
  switch (value->type.scalar) {
    case ir::Scalar::Float16:
      return ir::cast(ir::kFloat32, value);
    case ir::Scalar::Int8:
      return ir::cast(ir::kInt32, value);
    default:
      return value;
  }
}

ir::Expr int8_mean(const ir::Expr& sum, const ir::Expr& count) {
  const ir::Expr quotient =
      ir::binary(ir::BinaryOp::Div, ir::cast(ir::kFloat32, sum), ir::cast(ir::kFloat32, count));
  return ir::cast({ir::Scalar::Int8, 1},
                  ir::unary(ir::UnaryOp::Floor, quotient + ir::float_imm(0.5)));
}

ir::Expr product(const ir::Expr& a, const ir::Expr& b) { return widened(a) * widened(b); }

ir::Expr packed_bytes(std::span<const ir::Expr> four) {
  ir::Expr packed;
  for (std::size_t i = 0; i < four.size(); ++i) {
    const ir::Expr byte = ir::cast(ir::kInt32, ir::cast({ir::Scalar::UInt8, 1}, four[i]));
    const ir::Expr placed =
        ir::binary(ir::BinaryOp::ShiftLeft, byte, ir::int_imm(8 * std::int64_t(i)));
    packed = packed ? packed + placed : placed;
  }
  return packed;
}

Stage make_stage(std::string name, std::vector<Axis> axes, std::vector<Axis> reduce_axes,
                 ir::Expr body, Combiner combiner) {
  Stage stage;
  ir::BufferDecl decl{name, body->type, {}};
  for (const Axis& axis : axes) decl.shape.push_back(axis.extent);
  stage.name = std::move(name);
  stage.buffer = std::make_shared<const ir::BufferDecl>(std::move(decl));
  stage.axes = std::move(axes);
  stage.reduce_axes = std::move(reduce_axes);
  stage.combiner = combiner;
  stage.body = std::move(body);
  return stage;
}

Stage make_pad(const Stage& source, const std::vector<std::int64_t>& before,
               const std::vector<std::int64_t>& after, ir::Expr outside) {
  std::vector<Axis> axes;
  std::vector<ir::Expr> from;
  ir::Expr inside = ir::bool_imm(true);
  const auto require = [&](ir::Expr condition) {
    inside = ir::binary(ir::BinaryOp::And, inside, std::move(condition));
  };
  for (std::size_t d = 0; d < source.axes.size(); ++d) {
    const Axis& axis = source.axes[d];
    axes.push_back(make_axis(axis.name, axis.extent + before[d] + after[d]));
    from.push_back(ir::var_ref(axes[d].var) - ir::int_imm(before[d]));
    if (before[d] > 0) require(ir::binary(ir::BinaryOp::Le, ir::int_imm(0), from[d]));
    if (before[d] + after[d] > 0) {
      require(ir::binary(ir::BinaryOp::Lt, from[d], ir::int_imm(axis.extent)));
    }
  }
  ir::Expr value = ir::load(source.buffer, from, inside);
  const auto* real = std::get_if<ir::FloatImm>(&outside->node);
  const bool zero = real ? real->value == 0 : ir::as_int(outside) && *ir::as_int(outside) == 0;
  if (!zero) value = ir::select(inside, value, std::move(outside));
  return make_stage("pad", std::move(axes), {}, value);
}

ir::Expr at(const Stage& stage, const std::vector<ir::Expr>& indices) {
  return ir::load(stage.buffer, indices);
}

}  // namespace fettle::space
