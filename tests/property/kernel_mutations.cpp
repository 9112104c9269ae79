// Seeded mistakes in lowered kernels: what the output check must catch.
#include "tests/property/kernel_mutations.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "host/ir/intrinsics.h"
#include "host/ir/mutator.h"

namespace fettle::testing {
namespace {

using namespace ir;  // NOLINT: this file is IR

template <typename Node>
const Node* as(const Expr& expr) {
  return expr ? std::get_if<Node>(&expr->node) : nullptr;
}

bool is_constant(const Expr& expr) {
  if (const auto* copies = as<Broadcast>(expr)) return is_constant(copies->value);
  return as<FloatImm>(expr) != nullptr || as<IntImm>(expr) != nullptr;
}

Expr one_of(DataType type) { return type.is_float() ? float_imm(1, type) : int_imm(1, type); }

// A step of a reduction in registers that is not a multiply-add: combined(so far, value).
const Binary* reduction_step(const Store& store) {
  const auto* op = as<Binary>(store.value);
  const auto* so_far = op != nullptr ? as<Load>(op->a) : nullptr;
  const bool step =
      so_far != nullptr && so_far->buffer == store.buffer && store.buffer->scope == Scope::Register;
  return step ? op : nullptr;
}

bool is_input(const Buffer& b) {
  return b->name == "pad" || b->name.starts_with("input") || b->name.starts_with("weight");
}

// The largest element of a softmax's row: any number in its place gives the same result.
bool is_free(const Buffer& b) { return b->name.starts_with("largest"); }

// A bound that values of the fills reach: not one that only guards an exponential.
bool is_near(const Expr& expr) {
  if (const auto* copies = as<Broadcast>(expr)) return is_near(copies->value);
  const auto* real = as<FloatImm>(expr);
  return real == nullptr || std::fabs(real->value) < 8;
}

// index, kept in [0, elements - lanes]. A ramp's base is what is moved.
Expr clamped(const Expr& index, const BufferDecl& buffer) {
  const auto* vector = as<Ramp>(index);
  const Expr base = vector ? vector->base : index;
  const std::int64_t span = vector ? vector->stride * (index->type.lanes - 1) : 0;
  Expr safe =
      binary(BinaryOp::Max, binary(BinaryOp::Min, base, int_imm(buffer.elements() - 1 - span)),
             int_imm(0));
  return vector ? ramp(safe, vector->stride, index->type.lanes) : safe;
}

// The next element, or the one before where there is no next.
Expr shifted(const Expr& index, const BufferDecl& buffer) {
  const auto* vector = as<Ramp>(index);
  const Expr base = vector ? vector->base : index;
  const std::int64_t span = vector ? vector->stride * (index->type.lanes - 1) : 0;
  const Expr has_next = binary(BinaryOp::Lt, base, int_imm(buffer.elements() - 1 - span));
  const Expr other = select(has_next, base + int_imm(1), base - int_imm(1));
  return vector ? ramp(other, vector->stride, index->type.lanes) : other;
}

// Lets the mistake happen at the place-th opportunity; with place < 0 only counts.
class Maker : public Mutator {
 public:
  Maker(Mistake mistake, int place) : mistake_(mistake), place_(place) {}
  int seen() const { return seen_; }
  void enter(const Function& function) {
    in_pad_ = function.name.starts_with("pad");
    if (function.extent == 1) fixed_.insert(function.parallel.get());
  }
  bool in_pad() const { return in_pad_; }
  bool here() { return seen_++ == place_; }

  Stmt mutate(const Stmt& stmt) override {
    if (!stmt) return stmt;
    if (const auto* loop = std::get_if<For>(&stmt->node)) {
      fresh_.clear();
      const std::int64_t* extent = as_int(loop->extent);
      const bool fits = !in_pad_ && extent && *extent > 1 && !only_pads(loop->body);
      if (mistake_ == Mistake::ShortLoop && fits && here()) {
        return make_for(loop->var, loop->min, int_imm(*extent - 1), loop->kind, loop->body);
      }
      if (mistake_ == Mistake::LateLoop && fits && here()) {
        return make_for(loop->var, loop->min + int_imm(1), int_imm(*extent - 1), loop->kind,
                        loop->body);
      }
    }
    if (const auto* let = std::get_if<Let>(&stmt->node)) {
      bool moves = false;
      walk(let->value, [&](const Expr& e) {
        const auto* ref = as<VarRef>(e);
        moves |= ref != nullptr && fixed_.count(ref->var.get()) == 0;
      });
      if (!moves) fixed_.insert(let->var.get());
    }
    if (const auto* store = std::get_if<Store>(&stmt->node)) {
      if (is_free(store->buffer)) return stmt;
      const std::optional<Element> element = register_element(*store);
      first_term_ = element && fresh_.erase(*element) > 0;
      if (element && is_constant(store->value)) fresh_.insert(*element);
      if (Stmt changed = change(*store)) return changed;
      const bool was = in_output_;
      in_output_ = store->buffer->scope == Scope::Global && !in_pad_ &&
                   !store->buffer->name.starts_with("weight");
      Stmt result = Mutator::mutate(stmt);
      in_output_ = was;
      return result;
    }
    return Mutator::mutate(stmt);
  }

