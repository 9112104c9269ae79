// DAGs in blocks of channels (packed.h).
#include "host/space/operators/packed.h"

#include <cmath>

#include "host/space/operators/stages.h"
#include "host/space/operators/tail.h"
#include "host/space/operators/window_operator.h"

namespace fettle::space {
namespace {

Stage images(const OperatorCall& w, std::int64_t batch, std::int64_t blocks) {
  return make_operand(w.scalar(), "input",
                      {{"n", batch},
                       {"cb", blocks},
                       {"y", w.integer("height")},
                       {"x", w.integer("width")},
                       {"c", kChannelBlock}},
                      ir::Role::Input, kInputStream, 1);
}

}  // namespace

Result<void> require_blocks(const char* op, std::int64_t in, std::int64_t out) {
  if (in % kChannelBlock == 0 && out % kChannelBlock == 0) return {};
  return Error{ErrorCode::Unsupported, std::string(op) + ": its layout has channels in blocks of " +
                                           std::to_string(kChannelBlock)};
}

ComputeDag packed_conv2d_dag(const OperatorCall& w) {
  const auto kernel = w.pair("kernel"), stride = w.pair("stride"), pad = w.pair("pad"),
             dilation = w.pair("dilation");
  const std::int64_t n = w.integer("batch"), in = w.integer("in_channels") / kChannelBlock,
                     out = w.integer("out_channels") / kChannelBlock;
  const auto extent = window_output(w);
  const double length = double(kernel[0] * kernel[1] * w.integer("in_channels"));

  ComputeDag dag;
  const ir::Scalar type = w.scalar();
  dag.stages.push_back(images(w, n, in));
  dag.stages.push_back(make_operand(type, "weight",
                                    {{"ob", out},
                                     {"ib", in},
                                     {"kh", kernel[0]},
                                     {"kw", kernel[1]},
                                     {"oc", kChannelBlock},
                                     {"ic", kChannelBlock}},
                                    ir::Role::Constant, kWeightStream, 1 / std::sqrt(length)));
  const Stage weight = dag.stages.back();
  if (pad[0] > 0 || pad[1] > 0) {
    const std::vector<std::int64_t> around{0, 0, pad[0], pad[1], 0};
    dag.stages.push_back(
        make_pad(dag.stages[0], around, around, ir::zero_of(dag.stages[0].buffer->type)));
  }
  const Stage source = dag.stages.back().name == "pad" ? dag.stages.back() : dag.stages[0];

  const Axis an = make_axis("n", n), ob = make_axis("ob", out), y = make_axis("y", extent[0]),
             x = make_axis("x", extent[1]), oc = make_axis("oc", kChannelBlock),
             ib = make_axis("ib", in), kh = make_axis("kh", kernel[0]),
             kw = make_axis("kw", kernel[1]), ic = make_axis("ic", kChannelBlock);
  const auto v = [](const Axis& axis) { return ir::var_ref(axis.var); };
  const ir::Expr row = v(y) * ir::int_imm(stride[0]) + v(kh) * ir::int_imm(dilation[0]),
                 column = v(x) * ir::int_imm(stride[1]) + v(kw) * ir::int_imm(dilation[1]);
  dag.stages.push_back(make_stage("conv", {an, ob, y, x, oc}, {ib, kh, kw, ic},
                                  product(at(source, {v(an), v(ib), row, column, v(ic)}),
                                          at(weight, {v(ob), v(ib), v(kh), v(kw), v(oc), v(ic)}))));
  append_tail(dag, w, {"ob", "oc"});
  return dag;
}

ComputeDag packed_max_pool2d_dag(const OperatorCall& w) {
  const auto kernel = w.pair("kernel"), stride = w.pair("stride"), pad = w.pair("pad");
  const std::int64_t n = w.integer("batch"), blocks = w.integer("channels") / kChannelBlock;
  const auto extent = window_output(w);
  ComputeDag dag;
  dag.stages.push_back(images(w, n, blocks));
  if (pad[0] > 0 || pad[1] > 0) {
    const std::vector<std::int64_t> around{0, 0, pad[0], pad[1], 0};
    dag.stages.push_back(make_pad(dag.stages[0], around, around,
                                  neutral_of(Combiner::Max, dag.stages[0].buffer->type)));
  }
  const Axis an = make_axis("n", n), cb = make_axis("cb", blocks), y = make_axis("y", extent[0]),
             x = make_axis("x", extent[1]), c = make_axis("c", kChannelBlock),
             kh = make_axis("kh", kernel[0]), kw = make_axis("kw", kernel[1]);
  const auto v = [](const Axis& axis) { return ir::var_ref(axis.var); };
  const ir::Expr element =
      at(dag.stages.back(), {v(an), v(cb), v(y) * ir::int_imm(stride[0]) + v(kh),
                             v(x) * ir::int_imm(stride[1]) + v(kw), v(c)});
  dag.stages.push_back(make_stage("pool", {an, cb, y, x, c}, {kh, kw}, element, Combiner::Max));
  append_tail(dag, w);
  return dag;
}

ComputeDag packed_dense_dag(const OperatorCall& w) {
  const std::int64_t n = w.integer("batch"), in = w.integer("in_features") / kChannelBlock,
                     out = w.integer("out_features") / kChannelBlock;
  const double scale = 1 / std::sqrt(double(w.integer("in_features")));
  ComputeDag dag;
  const ir::Scalar type = w.scalar();
  dag.stages.push_back(make_operand(type, "input", {{"n", n}, {"kb", in}, {"k", kChannelBlock}},
                                    ir::Role::Input, kInputStream, 1));
  dag.stages.push_back(make_operand(
      type, "weight", {{"ob", out}, {"kb", in}, {"oc", kChannelBlock}, {"k", kChannelBlock}},
      ir::Role::Constant, kWeightStream, scale));
  const Axis an = make_axis("n", n), ob = make_axis("ob", out), oc = make_axis("oc", kChannelBlock),
             kb = make_axis("kb", in), k = make_axis("k", kChannelBlock);
  const auto v = [](const Axis& axis) { return ir::var_ref(axis.var); };
  dag.stages.push_back(make_stage("dense", {an, ob, oc}, {kb, k},
                                  product(at(dag.stages[0], {v(an), v(kb), v(k)}),
                                          at(dag.stages[1], {v(ob), v(kb), v(oc), v(k)}))));
  append_tail(dag, w, {"ob", "oc"});
  return dag;
}

}  // namespace fettle::space
