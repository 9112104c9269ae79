// The vectorise pass (vectorize.h).
#include "host/lower/vectorize.h"

#include <optional>
#include <unordered_map>

#include "host/ir/linear.h"
#include "host/ir/loads.h"
#include "host/ir/mutator.h"
#include "host/ir/simplify.h"

namespace fettle::lower {

namespace {

using ir::Expr;

struct Problem {
  std::string what;
};  // thrown inside this file only

// expr = base + stride * lane variable, with base free of it; empty: not affine.
struct Strided {
  Expr base;
  std::int64_t stride;
};

class Widen {
 public:
  Widen(ir::Var var, Expr min, int lanes)
      : var_(std::move(var)), min_(std::move(min)), lanes_(lanes) {}

  ir::Stmt widen(const ir::Stmt& stmt) {
    if (const auto* store = std::get_if<ir::Store>(&stmt->node)) {
      Expr predicate = store->predicate ? full(widen(store->predicate)) : nullptr;
      return ir::make_store(store->buffer, {index(store->indices)}, full(widen(store->value)),
                            predicate);
    }
    if (const auto* block = std::get_if<ir::Block>(&stmt->node)) {
      std::vector<ir::Stmt> stmts;
      for (const ir::Stmt& s : block->stmts) stmts.push_back(widen(s));
      return ir::make_block(std::move(stmts));
    }
    if (const auto* let = std::get_if<ir::Let>(&stmt->node)) {
      // What axes that the loop runs over together are at each lane: part of the indices.
      if (depends(let->value)) return widen(ir::substitute(let->body, {{let->var, let->value}}));
      return ir::make_let(let->var, let->value, widen(let->body));
    }
    throw Problem{"vectorised loop " + var_->name + " holds more than stores"};
  }

 private:
  bool depends(const Expr& e) const { return ir::mentions(e, var_); }

  Expr full(const Expr& e) const { return e->type.lanes == 1 ? ir::broadcast(e, lanes_) : e; }

  std::optional<Strided> strided(const Expr& e) const {
    if (!depends(e)) return Strided{e, 0};
    if (std::get_if<ir::VarRef>(&e->node)) return Strided{min_, 1};
    const auto* op = std::get_if<ir::Binary>(&e->node);
    if (!op) return std::nullopt;
    const auto a = strided(op->a), b = strided(op->b);
    if (!a || !b) return std::nullopt;
    if (op->op == ir::BinaryOp::Add) return Strided{a->base + b->base, a->stride + b->stride};
    if (op->op == ir::BinaryOp::Sub) return Strided{a->base - b->base, a->stride - b->stride};
    if (op->op == ir::BinaryOp::Mul) {
      if (const auto* c = ir::as_int(op->b)) return Strided{a->base * op->b, a->stride * *c};
      if (const auto* c = ir::as_int(op->a)) return Strided{op->a * b->base, b->stride * *c};
    }
    return std::nullopt;
  }

  // A vector index, also where it does not depend on the loop.
  Expr index(const std::vector<Expr>& indices) {
    if (indices.size() != 1) throw Problem{"vectorise runs after storage is flattened"};
    if (auto s = strided(indices[0])) return ir::ramp(s->base, s->stride, lanes_);
    if (auto s = stepped(indices[0])) return ir::ramp(s->base, s->stride, lanes_);
    return full(widen(indices[0]));
  }

  // The same by its value at each lane, where quotients and remainders of the loop's variable,
  // of which `strided` knows nothing, add up to steps of one length.
  std::optional<Strided> stepped(const Expr& e) const {
    std::optional<ir::Linear> first;
    std::int64_t stride = 0;
    for (int lane = 0; lane < lanes_; ++lane) {
      const Expr at = min_ + ir::int_imm(lane);
      auto value = ir::linear_of(ir::simplify(ir::substitute(e, {{var_, at}})));
      if (!value) return std::nullopt;
      if (!first) {
        first = std::move(value);
        continue;
      }
      value->add(*first, -1);
      if (lane == 1) stride = value->constant;
      if (!value->terms.empty() || value->constant != lane * stride) return std::nullopt;
    }
    return Strided{first->expr(), stride};
  }