  Expr mutate(const Expr& expr) override {
    if (!expr) return expr;
    if (const auto* read = as<Load>(expr)) {
      if (Expr changed = change(expr, *read)) return changed;
    }
    // A term of a polynomial may be smaller than the tolerance.
    if (const auto* fused = as<MulAdd>(expr); fused != nullptr && !is_constant(fused->c)) {
      if (mistake_ == Mistake::DroppedTerm && here()) return fused->c;
      if (mistake_ == Mistake::LostSum && !first_term_ && here()) return fused->a * fused->b;
      if (mistake_ == Mistake::WrongFactor && fused->a != fused->b && here())
        return mul_add(fused->a, fused->a, fused->c);
    }
    if (const auto* dot = as<Intrinsic>(expr)) {
      const Expr &a = dot->args[0], &b = dot->args[1], &c = dot->args[2];
      if (mistake_ == Mistake::DroppedTerm && here()) return c;
      if (mistake_ == Mistake::LostSum && !first_term_ && here())
        return intrinsic(*dot->row, {a, b, zero_of(expr->type)});
      if (mistake_ == Mistake::WrongFactor && here()) return intrinsic(*dot->row, {a, a, c});
      if (mistake_ == Mistake::WrongSign && dot->row->takes_unsigned() && here())
        return intrinsic(*dot->row, {b, a, c});
    }
    if (const auto* op = as<Binary>(expr)) {
      if (in_output_ && expr->type.is_float()) {
        if (mistake_ == Mistake::MissingRelu && op->op == BinaryOp::Max && is_near(op->b) && here())
          return op->a;
        if (mistake_ == Mistake::SubtractedTail && op->op == BinaryOp::Add && here())
          return op->a - op->b;
      }
      if (mistake_ == Mistake::PadTooWide && in_pad_ && op->op == BinaryOp::Lt && as_int(op->b) &&
          here()) {
        return binary(BinaryOp::Lt, op->a, int_imm(*as_int(op->b) - 1));
      }
    }
    return Mutator::mutate(expr);
  }

 private:
  using Element = std::pair<const BufferDecl*, std::int64_t>;

  // The first element of a register that is stored to.
  static std::optional<Element> register_element(const Store& store) {
    if (store.buffer->scope != Scope::Register) return std::nullopt;
    const auto* vector = as<Ramp>(store.indices[0]);
    const std::int64_t* at = as_int(vector ? vector->base : store.indices[0]);
    if (at == nullptr) return std::nullopt;
    return Element{store.buffer.get(), *at};
  }

  // A loop whose stores all go to a padded copy, in a task of its own, or have no effect.
  static bool only_pads(const Stmt& body) {
    bool others = false;
    walk(
        body,
        [&](const Stmt& s) {
          if (const auto* store = std::get_if<Store>(&s->node))
            others |= store->buffer->name != "pad" && !is_free(store->buffer);
        },
        [](const Expr&) {});
    return !others;
  }

  Stmt change(const Store& store) {
    const bool output = store.buffer->scope == Scope::Global && !in_pad_ &&
                        !store.buffer->name.starts_with("weight");
    auto with = [&](Expr index, Expr value) {
      return make_store(store.buffer, {std::move(index)}, std::move(value), store.predicate);
    };
    if (mistake_ == Mistake::ShiftedStore && output && here()) {
      return with(shifted(store.indices[0], *store.buffer), store.value);
    }
    if (mistake_ == Mistake::WrongStart && store.buffer->scope == Scope::Register &&
        is_constant(store.value) && here()) {
      return with(store.indices[0], one_of(store.value->type));
    }
    if (mistake_ == Mistake::PadNotZero && in_pad_ && is_constant(store.value) && here()) {
      return with(store.indices[0], one_of(store.value->type));
    }
    if (const Binary* step = reduction_step(store)) {
      if (mistake_ == Mistake::DroppedTerm && here()) return with(store.indices[0], step->a);
      if (mistake_ == Mistake::LostSum && !first_term_ && here())
        return with(store.indices[0], step->b);
    }
    return nullptr;
  }

