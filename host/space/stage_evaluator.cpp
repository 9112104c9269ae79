// The nodes of a stage run one column at a time (stage_evaluator.h).
#include "host/space/stage_evaluator.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "host/ir/affine.h"
#include "host/space/reference_arithmetic.h"
#include "host/space/stage_program.h"

namespace fettle::space {
namespace {

// to += factor * values, of which nearly all of a convolution's time is. Four at once where the CPU
// can: products are rounded by themselves in both, so the sums are the same.
void add_products_anywhere(double* to, double factor, const double* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] += factor * values[i];
}
#if defined(__x86_64__)
[[gnu::target("avx2")]] void add_products_wide(double* to, double factor, const double* values,
                                               std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] += factor * values[i];
}
const auto add_products =
    __builtin_cpu_supports("avx2") ? add_products_wide : add_products_anywhere;
#else
constexpr auto add_products = add_products_anywhere;
#endif

class StageEvaluator {
 public:
  StageEvaluator(const Stage& stage, StageProgram program)
      : stage_(stage), program_(std::move(program)) {}

  Result<Tensor> run(const std::stop_token& stop) {
    const double begin = stage_.reduce_axes.empty() ? 0 : neutral();
    Tensor out(stage_.buffer->elements(), begin);
    std::vector<std::int64_t> at(program_.loops.size(), 0);
    const std::int64_t columns = stage_.buffer->elements() / program_.length;
    for (std::int64_t column = 0; column < columns; ++column) {
      double* to = out.data() + column * program_.length;
      std::int64_t rest = column;
      for (int d = program_.column_axis - 1; d >= 0; --d) {
        at[d] = rest % program_.loops[d]->extent;
        rest /= program_.loops[d]->extent;
      }
      do {
        for (StageNode& node : program_.nodes) evaluate(node, at);
        accumulate(to);
      } while (!stop.stop_requested() && next_reduction(at));
      if (stop.stop_requested()) return Error{ErrorCode::Canceled, "stopped", {}};
      if (stage_.body->type.is_int()) {
        for (std::int64_t i = 0; i < program_.length; ++i) {
          to[i] = reference::held(to[i], stage_.body->type);
        }
      }
    }
    if (!stage_.store_at.empty()) return stored(out);
    return out;
  }

