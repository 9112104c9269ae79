// The reference evaluator (reference.h). A stage is computed one column at a
// time: every node of its body yields the values along the innermost data axis,
// or a single value where it does not depend on that axis.
#include "host/space/reference.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "host/ir/affine.h"
#include "host/ir/fold.h"
#include "host/space/tensor.h"
#include "host/space/wire_types.h"
#include "schemas/fill/fill.h"

namespace fettle::space {

namespace {

// A linear form over the loops of one evaluation, by loop number.
struct Affine {
  std::vector<std::int64_t> coefficients;
  std::int64_t constant = 0;
  std::int64_t column = 0;  // coefficient of the column axis

  std::int64_t value(const std::vector<std::int64_t>& loops) const {
    std::int64_t sum = constant;
    for (std::size_t i = 0; i < coefficients.size(); ++i) sum += coefficients[i] * loops[i];
    return sum;
  }
};

struct Node {
  enum class Kind { Constant, Index, Load, Unary, Binary, MulAdd, Select, Cast, Reinterpret } kind;
  ir::UnaryOp unary{};
  ir::BinaryOp binary{};
  ir::DataType type{}, operand{};  // of the value, and of what it is computed from
  int a = -1, b = -1, c = -1;      // operands: earlier nodes
  bool column = false;             // one value per element of the column, else one
  const Tensor* tensor = nullptr;  // Load: predicate is operand c
  Affine at;                       // Load: flat element; Index: the value
  std::vector<double> buffer;      // where values are computed
  const double* values = nullptr;
};

double apply(ir::BinaryOp op, double x, double y) {
  switch (op) {
    case ir::BinaryOp::Add:
      return x + y;
    case ir::BinaryOp::Sub:
      return x - y;
    case ir::BinaryOp::Mul:
      return x * y;
    case ir::BinaryOp::Div:
      return x / y;
    case ir::BinaryOp::Min:
      return std::min(x, y);
    case ir::BinaryOp::Max:
      return std::max(x, y);
    case ir::BinaryOp::And:
      return x != 0 && y != 0;
    case ir::BinaryOp::Or:
      return x != 0 || y != 0;
    case ir::BinaryOp::Eq:
      return x == y;
    case ir::BinaryOp::Ne:
      return x != y;
    case ir::BinaryOp::Lt:
      return x < y;
    case ir::BinaryOp::Le:
      return x <= y;
    default:
      return 0;  // integers only: apply_int()
  }
}

// Integers up to 2^53 are exact in a double.
double apply_int(ir::BinaryOp op, double x, double y, ir::Scalar scalar) {
  const auto value =
      ir::fold_int(op, static_cast<std::int64_t>(x), static_cast<std::int64_t>(y), scalar);
  return value ? double(*value) : std::nan("");
}

double converted(double x, ir::DataType from, ir::DataType to) {
  if (to.is_float()) return x;  // values of float types stay unrounded
  if (from.is_float()) x = std::trunc(x);
  if (!(std::fabs(x) < 9.2e18)) return std::nan("");
  return double(ir::wrap(static_cast<std::int64_t>(x), to.scalar));
}

// Between int32 and float32.
double same_bits(double x, ir::DataType to) {
  if (to.is_float()) return std::bit_cast<float>(static_cast<std::int32_t>(x));
  return std::bit_cast<std::int32_t>(static_cast<float>(x));
}

double apply(ir::UnaryOp op, double x) {
  switch (op) {
    case ir::UnaryOp::Neg:
      return -x;
    case ir::UnaryOp::Not:
      return x == 0;
    case ir::UnaryOp::Sqrt:
      return std::sqrt(x);
    case ir::UnaryOp::Floor:
      return std::floor(x);
    case ir::UnaryOp::Abs:
      return std::fabs(x);
  }
  return 0;
}

Error refuse(const Stage& stage, const std::string& what) {
  return Error{ErrorCode::Unsupported, "reference evaluator: stage " + stage.name + ": " + what};
}

class StageEvaluator {
 public:
  StageEvaluator(const Stage& stage, const std::map<ir::Buffer, Tensor>& tensors)
      : stage_(stage), tensors_(tensors) {
    for (const Axis& axis : stage.axes) loops_.push_back(&axis);
    for (const Axis& axis : stage.reduce_axes) loops_.push_back(&axis);
    for (const Axis* axis : loops_) ranges_[axis->var] = {0, axis->extent - 1};
    column_axis_ = int(stage.axes.size()) - 1;
    length_ = stage.axes.back().extent;
  }