  Expr change(const Expr& expr, const Load& read) {
    const Buffer& buffer = read.buffer;
    const int lanes = expr->type.lanes;
    auto with = [&](Expr index) { return load(buffer, {std::move(index)}, read.predicate, lanes); };
    const auto* vector_index = as<Ramp>(read.indices[0]);
    const std::int64_t stride = vector_index ? vector_index->stride : 1;
    const bool room = buffer->elements() > stride * (lanes - 1) + 1;
    const bool own_index = !in_pad_ && (is_input(buffer) || buffer->name == "residual");
    switch (mistake_) {
      case Mistake::ShiftedLoad:
        return own_index && room && here() ? with(shifted(read.indices[0], *buffer)) : nullptr;
      case Mistake::WrongBiasIndex:
        return (buffer->name == "bias" || buffer->name == "factor") && room && here()
                   ? with(shifted(read.indices[0], *buffer))
                   : nullptr;
      case Mistake::MissingBias:
        return buffer->name == "bias" && here() ? zero_of(expr->type) : nullptr;
      case Mistake::MissingFactor:
        return buffer->name == "factor" && here() ? one_of(expr->type) : nullptr;
      case Mistake::MissingResidual:
        return buffer->name == "residual" && here() ? zero_of(expr->type) : nullptr;
      case Mistake::WrongRegister: {
        if (!in_output_ || buffer->scope != Scope::Register || buffer->elements() < 2 * lanes ||
            !here())
          return nullptr;
        const auto* vector = as<Ramp>(read.indices[0]);
        const std::int64_t* from = as_int(vector ? vector->base : read.indices[0]);
        if (from == nullptr) return nullptr;
        const std::int64_t other = *from == 0 ? lanes : *from - lanes;
        return with(vector ? ramp(int_imm(other), vector->stride, lanes) : int_imm(other));
      }
      case Mistake::WrongStride:
      case Mistake::SwappedIndex: {
        if (!own_index) return nullptr;
        const Expr index = changed_index(read.indices[0]);
        return index ? with(clamped(index, *buffer)) : nullptr;
      }
      default:
        return nullptr;
    }
  }

  // The index with its first variable term's factor one smaller, or with its first two
  // variables exchanged; null when it has no such terms or it is not this place.
  Expr changed_index(const Expr& index) {
    std::vector<Expr> products;  // var * constant > 1, of different variables
    walk(index, [&](const Expr& e) {
      const auto* op = as<Binary>(e);
      if (op == nullptr || op->op != BinaryOp::Mul || !as<VarRef>(op->a) || !as_int(op->b) ||
          *as_int(op->b) < 2)
        return;
      if (fixed_.count(as<VarRef>(op->a)->var.get()) == 0) products.push_back(e);
    });
    const bool swap = mistake_ == Mistake::SwappedIndex;
    if (products.size() < (swap ? 2u : 1u)) return nullptr;
    const auto* first = as<Binary>(products[0]);
    const auto* second = swap ? as<Binary>(products[1]) : nullptr;
    if (swap && *as_int(first->b) == *as_int(second->b)) return nullptr;
    if (!here()) return nullptr;
    class Replace : public Mutator {
     public:
      std::vector<std::pair<Expr, Expr>> pairs;
      Expr mutate(const Expr& e) override {
        for (const auto& [from, to] : pairs) {
          if (e == from) return to;
        }
        return Mutator::mutate(e);
      }
    } replace;
    if (swap) {
      replace.pairs = {{products[0], first->a * second->b}, {products[1], second->a * first->b}};
    } else {
      replace.pairs = {{products[0], first->a * int_imm(*as_int(first->b) - 1)}};
    }
    return replace.mutate(index);
  }

  Mistake mistake_;
  int place_, seen_ = 0;
  bool in_pad_ = false, in_output_ = false;
  // Registers that hold what a sum begins with, in straight-line code: the first term
  // that is added to them has no sum to lose.
  std::set<Element> fresh_;
  bool first_term_ = false;
  std::set<const VarDecl*> fixed_;  // variables that have one value only
};

Module apply(const Module& module, Maker& maker, Mistake mistake) {
  Module result = module;
  for (Function& function : result.functions) {
    maker.enter(function);
    if (mistake == Mistake::DroppedTask) {
      if (!maker.in_pad() && function.extent > 1 && maker.here()) function.extent -= 1;
      continue;
    }
    function.body = maker.mutate(function.body);
  }
  return result;
}

}  // namespace

const char* name_of(Mistake mistake) {
  static const char* const kNames[] = {
      "short loop",       "late loop",       "dropped task",   "wrong stride", "swapped index",
      "shifted load",     "shifted store",   "wrong register", "dropped term", "lost sum",
      "wrong factor",     "wrong start",     "missing relu",   "missing bias", "missing residual",
      "wrong bias index", "subtracted tail", "pad not zero",   "pad too wide", "missing factor",
      "wrong sign"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(Mistake::Count));
  return kNames[static_cast<std::size_t>(mistake)];
}

int places(const ir::Module& module, Mistake mistake) {
  Maker maker(mistake, -1);
  apply(module, maker, mistake);
  return maker.seen();
}

ir::Module mutated(const ir::Module& module, Mistake mistake, int place) {
  Maker maker(mistake, place);
  return apply(module, maker, mistake);
}

}  // namespace fettle::testing
