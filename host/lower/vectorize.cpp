// The vectorise pass (vectorize.h).
#include "host/lower/vectorize.h"

#include <optional>
#include <unordered_map>

#include "host/ir/affine.h"
#include "host/ir/intrinsics.h"
#include "host/ir/loads.h"
#include "host/ir/mutator.h"
#include "host/ir/simplify.h"
#include "host/ir/visit.h"

namespace fettle::lower {

namespace {

using ir::Expr;

struct Problem {
  std::string what;
};  // thrown inside this file only

class Widen {
 public:
  Widen(ir::Var var, Expr min, int lanes)
      : var_(std::move(var)), min_(std::move(min)), lanes_(lanes) {}

  ir::Stmt widen(const ir::Stmt& stmt) {
    return ir::visit(
        stmt,
        [&](const ir::Store& n) {
          Expr predicate = n.predicate ? full(widen(n.predicate)) : nullptr;
          return ir::make_store(n.buffer, {index(n.indices)}, full(widen(n.value)), predicate);
        },
        [&](const ir::Block& n) {
          std::vector<ir::Stmt> stmts;
          for (const ir::Stmt& s : n.stmts) stmts.push_back(widen(s));
          return ir::make_block(std::move(stmts));
        },
        [&](const ir::Let& n) {
          // What axes that the loop runs over together are at each lane: part of the indices.
          if (depends(n.value)) return widen(ir::substitute(n.body, {{n.var, n.value}}));
          return ir::make_let(n.var, n.value, widen(n.body));
        },
        [&](const ir::OneOf<ir::For, ir::IfThenElse, ir::Allocate, ir::Barrier, ir::TileCall,
                            ir::AsyncCopies, ir::AwaitCopies> auto&) -> ir::Stmt {
          throw Problem{"vectorised loop " + var_->name + " holds more than stores"};
        });
  }

 private:
  bool depends(const Expr& e) const { return ir::mentions(e, var_); }

  Expr full(const Expr& e) const { return e->type.lanes == 1 ? ir::broadcast(e, lanes_) : e; }

  std::optional<ir::Strided> strided(const Expr& e) const {
    return ir::strided_along(e, var_, min_);
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
  std::optional<ir::Strided> stepped(const Expr& e) const {
    std::optional<ir::Affine> first;
    std::int64_t stride = 0;
    for (int lane = 0; lane < lanes_; ++lane) {
      const Expr at = min_ + ir::int_imm(lane);
      auto value = ir::affine_of(ir::simplify(ir::substitute(e, {{var_, at}})));
      if (!value) return std::nullopt;
      if (!first) {
        first = std::move(value);
        continue;
      }
      value->add(*first, -1);
      if (lane == 1) stride = value->constant;
      if (!value->terms.empty() || value->constant != lane * stride) return std::nullopt;
    }
    return ir::Strided{first->expr(), stride};
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
    const auto wide = [&](const Expr& part) { return full(widen(part)); };
    const ir::DataType type = e->type.with_lanes(lanes_);
    return ir::visit(
        e,
        [&](const ir::Load& n) {
          Expr predicate = n.predicate ? wide(n.predicate) : nullptr;
          return ir::load(n.buffer, {index(n.indices)}, predicate, lanes_);
        },
        [&](const ir::Unary& n) { return ir::unary(n.op, wide(n.a)); },
        [&](const ir::Binary& n) { return ir::binary(n.op, wide(n.a), wide(n.b)); },
        [&](const ir::MulAdd& n) { return ir::mul_add(wide(n.a), wide(n.b), wide(n.c)); },
        [&](const ir::Intrinsic& n) {
          std::vector<Expr> args;
          for (const Expr& arg : n.args) args.push_back(wide(arg));
          return ir::intrinsic(*n.row, std::move(args));
        },
        [&](const ir::Select& n) {
          return ir::select(wide(n.condition), wide(n.then_value), wide(n.else_value));
        },
        [&](const ir::Cast& n) { return ir::cast(type, wide(n.value)); },
        [&](const ir::Reinterpret& n) {
          const auto* load = std::get_if<ir::Load>(&n.value->node);
          const int elements = n.value->type.lanes;
          return ir::reinterpret(
              type, load && elements > 1 ? vectors_of(*load, elements) : wide(n.value));
        },
        // Of one lane, so that nothing else depends on the loop.
        [&](const ir::OneOf<ir::IntImm, ir::FloatImm, ir::VarRef, ir::Ramp, ir::Broadcast> auto&)
            -> Expr {
          throw Problem{"an expression that cannot be vectorised in loop " + var_->name};
        });
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