 private:
  // The values in the order of the axes, at the places where the stage stores them.
  Result<Tensor> stored(const Tensor& values) const {
    ir::Affine flat;
    for (std::size_t d = 0; d < stage_.store_at.size(); ++d) {
      auto linear = ir::affine_of(stage_.store_at[d]);
      if (!linear) return refuse(stage_, "a place that is not affine");
      ir::Affine scaled;
      scaled.add(flat, stage_.buffer->shape[d]);
      scaled.add(*linear);
      flat = std::move(scaled);
    }
    Tensor out(values.size(), std::nan(""));
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::int64_t to = flat.constant;
      auto rest = std::int64_t(i);
      for (std::size_t d = stage_.axes.size(); d-- > 0;) {
        to += flat.coefficient(stage_.axes[d].var) * (rest % stage_.axes[d].extent);
        rest /= stage_.axes[d].extent;
      }
      if (to < 0 || to >= std::int64_t(out.size())) return refuse(stage_, "a place outside of it");
      out[std::size_t(to)] = values[i];
    }
    return out;
  }

  bool next_reduction(std::vector<std::int64_t>& at) const {
    for (int d = int(program_.loops.size()) - 1; d > program_.column_axis; --d) {
      if (++at[d] < program_.loops[d]->extent) return true;
      at[d] = 0;
    }
    return false;
  }

  double neutral() const {
    const ir::Expr value = neutral_of(stage_.combiner, stage_.body->type);
    const auto* real = std::get_if<ir::FloatImm>(&value->node);
    return real ? real->value : double(*ir::as_int(value));
  }

  // Products of a number and a column are added without a column of their own.
  void accumulate(double* to) const {
    const StageNode& root = program_.nodes[program_.root];
    if (stage_.combiner != Combiner::Sum && !stage_.reduce_axes.empty()) {
      const bool max = stage_.combiner == Combiner::Max;
      const std::int64_t step = root.column ? 1 : 0;
      for (std::int64_t i = 0; i < program_.length; ++i) {
        const double value = root.values[i * step];
        to[i] = reference::apply(max ? ir::BinaryOp::Max : ir::BinaryOp::Min, to[i], value);
      }
      return;
    }
    if (program_.product) {
      const StageNode& scalar = program_.nodes[program_.nodes[program_.root].a];
      const double* values = program_.nodes[program_.nodes[program_.root].b].values;
      const double factor = *scalar.values;
      add_products(to, factor, values, program_.length);
    } else if (root.column) {
      for (std::int64_t i = 0; i < program_.length; ++i) to[i] += root.values[i];
    } else {
      for (std::int64_t i = 0; i < program_.length; ++i) to[i] += *root.values;
    }
  }

  void evaluate(StageNode& n, const std::vector<std::int64_t>& at) {
    const std::int64_t count = n.column ? program_.length : 1;
    switch (n.kind) {
      case StageNode::Kind::Constant:
        return;
      case StageNode::Kind::Index: {
        const std::int64_t base = n.at.value(at);
        for (std::int64_t i = 0; i < count; ++i)
          n.buffer[i] = reference::held(double(base + i * n.at.column), n.type);
        return;
      }
      case StageNode::Kind::Load:
        return evaluate_load(n, n.at.value(at), count);
      case StageNode::Kind::Unary: {
        const double* a = program_.nodes[n.a].values;
        for (std::int64_t i = 0; i < count; ++i)
          n.buffer[i] = reference::held(reference::apply(n.unary, a[i]), n.type);
        return;
      }
      case StageNode::Kind::Cast: {
        const double* a = program_.nodes[n.a].values;
        for (std::int64_t i = 0; i < count; ++i)
          n.buffer[i] = reference::converted(a[i], n.operand, n.type);
        return;
      }
      case StageNode::Kind::Reinterpret: {
        const double* a = program_.nodes[n.a].values;
        for (std::int64_t i = 0; i < count; ++i)
          n.buffer[i] = reference::same_bits(a[i], n.operand, n.type);
        return;
      }
      case StageNode::Kind::Binary:
        if (program_.product && &n == &program_.nodes[program_.root]) return;  // see accumulate()
        return evaluate_binary(n, count);
      case StageNode::Kind::MulAdd:
      case StageNode::Kind::Select: {
        const std::int64_t sa = step(n.a), sb = step(n.b), sc = step(n.c);
        const double *a = program_.nodes[n.a].values, *b = program_.nodes[n.b].values,
                     *c = program_.nodes[n.c].values;
        for (std::int64_t i = 0; i < count; ++i) {
          n.buffer[i] = n.kind == StageNode::Kind::MulAdd
                            ? reference::held(a[i * sa] * b[i * sb] + c[i * sc], n.type)
                        : a[i * sa] != 0 ? b[i * sb]
                                         : c[i * sc];
        }
        return;
      }
    }
  }

  std::int64_t step(int node) const { return program_.nodes[node].column ? 1 : 0; }

  void evaluate_binary(StageNode& n, std::int64_t count) {
    const std::int64_t sa = step(n.a), sb = step(n.b);
    const double *a = program_.nodes[n.a].values, *b = program_.nodes[n.b].values;
    double* to = n.buffer.data();
    if (n.operand.is_int()) {
      for (std::int64_t i = 0; i < count; ++i)
        to[i] = reference::apply_int(n.binary, a[i * sa], b[i * sb], n.operand.scalar);
    } else if (n.binary == ir::BinaryOp::Mul) {
      for (std::int64_t i = 0; i < count; ++i) to[i] = a[i * sa] * b[i * sb];
    } else if (n.binary == ir::BinaryOp::Add) {
      for (std::int64_t i = 0; i < count; ++i) to[i] = a[i * sa] + b[i * sb];
    } else {
      for (std::int64_t i = 0; i < count; ++i)
        to[i] = reference::apply(n.binary, a[i * sa], b[i * sb]);
    }
  }

  void evaluate_load(StageNode& n, std::int64_t base, std::int64_t count) {
    const double* from = n.tensor->data();
    if (n.a >= 0) return evaluate_gather(n, base, count);
    if (n.c < 0) {
      if (!n.column || n.at.column == 1) {
        n.values = from + base;  // in place
        return;
      }
      for (std::int64_t i = 0; i < count; ++i) n.buffer[i] = from[base + i * n.at.column];
      return;
    }
    const double* on = program_.nodes[n.c].values;
    const std::int64_t on_step = step(n.c), size = std::int64_t(n.tensor->size());
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t element = base + i * n.at.column;
      // A wrong predicate must not read outside; it shows as NaN in the output.
      n.buffer[i] = on[i * on_step] == 0             ? 0
                    : element >= 0 && element < size ? from[element]
                                                     : std::nan("");
    }
  }

  // At elements that are computed.
  void evaluate_gather(StageNode& n, std::int64_t base, std::int64_t count) {
    const double* offset = program_.nodes[n.a].values;
    const double* on = n.c < 0 ? nullptr : program_.nodes[n.c].values;
    const std::int64_t offset_step = step(n.a), on_step = on ? step(n.c) : 0;
    const auto size = static_cast<double>(n.tensor->size());
    for (std::int64_t i = 0; i < count; ++i) {
      const double element = static_cast<double>(base + i * n.at.column) + offset[i * offset_step];
      const bool inside = element >= 0 && element < size;
      n.buffer[i] = on && on[i * on_step] == 0 ? 0
                    : inside                   ? (*n.tensor)[static_cast<std::size_t>(element)]
                                               : std::nan("");
    }
  }

  const Stage& stage_;
  StageProgram program_;
};

}  // namespace

Result<Tensor> evaluate_stage(const Stage& stage, const std::map<ir::Buffer, Tensor>& tensors,
                              const std::stop_token& stop) {
  auto program = compile_stage(stage, tensors);
  if (!program) return std::move(program).error();
  return StageEvaluator(stage, std::move(*program)).run(stop);
}

}  // namespace fettle::space
