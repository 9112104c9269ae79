// From a stage's expressions to nodes (stage_program.h).
#include "host/space/stage_program.h"

#include <optional>
#include <utility>

#include "host/ir/affine.h"

namespace fettle::space {
namespace {

class StageCompiler {
 public:
  StageCompiler(const Stage& stage, const std::map<ir::Buffer, Tensor>& tensors)
      : stage_(stage), tensors_(tensors) {
    for (const Axis& axis : stage.axes) program_.loops.push_back(&axis);
    for (const Axis& axis : stage.reduce_axes) program_.loops.push_back(&axis);
    for (const Axis* axis : program_.loops) ranges_[axis->var] = {0, axis->extent - 1};
    program_.column_axis = int(stage.axes.size()) - 1;
    program_.length = stage.axes.back().extent;
  }

  Result<StageProgram> run() {
    auto root = compile(stage_.body);
    if (!root) return std::move(root).error();
    program_.root = *root;
    return std::move(program_);
  }

 private:
  Result<LoopForm> affine(const ir::Affine& linear) const {
    LoopForm out;
    out.coefficients.assign(program_.loops.size(), 0);
    out.constant = linear.constant;
    for (const auto& [var, coefficient] : linear.terms) {
      std::size_t i = 0;
      while (i < program_.loops.size() && program_.loops[i]->var != var) ++i;
      if (i == program_.loops.size())
        return refuse(stage_, "variable " + var->name + " is no axis of it");
      if (int(i) == program_.column_axis) {
        out.column = coefficient;
      } else {
        out.coefficients[i] = coefficient;
      }
    }
    return out;
  }

  Result<int> add(StageNode node) {
    node.buffer.resize(node.column ? program_.length : 1);
    program_.nodes.push_back(std::move(node));
    program_.nodes.back().values = program_.nodes.back().buffer.data();
    return int(program_.nodes.size()) - 1;
  }

  Result<int> compile(const ir::Expr& e) {
    StageNode node{StageNode::Kind::Constant};
    node.type = e->type;
    if (const auto* n = std::get_if<ir::FloatImm>(&e->node)) {
      auto id = add(std::move(node));
      program_.nodes[*id].buffer[0] = n->value;
      return id;
    }
    if (auto linear = e->type.is_int() ? ir::affine_of(e) : std::nullopt) {
      auto at = affine(*linear);
      if (!at) return std::move(at).error();
      node.kind = StageNode::Kind::Index;
      node.column = at->column != 0;
      node.at = std::move(*at);
      return add(std::move(node));
    }
    if (const auto* n = std::get_if<ir::Load>(&e->node)) return compile_load(*n);
    std::vector<ir::Expr> operands;
    if (const auto* n = std::get_if<ir::Unary>(&e->node)) {
      node.kind = StageNode::Kind::Unary;
      node.unary = n->op;
      operands = {n->a};
    } else if (const auto* n = std::get_if<ir::Binary>(&e->node)) {
      node.kind = StageNode::Kind::Binary;
      node.binary = n->op;
      operands = {n->a, n->b};
    } else if (const auto* n = std::get_if<ir::MulAdd>(&e->node)) {
      node.kind = StageNode::Kind::MulAdd;
      operands = {n->a, n->b, n->c};
    } else if (const auto* n = std::get_if<ir::Select>(&e->node)) {
      node.kind = StageNode::Kind::Select;
      operands = {n->condition, n->then_value, n->else_value};
    } else if (const auto* n = std::get_if<ir::Cast>(&e->node)) {
      node.kind = StageNode::Kind::Cast;
      operands = {n->value};
    } else if (const auto* n = std::get_if<ir::Reinterpret>(&e->node)) {
      node.kind = StageNode::Kind::Reinterpret;
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
      node.column |= program_.nodes[*id].column;
    }
    if (e == stage_.body && stage_.combiner == Combiner::Sum &&
        node.kind == StageNode::Kind::Binary && node.binary == ir::BinaryOp::Mul &&
        program_.nodes[node.a].column != program_.nodes[node.b].column) {
      program_.product = true;
      if (program_.nodes[node.a].column) std::swap(node.a, node.b);
    }
    return add(std::move(node));
  }

  Result<int> compile_load(const ir::Load& n) {
    auto tensor = tensors_.find(n.buffer);
    if (tensor == tensors_.end())
      return refuse(stage_, "reads " + n.buffer->name + " before it is computed");
    StageNode node{StageNode::Kind::Load};
    node.tensor = &tensor->second;
    ir::Affine flat;
    ir::Expr rest;  // what is added to it, which is not affine
    std::int64_t stride = n.buffer->elements();
    for (std::size_t d = 0; d < n.indices.size(); ++d) {
      const auto range = ir::index_bounds(n.indices[d], ranges_);
      if (!n.predicate && (range.low < 0 || range.high >= n.buffer->shape[d])) {
        return refuse(stage_, "index outside " + n.buffer->name);
      }
      stride /= n.buffer->shape[d];
      if (const auto linear = ir::affine_of(n.indices[d])) {
        flat.add(*linear, stride);
      } else {
        const ir::Expr part = n.indices[d] * ir::int_imm(stride, n.indices[d]->type);
        rest = rest ? rest + part : part;
      }
    }
    auto at = affine(flat);
    if (!at) return std::move(at).error();
    node.at = std::move(*at);
    node.column = node.at.column != 0;
    if (rest) {
      auto offset = compile(rest);
      if (!offset) return offset;
      node.a = *offset;
      node.column |= program_.nodes[*offset].column;
    }
    if (n.predicate) {
      auto predicate = compile(n.predicate);
      if (!predicate) return predicate;
      node.c = *predicate;
      node.column |= program_.nodes[*predicate].column;
    }
    return add(std::move(node));
  }

  const Stage& stage_;
  const std::map<ir::Buffer, Tensor>& tensors_;
  ir::Ranges ranges_;
  StageProgram program_;
};

}  // namespace

Error refuse(const Stage& stage, const std::string& what) {
  return Error{ErrorCode::Unsupported, "reference evaluator: stage " + stage.name + ": " + what};
}

Result<StageProgram> compile_stage(const Stage& stage,
                                   const std::map<ir::Buffer, Tensor>& tensors) {
  return StageCompiler(stage, tensors).run();
}

}  // namespace fettle::space