  // A vector of elements that is read at each lane, one after the other: lane q / elements
  // reads element q % elements.
  Expr vectors_of(const ir::Load& load, int elements) const {
    const auto* ramp = std::get_if<ir::Ramp>(&load.indices[0]->node);
    if (!ramp || ramp->stride != 1 || load.predicate) {
      throw Problem{"nested vectors in loop " + var_->name};
    }
    const ir::Var q = ir::make_var(var_->name);
    const Expr lane = min_ + ir::binary(ir::BinaryOp::Div, ir::var_ref(q), ir::int_imm(elements)),
               element = ir::binary(ir::BinaryOp::Mod, ir::var_ref(q), ir::int_imm(elements)),
               index = ir::substitute(ramp->base, {{var_, lane}}) + element;
    const int all = lanes_ * elements;
    return ir::load(load.buffer, {Widen(q, ir::int_imm(0), all).index({index})}, nullptr, all);
  }

  // Scalar where the expression does not depend on the loop, else `lanes_` wide. What
  // expressions share is widened once.
  Expr widen(const Expr& e) {
    if (e.use_count() < 2) return widened(e);
    if (auto known = shared_.find(e); known != shared_.end()) return known->second;
    return shared_.emplace(e, widened(e)).first->second;
  }

  Expr widened(const Expr& e) {
    if (!depends(e)) return e;
    if (e->type.lanes != 1) throw Problem{"nested vectors in loop " + var_->name};
    if (e->type.is_int()) {
      if (auto s = strided(e)) return ir::ramp(s->base, s->stride, lanes_);
    }
    if (const auto* n = std::get_if<ir::Load>(&e->node)) {
      Expr predicate = n->predicate ? full(widen(n->predicate)) : nullptr;
      return ir::load(n->buffer, {index(n->indices)}, predicate, lanes_);
    }
    if (const auto* n = std::get_if<ir::Unary>(&e->node))
      return ir::unary(n->op, full(widen(n->a)));
    if (const auto* n = std::get_if<ir::Binary>(&e->node)) {
      return ir::binary(n->op, full(widen(n->a)), full(widen(n->b)));
    }
    if (const auto* n = std::get_if<ir::MulAdd>(&e->node)) {
      return ir::mul_add(full(widen(n->a)), full(widen(n->b)), full(widen(n->c)));
    }
    if (const auto* n = std::get_if<ir::Dot4>(&e->node)) {
      return ir::dot4(full(widen(n->a)), full(widen(n->b)), full(widen(n->c)), n->unsigned_a);
    }
    if (const auto* n = std::get_if<ir::Select>(&e->node)) {
      return ir::select(full(widen(n->condition)), full(widen(n->then_value)),
                        full(widen(n->else_value)));
    }
    if (const auto* n = std::get_if<ir::Cast>(&e->node)) {
      return ir::cast(e->type.with_lanes(lanes_), full(widen(n->value)));
    }
    if (const auto* n = std::get_if<ir::Reinterpret>(&e->node)) {
      const auto* load = std::get_if<ir::Load>(&n->value->node);
      if (load && n->value->type.lanes > 1) {
        return ir::reinterpret(e->type.with_lanes(lanes_), vectors_of(*load, n->value->type.lanes));
      }
      return ir::reinterpret(e->type.with_lanes(lanes_), full(widen(n->value)));
    }
    throw Problem{"an expression that cannot be vectorised in loop " + var_->name};
  }

  ir::Var var_;
  Expr min_;
  int lanes_;
  std::unordered_map<Expr, Expr> shared_;
};

class Vectorize : public ir::Mutator {
 public:
  using ir::Mutator::mutate;
  ir::Stmt mutate(const ir::Stmt& stmt) override {
    const auto* loop = stmt ? std::get_if<ir::For>(&stmt->node) : nullptr;
    if (!loop || loop->kind != ir::ForKind::Vectorized) return ir::Mutator::mutate(stmt);
    const std::int64_t* extent = ir::as_int(loop->extent);
    if (!extent || *extent < 1 || *extent > 1024) {
      throw Problem{"vectorised loop " + loop->var->name + " has no constant extent of 1 to 1024"};
    }
    if (*extent == 1) return mutate(ir::substitute(loop->body, {{loop->var, loop->min}}));
    return Widen(loop->var, loop->min, int(*extent)).widen(loop->body);
  }
};

}  // namespace

Result<ir::Stmt> vectorize(const ir::Stmt& stmt) {
  try {
    return Vectorize().mutate(stmt);
  } catch (const Problem& problem) {
    return Error{ErrorCode::InvalidArgument, problem.what};
  }
}

}  // namespace fettle::lower
