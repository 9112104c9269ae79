// The step that replaces a convolution by Winograd's algorithm (schedule.h).
#include <algorithm>

#include "host/ir/loads.h"
#include "host/ir/mutator.h"
#include "host/space/schedule.h"
#include "host/space/tiled_axis.h"
#include "host/space/window.h"
#include "host/space/winograd.h"

namespace fettle::space {

namespace {

Error unfit(const char* what) { return Error{ErrorCode::InvalidArgument, what}; }

Axis fresh(const std::string& name, std::int64_t extent) {
  return {name, ir::make_var(name), extent};
}
Axis again(const Axis& axis) { return fresh(axis.name, axis.extent); }

std::vector<ir::Expr> refs(const std::vector<Axis>& axes) {
  std::vector<ir::Expr> out;
  for (const Axis& axis : axes) out.push_back(ir::var_ref(axis.var));
  return out;
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
    values.push_back(ir::load(buffer, indices));
  }
  const std::vector<ir::Expr> rows = product(matrix, values);
  ir::Expr chosen = rows.back();
  for (std::size_t r = rows.size() - 1; r-- > 0;) {
    const ir::Expr here = ir::binary(ir::BinaryOp::Eq, index, ir::int_imm(std::int64_t(r)));
    chosen = ir::select(here, rows[r], chosen);
  }
  return chosen;
}

}  // namespace

