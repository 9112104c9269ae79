// Mistakes in programs of GPUs (gpu_mutations.h).
#include "tests/property/gpu_mutations.h"

#include <vector>

#include "host/ir/loads.h"
#include "host/ir/mutator.h"

namespace fettle::property {
namespace {

using ir::Expr;
using ir::Stmt;

// Of what a block stages: stores into memory that it shares, and copies that a thread keeps for it.
bool staging_store(const Stmt& stmt) {
  const auto* store = std::get_if<ir::Store>(&stmt->node);
  if (!store) return false;
  const auto* copied = std::get_if<ir::Load>(&store->value->node);
  return store->buffer->scope == ir::Scope::BlockShared ||
         (store->buffer->scope == ir::Scope::Register && copied &&
          copied->buffer->scope == ir::Scope::Global);
}

// Makes the mistake in the place that it counts to; with a place below zero it counts them all.
class Mutate : public ir::Mutator {
 public:
  Mutate(GpuMistake mistake, int place) : mistake_(mistake), left_(place) {}
  using ir::Mutator::mutate;
  int found = 0;
  int left() const { return left_; }

  Stmt mutate(const Stmt& stmt) override {
    if (!stmt) return stmt;
    if (mistake_ == GpuMistake::DroppedWait &&
        std::holds_alternative<ir::AwaitCopies>(stmt->node) && here()) {
      return ir::make_block({});
    }
    if (const auto* let = std::get_if<ir::Let>(&stmt->node);
        let && mistake_ == GpuMistake::WrongStage && turn(let->value) && here()) {
      const ir::Binary& rest = *turn(let->value);
      const Expr other = ir::binary(ir::BinaryOp::Mod, rest.a + ir::int_imm(1), rest.b);
      return ir::make_let(let->var, other, let->body);
    }
    const auto* loop = std::get_if<ir::For>(&stmt->node);
    if (mistake_ == GpuMistake::DroppedBarrier && std::holds_alternative<ir::Barrier>(stmt->node) &&
        here()) {
      return ir::make_block({});
    }
    if (loop && loop->kind == ir::ForKind::Serial) serial_.push_back(loop->var);
    if (loop && ir::within_block(loop->axis)) threads_.push_back({loop->var, loop->extent});
    Stmt out;
    if (mistake_ == GpuMistake::SwappedAxis && loop && loop->axis == ir::ThreadAxis::ThreadX &&
        other_axis(*loop) && tells_apart(*loop) && here()) {
      out = ir::make_for(loop->var, loop->min, loop->extent, loop->kind,
                         ir::substitute(loop->body, {{loop->var, *other_axis(*loop)}}), loop->axis);
    } else if (const auto* branch = std::get_if<ir::IfThenElse>(&stmt->node);
               branch && guards() && less(branch->condition) && here()) {
      out = ir::make_if(moved(*less(branch->condition)), branch->then_stmt, branch->else_stmt);
    } else if (mistake_ == GpuMistake::StaleTile && !serial_.empty() && staging_store(stmt) &&
               ir::mentions(std::get<ir::Store>(stmt->node).value, serial_.back()) && here()) {
      const auto& store = std::get<ir::Store>(stmt->node);
      const Expr before = ir::binary(ir::BinaryOp::Max,
                                     ir::var_ref(serial_.back()) - ir::int_imm(1), ir::int_imm(0));
      out =
          ir::make_store(store.buffer, store.indices,
                         ir::substitute(store.value, {{serial_.back(), before}}), store.predicate);
    } else {
      out = ir::Mutator::mutate(stmt);
    }
    if (loop && loop->kind == ir::ForKind::Serial) serial_.pop_back();
    if (loop && ir::within_block(loop->axis)) threads_.pop_back();
    return out;
  }

 private:
  bool here() {
    ++found;
    return left_-- == 0;
  }
  static bool tells_apart(const ir::For& loop) {
    bool read = false;
    ir::walk(loop.body, nullptr, [&](const Expr& e) {
      const auto* ref = std::get_if<ir::VarRef>(&e->node);
      read |= ref && ref->var == loop.var;
    });
    return read;
  }
  // Which of several places an iteration of the innermost loop takes; null: it is not that.
  const ir::Binary* turn(const Expr& value) const {
    const auto* rest = std::get_if<ir::Binary>(&value->node);
    const bool is_one = rest && rest->op == ir::BinaryOp::Mod && !serial_.empty() &&
                        ir::mentions(rest->a, serial_.back());
    return is_one ? rest : nullptr;
  }
  bool guards() const {
    return mistake_ == GpuMistake::WideGuard || mistake_ == GpuMistake::NarrowGuard;
  }
  static const ir::Binary* less(const Expr& condition) {
    const auto* n = std::get_if<ir::Binary>(&condition->node);
    return n && n->op == ir::BinaryOp::Lt ? n : nullptr;
  }
  Expr moved(const ir::Binary& n) const {
    if (mistake_ == GpuMistake::WideGuard) return ir::binary(ir::BinaryOp::Le, n.a, n.b);
    return ir::binary(ir::BinaryOp::Lt, n.a + ir::int_imm(1, n.a->type), n.b);
  }
  // A thread's place along another axis, kept within this one's; null: blocks have one axis.
  std::optional<Expr> other_axis(const ir::For& loop) const {
    for (const auto& [var, extent] : threads_) {
      if (var == loop.var) continue;
      return ir::binary(ir::BinaryOp::Min, ir::var_ref(var), loop.extent - ir::int_imm(1));
    }
    return std::nullopt;
  }

  GpuMistake mistake_;
  int left_;
  std::vector<ir::Var> serial_;
  std::vector<std::pair<ir::Var, Expr>> threads_;
};

}  // namespace

const char* name_of(GpuMistake mistake) {
  static constexpr const char* names[] = {"dropped barrier", "swapped axis", "wide guard",
                                          "narrow guard",    "stale tile",   "wrong stage",
                                          "dropped wait"};
  return names[static_cast<int>(mistake)];
}

int places(const ir::Module& module, GpuMistake mistake) {
  int count = 0;
  for (const ir::Function& function : module.functions) {
    Mutate mutate(mistake, -1);
    mutate.mutate(function.body);
    count += mutate.found;
  }
  return count;
}

ir::Module mutated(const ir::Module& module, GpuMistake mistake, int place) {
  ir::Module out = module;
  for (ir::Function& function : out.functions) {
    Mutate mutate(mistake, place);
    function.body = mutate.mutate(function.body);
    place -= mutate.found;
    if (place < 0) break;
  }
  return out;
}

}  // namespace fettle::property
