// A convolution by Winograd's algorithm (winograd_convolution.h).
#include "host/space/algorithms/winograd_convolution.h"

#include <algorithm>

#include "host/ir/loads.h"
#include "host/ir/mutator.h"
#include "host/space/algorithms/window.h"
#include "host/space/algorithms/winograd.h"
#include "host/space/operators/stages.h"
#include "host/space/rewrite.h"
#include "host/space/tiled_axis.h"

namespace fettle::space {

namespace {

Error unfit(const char* what) { return Error{ErrorCode::InvalidArgument, what}; }

Axis fresh(const std::string& name, std::int64_t extent) {
  return {name, ir::make_var(name), extent};
}
Axis again(const Axis& axis) { return fresh(axis.name, axis.extent); }

// As it is stored in place of values of that type.
ir::Expr stored_as(ir::DataType type, ir::Expr value) {
  return value->type == type ? value : ir::cast(type, std::move(value));
}

Stage make(std::string name, std::vector<Axis> axes, ir::Expr body) {
  Stage stage;
  stage.buffer = make_buffer(name, body->type, axes);
  stage.name = std::move(name);
  stage.axes = std::move(axes);
  stage.body = std::move(body);
  return stage;
}

// Row `index` of matrix * (buffer at indices, with dimension `d` running).
ir::Expr row_of(const Matrix& matrix, const ir::Expr& index, const ir::Buffer& buffer,
                std::vector<ir::Expr> indices, std::size_t d) {
  std::vector<ir::Expr> values;
  for (std::size_t i = 0; i < matrix.front().size(); ++i) {
    indices[d] = ir::int_imm(std::int64_t(i));
    values.push_back(widened(ir::load(buffer, indices)));
  }
  const std::vector<ir::Expr> rows = product(matrix, values);
  ir::Expr chosen = rows.back();
  for (std::size_t r = rows.size() - 1; r-- > 0;) {
    const ir::Expr here = ir::binary(ir::BinaryOp::Eq, index, ir::int_imm(std::int64_t(r)));
    chosen = ir::select(here, rows[r], chosen);
  }
  return chosen;
}

// Whether the stage reads the buffer at its own axes only.
bool reads_one_to_one(const Stage& stage, const ir::Buffer& buffer) {
  bool direct = stage.axes.size() == buffer->shape.size();
  ir::walk(stage.body, [&](const ir::Expr& e) {
    const auto* load = std::get_if<ir::Load>(&e->node);
    if (!load || load->buffer != buffer) return;
    for (std::size_t d = 0; direct && d < load->indices.size(); ++d) {
      direct &= is_var(load->indices[d], stage.axes[d].var);
    }
  });
  return direct;
}

// The DAG with nothing but the sum between its inputs, or a padded copy of one, and its output,
// and the sum a stage of its own. Returns the sum's name.
Result<std::string> sum_before_output(ComputeDag& dag) {
  const auto reduces = [](const Stage& stage) { return !stage.reduce_axes.empty(); };
  if (std::count_if(dag.stages.begin(), dag.stages.end(), reduces) != 1) {
    return unfit("not one reduction");
  }
  const Stage sum = *std::find_if(dag.stages.begin(), dag.stages.end(), reduces);
  const auto window = winograd_window(dag, sum);
  if (!window) return unfit("no convolution by 3x3 windows without strides");
  const std::string data = dag.find(std::get<ir::Load>(window->data->node).buffer)->name;
  for (const std::string& stage : elementwise_stages(dag)) {
    if (stage == data) continue;
    if (auto done = inline_stage(dag, stage); !done) return std::move(done).error();
  }
  if (sum.role != ir::Role::Output) return sum.name;
  compute_apart(dag, sum.name, sum.name + ".sums");
  return sum.name + ".sums";
}

// A load of the data, 0 where what moves with the variable lies past its end.
ir::Expr within_data(const ir::Expr& data, const ir::Var& var) {
  const auto& load = std::get<ir::Load>(data->node);
  ir::Expr on = load.predicate;
  for (std::size_t d = 0; d < load.indices.size(); ++d) {
    if (!ir::mentions(load.indices[d], var)) continue;
    const ir::Expr inside =
        ir::binary(ir::BinaryOp::Lt, load.indices[d], ir::int_imm(load.buffer->shape[d]));
    on = on ? ir::binary(ir::BinaryOp::And, on, inside) : inside;
  }
  return ir::load(load.buffer, load.indices, on);
}

// What reads the sums, of pixels that are made of `rows`: over tiles and their pixels.
Stage output_by_tiles(const Stage& reader, const Window& w, const ir::Buffer& sums,
                      const ir::Buffer& rows, const Winograd& gy, const Winograd& gx) {
  Stage output = reader;
  output.axes = {reader.axes[0],         fresh("ty", rows->shape[1]), fresh("tx", rows->shape[2]),
                 fresh("a", gy.outputs), fresh("b", gx.outputs),      reader.axes[3]};
  output.axes.front().name = w.n.name, output.axes.back().name = w.out.name;
  const std::vector<ir::Expr> r = refs(output.axes);
  const ir::Substitution place{
      {reader.axes[1].var, tile_begin(output.axes[1].var, gy.outputs, w.y.extent) + r[3]},
      {reader.axes[2].var, tile_begin(output.axes[2].var, gx.outputs, w.x.extent) + r[4]}};
  output.store_at = reader.store_at.empty() ? refs(reader.axes) : reader.store_at;
  for (ir::Expr& index_expr : output.store_at) index_expr = ir::substitute(index_expr, place);
  const ir::Expr pixel = row_of(gx.output, r[4], rows, {r[0], r[1], r[2], r[3], nullptr, r[5]}, 4);
  // The reader's own loads first, so that only they move to the tiles' places.
  output.body = ir::replace_loads(ir::substitute(reader.body, place), sums,
                                  [&](const ir::Load&) { return pixel; });
  return output;
}

// The same over the pixels as they were.
Stage output_by_pixels(const Stage& reader, const ir::Buffer& sums, const ir::Buffer& rows,
                       const Winograd& gy, const Winograd& gx) {
  const std::vector<ir::Expr> r = refs(reader.axes);
  const ir::Expr my = ir::int_imm(gy.outputs), mx = ir::int_imm(gx.outputs);
  const auto tile = [](const ir::Expr& pixel, const ir::Expr& size) {
    return ir::binary(ir::BinaryOp::Div, pixel, size);
  };
  const auto within = [](const ir::Expr& pixel, const ir::Expr& size) {
    return ir::binary(ir::BinaryOp::Mod, pixel, size);
  };
  const ir::Expr pixel =
      row_of(gx.output, within(r[2], mx), rows,
             {r[0], tile(r[1], my), tile(r[2], mx), within(r[1], my), nullptr, r[3]}, 4);
  Stage output = reader;
  output.body = ir::replace_loads(reader.body, sums, [&](const ir::Load&) { return pixel; });
  return output;
}

}  // namespace

Result<WinogradDag> with_winograd(ComputeDag dag, int outputs_y, int outputs_x, LastTile last) {
  for (const int outputs : {outputs_y, outputs_x}) {
    if (outputs != 2 && outputs != 4 && outputs != 6) return unfit("no such matrices");
  }
  auto name = sum_before_output(dag);
  if (!name) return std::move(name).error();
  const int index = index_of(dag, *name);
  const Stage direct = dag.stages[std::size_t(index)];
  const Window w = *winograd_window(dag, direct);
  const auto users = readers_of(dag, direct.buffer);
  if (users.size() != 1) return unfit("the sum has not one reader");
  const auto reader_index = std::size_t(index_of(dag, users[0]));
  const Stage reader = dag.stages[reader_index];
  if (!reads_one_to_one(reader, direct.buffer)) return unfit("the sum is not read one to one");
  if (w.y.extent < outputs_y || w.x.extent < outputs_x) return unfit("fewer pixels than a tile");

  const Winograd &gy = winograd(outputs_y), &gx = winograd(outputs_x);
  const std::int64_t my = gy.outputs, ny = gy.inputs, mx = gx.outputs, nx = gx.inputs;
  const bool cut = last == LastTile::IsCut;
  const auto begin = [&](const ir::Var& tile, std::int64_t size, std::int64_t extent) {
    return cut ? ir::var_ref(tile) * ir::int_imm(size) : tile_begin(tile, size, extent);
  };
  const std::int64_t rows = (w.y.extent + my - 1) / my, columns = (w.x.extent + mx - 1) / mx;
  const auto& weight = std::get<ir::Load>(w.weight->node);
  const std::string weight_name = dag.find(weight.buffer)->name,
                    data_name = dag.find(std::get<ir::Load>(w.data->node).buffer)->name;

  // Weights: rows [u][kw][in][out], then both.
  Axis u = fresh("u", ny), v = fresh("v", nx), kw = again(w.kw), in = again(w.in),
       out = again(w.out);
  const ir::Var kh = ir::make_var("kh");
  std::vector<ir::Expr> at;
  for (const ir::Expr& i : weight.indices) {
    at.push_back(ir::substitute(i, {{w.kh.var, ir::var_ref(kh)},
                                    {w.kw.var, ir::var_ref(kw.var)},
                                    {w.in.var, ir::var_ref(in.var)},
                                    {w.out.var, ir::var_ref(out.var)}}));
  }
  std::size_t kh_dimension = 0;
  while (!is_var(at[kh_dimension], kh)) ++kh_dimension;
  const Stage weight_rows =
      make(weight_name + ".rows", {u, kw, in, out},
           row_of(gy.weight, ir::var_ref(u.var), weight.buffer, at, kh_dimension));
  std::vector<Axis> axes{fresh("u", ny), v, again(w.in), again(w.out)};
  std::vector<ir::Expr> r = refs(axes);
  const Stage weights =
      make(weight_name + ".winograd", axes,
           stored_as(weight.buffer->type,
                     row_of(gx.weight, r[1], weight_rows.buffer, {r[0], nullptr, r[2], r[3]}, 1)));

  // Data: a tile of pixels, its rows, then both.
  axes = {again(w.n),     fresh("ty", rows), fresh("tx", columns),
          fresh("i", ny), fresh("j", nx),    again(w.in)};
  ir::Expr data = ir::substitute(w.data, {{w.n.var, ir::var_ref(axes[0].var)},
                                          {w.y.var, begin(axes[1].var, my, w.y.extent)},
                                          {w.x.var, begin(axes[2].var, mx, w.x.extent)},
                                          {w.kh.var, ir::var_ref(axes[3].var)},
                                          {w.kw.var, ir::var_ref(axes[4].var)},
                                          {w.in.var, ir::var_ref(axes[5].var)}});
  if (cut && rows * my != w.y.extent) data = within_data(data, axes[1].var);
  if (cut && columns * mx != w.x.extent) data = within_data(data, axes[2].var);
  const Stage tile = make(data_name + ".tile", axes, widened(data));
  axes = {again(w.n),     fresh("ty", rows), fresh("tx", columns),
          fresh("u", ny), fresh("j", nx),    again(w.in)};
  const Stage data_rows =
      make(data_name + ".rows", axes,
           row_of(gy.input, ir::var_ref(axes[3].var), tile.buffer, refs(axes), 3));
  axes = {fresh("u", ny),    fresh("v", nx),       again(w.n),
          fresh("ty", rows), fresh("tx", columns), again(w.in)};
  r = refs(axes);
  const Stage pixels =
      make(data_name + ".winograd", axes,
           stored_as(data->type, row_of(gx.input, r[1], data_rows.buffer,
                                        {r[2], r[3], r[4], r[0], nullptr, r[5]}, 4)));

  // The products, summed over the channels.
  axes = {fresh("u", ny),    fresh("v", nx),       again(w.n),
          fresh("ty", rows), fresh("tx", columns), again(w.out)};
  r = refs(axes);
  const Axis sum = again(w.in);
  const ir::Expr channel = ir::var_ref(sum.var);
  Stage sums = make(direct.name, axes,
                    product(ir::load(pixels.buffer, {r[0], r[1], r[2], r[3], r[4], channel}),
                            ir::load(weights.buffer, {r[0], r[1], channel, r[5]})));
  sums.reduce_axes = {sum};
  std::vector<Stage> products{sums};
  if (const ir::DataType type = data->type;
      type == weight.buffer->type && type != direct.body->type) {
    axes = {fresh("u", ny),    fresh("v", nx),       again(w.n),
            fresh("ty", rows), fresh("tx", columns), again(w.out)};
    const ir::Expr value = ir::load(sums.buffer, refs(axes));
    products.push_back(make(direct.name + ".stored", axes, ir::cast(type, value)));
  }

  // Back to pixels: rows, then the reader in tiles.
  axes = {again(w.n),     fresh("ty", rows), fresh("tx", columns),
          fresh("a", my), fresh("v", nx),    again(w.out)};
  r = refs(axes);
  const Stage sum_rows = make(
      direct.name + ".rows", axes,
      row_of(gy.output, r[3], products.back().buffer, {nullptr, r[4], r[0], r[1], r[2], r[5]}, 0));
  dag.stages[reader_index] =
      cut ? output_by_pixels(reader, direct.buffer, sum_rows.buffer, gy, gx)
          : output_by_tiles(reader, w, direct.buffer, sum_rows.buffer, gy, gx);
  std::vector<Stage> made{weight_rows, weights, tile, data_rows, pixels};
  made.insert(made.end(), products.begin(), products.end());
  made.push_back(sum_rows);
  dag.stages.erase(dag.stages.begin() + index);
  dag.stages.insert(dag.stages.begin() + index, made.begin(), made.end());
  return WinogradDag{std::move(dag),
                     {weight_rows.name, weights.name, tile.name, data_rows.name, pixels.name,
                      products.back().name, sum_rows.name, outputs_y, outputs_x}};
}

}  // namespace fettle::space
