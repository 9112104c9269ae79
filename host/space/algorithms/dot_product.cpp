// Sums of int8 products by fours (dot_product.h).
#include "host/space/algorithms/dot_product.h"

#include <algorithm>

#include "host/ir/conditions.h"
#include "host/ir/intrinsics.h"
#include "host/ir/loads.h"
#include "host/ir/mutator.h"
#include "host/space/axis_roles.h"
#include "host/space/operators/stages.h"
#include "host/space/rewrite.h"
#include "host/space/tiled_axis.h"

namespace fettle::space {

namespace {

constexpr std::int64_t kFour = 4;

Error unfit(const char* what) { return Error{ErrorCode::InvalidArgument, what}; }

Axis again(const Axis& axis) { return make_axis(axis.name, axis.extent); }

// What the sum multiplies, where the second factor is a constant or an input and indexed by axes
// alone, the summed one among them, and the data by it last and nowhere else.
Result<Factors> int8_factors(const ComputeDag& dag, const Stage& sum) {
  const auto roles = roles_of(dag, sum);
  if (!roles || !roles->second || roles->first->predicate || roles->second->predicate ||
      !sum.store_at.empty()) {
    return unfit("not a sum of products of two factors");
  }
  const Stage& second = *dag.find(roles->second->buffer);
  if (!second.placeholder() && !is_constant(dag, second)) {
    return unfit("a second factor that is neither a constant nor an input");
  }
  const std::optional<Factors> f = Factors{roles->first, roles->second};
  if (f->data->buffer->type.scalar != ir::Scalar::Int8 ||
      f->constant->buffer->type.scalar != ir::Scalar::Int8 || sum.body->type != ir::kInt32) {
    return unfit("a factor that is not int8");
  }
  const ir::Var& last = sum.reduce_axes.back().var;
  for (std::size_t d = 0; d < f->data->indices.size(); ++d) {
    const ir::Expr& index = f->data->indices[d];
    const bool innermost = d + 1 == f->data->indices.size();
    if (innermost ? !is_var(index, last) : ir::mentions(index, last)) {
      return unfit("data that is not read along the summed axis");
    }
  }
  for (const ir::Expr& index : f->constant->indices) {
    if (!std::get_if<ir::VarRef>(&index->node)) return unfit("a constant not read by axes alone");
  }
  return *f;
}

// [the constant's axes, the summed one by fours] = four int8 as the bytes of an int32.
Stage quads_of(const Stage& constant, std::size_t summed) {
  const std::int64_t extent = constant.axes[summed].extent;
  std::vector<Axis> axes;
  std::vector<ir::Expr> at;
  for (const Axis& axis : constant.axes) {
    axes.push_back(again(axis));
    at.push_back(ir::var_ref(axes.back().var));
  }
  axes[summed].extent = (extent + kFour - 1) / kFour;
  const ir::Expr first = at[summed] * ir::int_imm(kFour);
  std::vector<ir::Expr> four;
  for (std::int64_t i = 0; i < kFour; ++i) {
    at[summed] = first + ir::int_imm(i);
    const ir::Expr inside = extent % kFour == 0
                                ? nullptr
                                : ir::binary(ir::BinaryOp::Lt, at[summed], ir::int_imm(extent));
    four.push_back(ir::load(constant.buffer, at, inside));
  }
  return make_stage(constant.name + ".quads", std::move(axes), {}, packed_bytes(four));
}

// What is known of the padding around the data: comparisons of its axes, those that speak of none
// but the outer windows' (rows, not columns) apart.
struct Padding {
  std::vector<ir::Expr> outer, rest;
};

Padding padding_of(const Stage& sum, const AxisRoles& roles, const Stage& data) {
  Padding padding;
  const auto* load = data.placeholder() ? nullptr : std::get_if<ir::Load>(&data.body->node);
  if (!load || !load->predicate || roles.windows.empty()) return padding;
  std::vector<ir::Var> outer;
  for (std::size_t d = 0; d < roles.first->indices.size(); ++d) {
    for (std::size_t w = 0; w + 1 < roles.windows.size(); ++w) {
      const Axis& window = sum.reduce_axes[roles.windows[w].window];
      if (ir::mentions(roles.first->indices[d], window.var)) outer.push_back(data.axes[d].var);
    }
  }
  for (const ir::Expr& part : ir::conjuncts(load->predicate)) {
    const bool fits = std::all_of(data.axes.begin(), data.axes.end(), [&](const Axis& axis) {
      return !ir::mentions(part, axis.var) ||
             std::find(outer.begin(), outer.end(), axis.var) != outer.end();
    });
    (fits ? padding.outer : padding.rest).push_back(part);
  }
  return padding;
}

// -128 * the sum of the constant over all but `kept` of its dimensions: what 128 added to each
// factor adds to the sums, taken away. Where rows of padding are zeros it is of the other rows
// only, and differs along the sum's axes `rows`, which come first.
Stage offset_of(const Stage& sum, const Factors& factors, const Stage& data, const Stage& constant,
                const std::vector<std::size_t>& kept, const std::vector<std::size_t>& rows,
                const Padding& padding) {
  std::vector<Axis> axes, reduce;
  ir::Substitution own, place;  // of the sum's variables, and of the data's
  for (const std::size_t row : rows) {
    axes.push_back(again(sum.axes[row]));
    own[sum.axes[row].var] = ir::var_ref(axes.back().var);
  }
  std::vector<ir::Expr> at;
  for (std::size_t d = 0; d < constant.axes.size(); ++d) {
    const bool keep = std::find(kept.begin(), kept.end(), d) != kept.end();
    auto& list = keep ? axes : reduce;
    list.push_back(again(constant.axes[d]));
    at.push_back(ir::var_ref(list.back().var));
    own[std::get<ir::VarRef>(factors.constant->indices[d]->node).var] = at.back();
  }
  for (std::size_t d = 0; d < data.axes.size(); ++d) {
    place[data.axes[d].var] = ir::substitute(factors.data->indices[d], own);
  }
  ir::Expr inside = ir::all_of(padding.outer);
  if (inside) inside = ir::substitute(inside, place);
  return make_stage(constant.name + ".offset", std::move(axes), std::move(reduce),
                    widened(ir::load(constant.buffer, at, inside)) * ir::int_imm(-128));
}

// The sum's axes along which rows of padding come and go.
std::vector<std::size_t> rows_of(const Stage& sum, const AxisRoles& roles, const Stage& data,
                                 const Padding& padding) {
  std::vector<std::size_t> rows;
  for (std::size_t axis = 0; axis < sum.axes.size(); ++axis) {
    bool asked = false;
    for (std::size_t d = 0; d < data.axes.size(); ++d) {
      if (!ir::mentions(roles.first->indices[d], sum.axes[axis].var)) continue;
      for (const ir::Expr& part : padding.outer) asked |= ir::mentions(part, data.axes[d].var);
    }
    if (asked) rows.push_back(axis);
  }
  return rows;
}

// The copy of the data with its last axis a multiple of four long, zeros at its end, and 128
// added to each value but those of the padding's rows: a padded copy widened, or a new one.
Stage copied(const Stage& data, bool add_128, const Padding& padding) {
  const std::int64_t extent = data.axes.back().extent;
  const std::int64_t more = (kFour - extent % kFour) % kFour;
  std::vector<std::int64_t> before(data.axes.size(), 0), after = before;
  after.back() = more;
  Stage copy = data;
  if (data.placeholder()) {
    copy = make_pad(data, before, after, ir::zero_of(data.buffer->type));
    copy.name = data.name + ".copy";
  } else if (more > 0) {
    const auto& load = std::get<ir::Load>(copy.body->node);
    const ir::Expr inside =
        ir::binary(ir::BinaryOp::Lt, ir::var_ref(copy.axes.back().var), ir::int_imm(extent));
    copy.axes.back().extent = extent + more;
    copy.body =
        ir::load(load.buffer, load.indices,
                 load.predicate ? ir::binary(ir::BinaryOp::And, load.predicate, inside) : inside);
  }
  // In int8 that wraps; read as unsigned it is the value + 128.
  if (add_128) copy.body = copy.body + ir::int_imm(-128, copy.body->type);
  if (const ir::Expr inside = ir::all_of(padding.outer); add_128 && inside) {
    copy.body = ir::select(inside, copy.body, ir::zero_of(data.buffer->type));
  }
  copy.buffer = make_buffer(copy.name, data.buffer->type, copy.axes);
  return copy;
}

}  // namespace

Result<ComputeDag> with_dot_products(ComputeDag dag, bool add_128) {
  const auto reduces = [](const Stage& stage) { return !stage.reduce_axes.empty(); };
  if (std::count_if(dag.stages.begin(), dag.stages.end(), reduces) != 1) {
    return unfit("not one reduction");
  }
  const std::string name = std::find_if(dag.stages.begin(), dag.stages.end(), reduces)->name;
  std::size_t index = std::size_t(index_of(dag, name));
  if (dag.stages[index].role == ir::Role::Output &&
      (add_128 || !dag.stages[index].store_at.empty())) {
    compute_apart(dag, name, name + ".sums");  // what 128 adds to them is taken away by a reader
  }
  Stage sum = dag.stages[index];
  auto factors = int8_factors(dag, sum);
  if (!factors) return std::move(factors).error();
  const Stage data = *dag.find(factors->data->buffer),
              constant = *dag.find(factors->constant->buffer);
  const auto users = readers_of(dag, sum.buffer);
  if (add_128 && users.size() != 1) return unfit("the sum has not one reader");
  const bool copies = add_128 || data.axes.back().extent % kFour != 0;
  if (copies && (data.role == ir::Role::Output || readers_of(dag, data.buffer).size() != 1)) {
    return unfit("others read the data");
  }
  if (copies && !data.placeholder() && !std::get_if<ir::Load>(&data.body->node)) {
    return unfit("data that is neither an input nor a copy of one");
  }

  // Which axes of the sum the constant has, by the constant's dimension and by the sum's.
  std::size_t summed = 0;
  std::vector<std::size_t> kept, places;
  for (std::size_t d = 0; d < constant.axes.size(); ++d) {
    const ir::Var& var = std::get<ir::VarRef>(factors->constant->indices[d]->node).var;
    if (var == sum.reduce_axes.back().var) summed = d;
    for (std::size_t place = 0; place < sum.axes.size(); ++place) {
      if (sum.axes[place].var == var) kept.push_back(d), places.push_back(place);
    }
  }

  const Stage quads = quads_of(constant, summed);
  const AxisRoles roles = *roles_of(dag, sum);
  const Padding padding = padding_of(sum, roles, data);
  const std::vector<std::size_t> rows = rows_of(sum, roles, data, padding);
  const Stage source = copies ? copied(data, add_128, padding) : data;
  std::vector<ir::Expr> data_at = factors->data->indices, constant_at = factors->constant->indices;
  const Axis fours = make_axis(sum.reduce_axes.back().name, quads.axes[summed].extent);
  data_at.back() = ir::ramp(ir::var_ref(fours.var) * ir::int_imm(kFour), 1, int(kFour));
  constant_at[summed] = ir::var_ref(fours.var);
  const Stage before = sum;
  sum.reduce_axes.back() = fours;
  const ir::Expr four = ir::load(source.buffer, data_at, nullptr, int(kFour));
  const auto* row =
      ir::find_sum_of_products(add_128 ? ir::Scalar::UInt8 : ir::Scalar::Int8, ir::Scalar::Int8);
  sum.body = ir::intrinsic(*row, {ir::reinterpret(ir::kInt32, four),
                                  ir::load(quads.buffer, constant_at), ir::int_imm(0)});

  std::vector<Stage> made{quads};
  if (add_128) {
    made.push_back(offset_of(before, *factors, data, constant, kept, rows, padding));
    Stage& reader = dag.stages[std::size_t(index_of(dag, users[0]))];
    const ir::Buffer offset = made.back().buffer;
    reader.body = ir::replace_loads(reader.body, sum.buffer, [&](const ir::Load& load) {
      std::vector<ir::Expr> at;
      for (const std::size_t d : rows) at.push_back(load.indices[d]);
      for (const std::size_t d : places) at.push_back(load.indices[d]);
      return ir::load(load.buffer, load.indices, load.predicate) + ir::load(offset, at);
    });
  }
  if (copies && data.placeholder()) made.push_back(source);
  dag.stages[index] = sum;
  if (copies && !data.placeholder()) dag.stages[std::size_t(index_of(dag, data.name))] = source;
  dag.stages.insert(dag.stages.begin() + std::ptrdiff_t(index), made.begin(), made.end());
  return dag;
}

std::optional<PackedFactors> packed_factors(const Stage& stage) {
  const auto* dot = stage.body ? std::get_if<ir::Intrinsic>(&stage.body->node) : nullptr;
  if (!dot) return std::nullopt;
  const auto* bytes = std::get_if<ir::Reinterpret>(&dot->args[0]->node);
  const auto* data = bytes ? std::get_if<ir::Load>(&bytes->value->node) : nullptr;
  const auto* constant = std::get_if<ir::Load>(&dot->args[1]->node);
  if (!data || !constant) return std::nullopt;
  return PackedFactors{data, constant};
}

}  // namespace fettle::space
