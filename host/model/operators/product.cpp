// Products of matrices.
#include "host/model/operators/sums.h"

namespace fettle::model {
namespace {

Result<Written> matmul(const NodeCall& call) {
  const auto as_it_is = [](const ir::Expr& x, const auto&) { return widened(x); };
  auto out = matrix_sums(call, false, as_it_is, as_it_is);
  if (out && out->stage.buffer->type.scalar != call.scalar(0)) {
    const auto axes = axes_of(out->shape);
    out->stage = call.add("value", axes, {},
                          narrowed(space::at(out->stage, indices_of(axes)), call.scalar(0)));
  }
  return out;
}

// alpha A B + beta C, A and B transposed where the attributes say so, C broadcast.
Result<Written> gemm(const NodeCall& call) {
  const Shape &a = call.shape(0), &b = call.shape(1);
  if (a.size() != 2 || b.size() != 2) return invalid("an input is no matrix");
  const bool flip_a = call.integer("transA"), flip_b = call.integer("transB");
  const std::int64_t rows = a[flip_a], length = a[!flip_a], columns = b[!flip_b];
  if (b[flip_b] != length) return invalid("its matrices do not fit");
  const auto axes = axes_of({rows, columns});
  const space::Axis k = space::make_axis("k", length);
  const auto m = ir::var_ref(axes[0].var), n = ir::var_ref(axes[1].var), at = ir::var_ref(k.var);
  const space::Stage sums =
      call.add("product", axes, {k},
               widened(element(call, 0, flip_a ? std::vector{at, m} : std::vector{m, at})) *
                   widened(element(call, 1, flip_b ? std::vector{n, at} : std::vector{at, n})));
  const auto out_axes = axes_of({rows, columns});
  ir::Expr value = space::at(sums, indices_of(out_axes));
  const auto times = [&](const ir::Expr& x, double factor) -> Result<ir::Expr> {
    if (factor == 1) return x;
    if (x->type != ir::kFloat32) return unsupported("a factor of " + ir::to_string(x->type));
    return x * ir::float_imm(factor);
  };
  auto product = times(value, call.number("alpha"));
  if (!product) return std::move(product).error();
  value = *product;
  if (call.has(2)) {
    auto shape = broadcast({{rows, columns}, call.shape(2)});
    if (!shape || *shape != Shape{rows, columns}) return invalid("its third input does not fit");
    auto added = times(widened(broadcast_element(call, 2, out_axes)), call.number("beta"));
    if (!added) return std::move(added).error();
    value = value + *added;
  }
  return written(call.add("value", out_axes, {}, narrowed(value, call.scalar(0))));
}

constexpr Operator kProduct[] = {
    {"MatMul", 2, 2, matmul, nullptr, Takes::Same},
    {"Gemm", 2, 3, gemm, nullptr, Takes::Same},
};

}  // namespace

std::span<const Operator> product_operators() { return kProduct; }

Result<Written> matrix_sums(const NodeCall& call, bool transposed, const Taken& left,
                            const Taken& right) {
  const Shape& a = call.shape(0);
  Shape b = call.shape(1);
  if (a.empty() || b.empty()) return invalid("an input is a scalar");
  const bool row = a.size() == 1, column = b.size() == 1;
  if (transposed && !column) std::swap(b.back(), b[b.size() - 2]);
  const std::int64_t length = a.back();
  if (length != (column ? b[0] : b[b.size() - 2])) {
    return invalid("its matrices do not fit: " + std::to_string(length) + " columns, " +
                   std::to_string(column ? b[0] : b[b.size() - 2]) + " rows");
  }
  const Shape batch_a(a.begin(), row ? a.end() - 1 : a.end() - 2);
  const Shape batch_b(b.begin(), column ? b.end() - 1 : b.end() - 2);
  auto shape = broadcast({batch_a, batch_b});
  if (!shape) return std::move(shape).error();
  const std::size_t batches = shape->size();
  if (!row) shape->push_back(a[a.size() - 2]);
  if (!column) shape->push_back(b.back());
  const auto axes = axes_of(*shape);
  const space::Axis k = space::make_axis("k", length);
  const auto indices = [&](const Shape& batch) {
    std::vector<ir::Expr> at;
    for (std::size_t d = 0; d < batch.size(); ++d) {
      at.push_back(batch[d] == 1 ? ir::int_imm(0)
                                 : ir::var_ref(axes[batches - batch.size() + d].var));
    }
    return at;
  };
  auto at_a = indices(batch_a), at_b = indices(batch_b);
  if (!row) at_a.push_back(ir::var_ref(axes[batches].var));
  at_a.push_back(ir::var_ref(k.var));
  at_b.push_back(ir::var_ref(k.var));
  if (!column) at_b.push_back(ir::var_ref(axes[batches + !row].var));
  if (transposed && !column) std::swap(at_b.back(), at_b[at_b.size() - 2]);
  const ir::Expr product = left(element(call, 0, at_a), at_a) * right(element(call, 1, at_b), at_b);
  return Written{call.add("product", axes, {k}, product), *shape};
}

}  // namespace fettle::model