Result<void> Schedule::run(const WinogradStep& s) {
  const int index = index_of(s.stage);
  if (index < 0) return unfit("no such stage");
  const Stage direct = dag_.stages[index];
  const auto window = winograd_window(dag_, direct);
  if (!window) return unfit("no convolution by 3x3 windows without strides");
  const Window& w = *window;
  const auto users = readers(direct.buffer);
  if (users.size() != 1) return unfit("the stage has not one reader");
  const int reader_index = index_of(users[0]);
  const Stage reader = dag_.stages[reader_index];
  if (reader.axes.size() != 4) return unfit("a reader of other axes");
  for (const int outputs : {s.outputs_y, s.outputs_x}) {
    if (outputs != 2 && outputs != 4) return unfit("no such matrices");
  }
  if (w.y.extent < s.outputs_y || w.x.extent < s.outputs_x) {
    return unfit("fewer pixels than a tile");
  }
  if (s.channel_tile < 1 || s.channel_tile > w.out.extent) return unfit("tile outside the axis");

  const Winograd &gy = winograd(s.outputs_y), &gx = winograd(s.outputs_x);
  const std::int64_t my = gy.outputs, ny = gy.inputs, mx = gx.outputs, nx = gx.inputs;
  const std::int64_t rows = (w.y.extent + my - 1) / my, columns = (w.x.extent + mx - 1) / mx;
  const auto& weight = std::get<ir::Load>(w.weight->node);
  const std::string weight_name = dag_.find(weight.buffer)->name;

  // Weights: rows [n][kw][tile][ic][in tile], then both.
  const TiledAxis own = tile_axis(w.out, s.channel_tile);
  std::vector<ir::Expr> at;
  Axis u = fresh("u", ny), v = fresh("v", nx), kw = again(w.kw), in = again(w.in);
  const ir::Var kh = ir::make_var("kh");
  for (const ir::Expr& i : weight.indices) {
    at.push_back(ir::substitute(i, {{w.kh.var, ir::var_ref(kh)},
                                    {w.kw.var, ir::var_ref(kw.var)},
                                    {w.in.var, ir::var_ref(in.var)},
                                    {w.out.var, own.value}}));
  }
  std::size_t kh_dimension = 0;
  while (!std::get_if<ir::VarRef>(&at[kh_dimension]->node) ||
         std::get<ir::VarRef>(at[kh_dimension]->node).var != kh) {
    ++kh_dimension;
  }
  const Stage weight_rows =
      make(weight_name + ".rows", {own.tile, u, kw, in, own.in},
           row_of(gy.weight, ir::var_ref(u.var), weight.buffer, at, kh_dimension));
  std::vector<Axis> axes{again(own.tile), fresh("u", ny), v, again(w.in), again(own.in)};
  const Stage weights = make(weight_name + ".winograd", axes,
                             row_of(gx.weight, ir::var_ref(v.var), weight_rows.buffer,
                                    {ir::var_ref(axes[0].var), ir::var_ref(axes[1].var), nullptr,
                                     ir::var_ref(axes[3].var), ir::var_ref(axes[4].var)},
                                    2));

  // Data: a tile of pixels, its rows, then both.
  axes = {again(w.n),     fresh("ty", rows), fresh("tx", columns),
          fresh("i", ny), fresh("j", nx),    again(w.in)};
  const Stage tile =
      make("pixels.tile", axes,
           ir::substitute(w.data, {{w.n.var, ir::var_ref(axes[0].var)},
                                   {w.y.var, tile_begin(axes[1].var, my, w.y.extent)},
                                   {w.x.var, tile_begin(axes[2].var, mx, w.x.extent)},
                                   {w.kh.var, ir::var_ref(axes[3].var)},
                                   {w.kw.var, ir::var_ref(axes[4].var)},
                                   {w.in.var, ir::var_ref(axes[5].var)}}));
  axes = {again(w.n),     fresh("ty", rows), fresh("tx", columns),
          fresh("u", ny), fresh("j", nx),    again(w.in)};
  const Stage data_rows = make(
      "pixels.rows", axes, row_of(gy.input, ir::var_ref(axes[3].var), tile.buffer, refs(axes), 3));
  axes = {fresh("u", ny),    fresh("v", nx),       again(w.n),
          fresh("ty", rows), fresh("tx", columns), again(w.in)};
  std::vector<ir::Expr> r = refs(axes);
  const Stage pixels =
      make("pixels.winograd", axes,
           row_of(gx.input, r[1], data_rows.buffer, {r[2], r[3], r[4], r[0], nullptr, r[5]}, 4));

  // The products, summed over the channels.
  axes = {fresh("u", ny),       fresh("v", nx),  again(w.n),   fresh("ty", rows),
          fresh("tx", columns), again(own.tile), again(own.in)};
  r = refs(axes);
  const Axis sum = again(w.in);
  const ir::Expr channel = ir::var_ref(sum.var);
  Stage products = make(direct.name, axes,
                        ir::load(pixels.buffer, {r[0], r[1], r[2], r[3], r[4], channel}) *
                            ir::load(weights.buffer, {r[5], r[0], r[1], channel, r[6]}));
  products.reduce_axes = {sum};

  // Back to pixels: rows, then the reader in tiles.
  axes = {again(w.n),     fresh("ty", rows), fresh("tx", columns), fresh("a", my),
          fresh("v", nx), again(own.tile),   again(own.in)};
  r = refs(axes);
  const Stage sum_rows = make(
      direct.name + ".rows", axes,
      row_of(gy.output, r[3], products.buffer, {nullptr, r[4], r[0], r[1], r[2], r[5], r[6]}, 0));
  Stage output = reader;
  output.axes = {reader.axes[0], fresh("ty", rows), fresh("tx", columns), fresh("a", my),
                 fresh("b", mx), again(own.tile),   again(own.in)};
  r = refs(output.axes);
  const ir::Expr tiled_channel =
      ir::substitute(own.value, {{own.tile.var, r[5]}, {own.in.var, r[6]}});
  const ir::Substitution place{
      {reader.axes[1].var, tile_begin(output.axes[1].var, my, w.y.extent) + r[3]},
      {reader.axes[2].var, tile_begin(output.axes[2].var, mx, w.x.extent) + r[4]},
      {reader.axes[3].var, tiled_channel}};
  output.store_at = reader.store_at.empty() ? refs(reader.axes) : reader.store_at;
  for (ir::Expr& index_expr : output.store_at) index_expr = ir::substitute(index_expr, place);
  bool direct_reads = true;
  ir::walk(reader.body, [&](const ir::Expr& e) {
    const auto* load = std::get_if<ir::Load>(&e->node);
    if (!load || load->buffer != direct.buffer) return;
    for (std::size_t d = 0; d < 4; ++d) {
      const auto* ref = std::get_if<ir::VarRef>(&load->indices[d]->node);
      direct_reads &= ref && ref->var == reader.axes[d].var;
    }
  });
  if (!direct_reads) return unfit("the stage is not read one to one");
  const ir::Expr pixel =
      row_of(gx.output, r[4], sum_rows.buffer, {r[0], r[1], r[2], r[3], nullptr, r[5], r[6]}, 4);
  // The reader's own loads first, so that only they move to the tiles' places.
  output.body = ir::replace_loads(ir::substitute(reader.body, place), direct.buffer,
                                  [&](const ir::Load&) { return pixel; });

  dag_.stages[reader_index] = output;
  plan_afresh(output);
  const std::vector<Stage> made{weight_rows, weights, tile, data_rows, pixels, products, sum_rows};
  dag_.stages.erase(dag_.stages.begin() + index);
  dag_.stages.insert(dag_.stages.begin() + index, made.begin(), made.end());
  for (const Stage& stage : made) plan_afresh(stage);
  return {};
}

}  // namespace fettle::space