  Result<Tensor> run(const std::stop_token& stop) {
    auto root = compile(stage_.body);
    if (!root) return std::move(root).error();
    root_ = *root;
    const double begin = stage_.reduce_axes.empty() ? 0 : neutral();
    Tensor out(stage_.buffer->elements(), begin);
    std::vector<std::int64_t> at(loops_.size(), 0);
    const std::int64_t columns = stage_.buffer->elements() / length_;
    for (std::int64_t column = 0; column < columns; ++column) {
      double* to = out.data() + column * length_;
      std::int64_t rest = column;
      for (int d = column_axis_ - 1; d >= 0; --d) {
        at[d] = rest % loops_[d]->extent;
        rest /= loops_[d]->extent;
      }
      do {
        for (Node& node : nodes_) evaluate(node, at);
        accumulate(to);
      } while (!stop.stop_requested() && next_reduction(at));
      if (stop.stop_requested()) return Error{ErrorCode::Canceled, "stopped", {}};
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
    for (int d = int(loops_.size()) - 1; d > column_axis_; --d) {
      if (++at[d] < loops_[d]->extent) return true;
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
    const Node& root = nodes_[root_];
    if (stage_.combiner != Combiner::Sum && !stage_.reduce_axes.empty()) {
      const bool max = stage_.combiner == Combiner::Max;
      const std::int64_t step = root.column ? 1 : 0;
      for (std::int64_t i = 0; i < length_; ++i) {
        const double value = root.values[i * step];
        to[i] = max ? std::max(to[i], value) : std::min(to[i], value);
      }
      return;
    }
    if (product_) {
      const Node& scalar = nodes_[nodes_[root_].a];
      const double* values = nodes_[nodes_[root_].b].values;
      const double factor = *scalar.values;
      for (std::int64_t i = 0; i < length_; ++i) to[i] += factor * values[i];
    } else if (root.column) {
      for (std::int64_t i = 0; i < length_; ++i) to[i] += root.values[i];
    } else {
      for (std::int64_t i = 0; i < length_; ++i) to[i] += *root.values;
    }
  }

  Result<Affine> affine(const ir::Affine& linear) const {
    Affine out;
    out.coefficients.assign(loops_.size(), 0);
    out.constant = linear.constant;
    for (const auto& [var, coefficient] : linear.terms) {
      std::size_t i = 0;
      while (i < loops_.size() && loops_[i]->var != var) ++i;
      if (i == loops_.size()) return refuse(stage_, "variable " + var->name + " is no axis of it");
      if (int(i) == column_axis_) {
        out.column = coefficient;
      } else {
        out.coefficients[i] = coefficient;
      }
    }
    return out;
  }

  Result<int> add(Node node) {
    node.buffer.resize(node.column ? length_ : 1);
    nodes_.push_back(std::move(node));
    nodes_.back().values = nodes_.back().buffer.data();
    return int(nodes_.size()) - 1;
  }

  Result<int> compile(const ir::Expr& e) {
    Node node{Node::Kind::Constant};
    node.type = e->type;
    if (const auto* n = std::get_if<ir::FloatImm>(&e->node)) {
      auto id = add(std::move(node));
      nodes_[*id].buffer[0] = n->value;
      return id;
    }
    if (auto linear = e->type.is_int() ? ir::affine_of(e) : std::nullopt) {
      auto at = affine(*linear);
      if (!at) return std::move(at).error();
      node.kind = Node::Kind::Index;
      node.column = at->column != 0;
      node.at = std::move(*at);
      return add(std::move(node));
    }
    if (const auto* n = std::get_if<ir::Load>(&e->node)) return compile_load(*n);
    std::vector<ir::Expr> operands;
    if (const auto* n = std::get_if<ir::Unary>(&e->node)) {
      node.kind = Node::Kind::Unary;
      node.unary = n->op;
      operands = {n->a};
    } else if (const auto* n = std::get_if<ir::Binary>(&e->node)) {
      node.kind = Node::Kind::Binary;
      node.binary = n->op;
      operands = {n->a, n->b};
    } else if (const auto* n = std::get_if<ir::MulAdd>(&e->node)) {
      node.kind = Node::Kind::MulAdd;
      operands = {n->a, n->b, n->c};
    } else if (const auto* n = std::get_if<ir::Select>(&e->node)) {
      node.kind = Node::Kind::Select;
      operands = {n->condition, n->then_value, n->else_value};
    } else if (const auto* n = std::get_if<ir::Cast>(&e->node)) {
      node.kind = Node::Kind::Cast;
      operands = {n->value};
    } else if (const auto* n = std::get_if<ir::Reinterpret>(&e->node)) {
      node.kind = Node::Kind::Reinterpret;
      operands = {n->value};
    } else {
      return refuse(stage_, "an expression it does not know");
    }
    node.operand = operands[0]->type;
    int* slots[] = {&node.a, &node.b, &node.c};
    for (std::size_t i = 0; i < operands.size(); ++i) {
      auto id = compile(operands[i]);
      if (!id) return id;
      *slots[i] = *id;
      node.column |= nodes_[*id].column;
    }
    if (e == stage_.body && stage_.combiner == Combiner::Sum && node.kind == Node::Kind::Binary &&
        node.binary == ir::BinaryOp::Mul && nodes_[node.a].column != nodes_[node.b].column) {
      product_ = true;
      if (nodes_[node.a].column) std::swap(node.a, node.b);
    }
    return add(std::move(node));
  }

  Result<int> compile_load(const ir::Load& n) {
    auto tensor = tensors_.find(n.buffer);
    if (tensor == tensors_.end())
      return refuse(stage_, "reads " + n.buffer->name + " before it is computed");
    Node node{Node::Kind::Load};
    node.tensor = &tensor->second;
    ir::Affine flat;
    for (std::size_t d = 0; d < n.indices.size(); ++d) {
      auto linear = ir::affine_of(n.indices[d]);
      if (!linear) return refuse(stage_, "index of " + n.buffer->name + " is not affine");
      const auto range = ir::bounds_of(n.indices[d], ranges_);
      if (!n.predicate && (!range || range->low < 0 || range->high >= n.buffer->shape[d])) {
        return refuse(stage_, "index outside " + n.buffer->name);
      }
      ir::Affine scaled;
      scaled.add(flat, n.buffer->shape[d]);
      scaled.add(*linear);
      flat = std::move(scaled);
    }
    auto at = affine(flat);
    if (!at) return std::move(at).error();
    node.at = std::move(*at);
    node.column = node.at.column != 0;
    if (n.predicate) {
      auto predicate = compile(n.predicate);
      if (!predicate) return predicate;
      node.c = *predicate;
      node.column |= nodes_[*predicate].column;
    }
    return add(std::move(node));
  }

  void evaluate(Node& n, const std::vector<std::int64_t>& at) {
    const std::int64_t count = n.column ? length_ : 1;
    switch (n.kind) {
      case Node::Kind::Constant:
        return;
      case Node::Kind::Index: {
        const std::int64_t base = n.at.value(at);
        for (std::int64_t i = 0; i < count; ++i) n.buffer[i] = double(base + i * n.at.column);
        return;
      }
      case Node::Kind::Load:
        return evaluate_load(n, n.at.value(at), count);
      case Node::Kind::Unary: {
        const double* a = nodes_[n.a].values;
        for (std::int64_t i = 0; i < count; ++i) n.buffer[i] = apply(n.unary, a[i]);
        return;
      }
      case Node::Kind::Cast: {
        const double* a = nodes_[n.a].values;
        for (std::int64_t i = 0; i < count; ++i) n.buffer[i] = converted(a[i], n.operand, n.type);
        return;
      }
      case Node::Kind::Reinterpret: {
        const double* a = nodes_[n.a].values;
        for (std::int64_t i = 0; i < count; ++i) n.buffer[i] = same_bits(a[i], n.type);
        return;
      }
      case Node::Kind::Binary:
        if (product_ && &n == &nodes_[root_]) return;  // see accumulate()
        return evaluate_binary(n, count);
      case Node::Kind::MulAdd:
      case Node::Kind::Select: {
        const std::int64_t sa = step(n.a), sb = step(n.b), sc = step(n.c);
        const double *a = nodes_[n.a].values, *b = nodes_[n.b].values, *c = nodes_[n.c].values;
        for (std::int64_t i = 0; i < count; ++i) {
          n.buffer[i] = n.kind == Node::Kind::MulAdd ? a[i * sa] * b[i * sb] + c[i * sc]
                        : a[i * sa] != 0             ? b[i * sb]
                                                     : c[i * sc];
        }
        return;
      }
    }
  }

  std::int64_t step(int node) const { return nodes_[node].column ? 1 : 0; }

  void evaluate_binary(Node& n, std::int64_t count) {
    const std::int64_t sa = step(n.a), sb = step(n.b);
    const double *a = nodes_[n.a].values, *b = nodes_[n.b].values;
    double* to = n.buffer.data();
    if (n.operand.is_int()) {
      for (std::int64_t i = 0; i < count; ++i)
        to[i] = apply_int(n.binary, a[i * sa], b[i * sb], n.operand.scalar);
    } else if (n.binary == ir::BinaryOp::Mul) {
      for (std::int64_t i = 0; i < count; ++i) to[i] = a[i * sa] * b[i * sb];
    } else if (n.binary == ir::BinaryOp::Add) {
      for (std::int64_t i = 0; i < count; ++i) to[i] = a[i * sa] + b[i * sb];
    } else {
      for (std::int64_t i = 0; i < count; ++i) to[i] = apply(n.binary, a[i * sa], b[i * sb]);
    }
  }

  void evaluate_load(Node& n, std::int64_t base, std::int64_t count) {
    const double* from = n.tensor->data();
    if (n.c < 0) {
      if (!n.column || n.at.column == 1) {
        n.values = from + base;  // in place
        return;
      }
      for (std::int64_t i = 0; i < count; ++i) n.buffer[i] = from[base + i * n.at.column];
      return;
    }
    const double* on = nodes_[n.c].values;
    const std::int64_t on_step = step(n.c), size = std::int64_t(n.tensor->size());
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t element = base + i * n.at.column;
      // A wrong predicate must not read outside; it shows as NaN in the output.
      n.buffer[i] = on[i * on_step] == 0             ? 0
                    : element >= 0 && element < size ? from[element]
                                                     : std::nan("");
    }
  }

  const Stage& stage_;
  const std::map<ir::Buffer, Tensor>& tensors_;
  std::vector<const Axis*> loops_;  // data axes, then reduce axes
  ir::Ranges ranges_;
  int column_axis_ = 0, root_ = 0;
  std::int64_t length_ = 1;
  std::vector<Node> nodes_;  // operands before users
  bool product_ = false;     // the root is number * column
};

}  // namespace

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

Result<std::vector<ExpectedTensor>> evaluate(const ComputeDag& dag, const std::stop_token& stop) {
  std::map<ir::Buffer, Tensor> tensors;
  std::vector<ExpectedTensor> outputs;
  for (const Stage& stage : dag.stages) {
    if (stage.placeholder()) {
      auto bytes = filled(stage.buffer, stage.fill);
      if (!bytes) return std::move(bytes).error();
      auto tensor = to_doubles(*bytes, stage.buffer->type);
      if (!tensor) return std::move(tensor).error().in("reference evaluator: stage " + stage.name);
      tensors[stage.buffer] = std::move(*tensor);
      continue;
    }
    auto computed = StageEvaluator(stage, tensors).run(stop);
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
