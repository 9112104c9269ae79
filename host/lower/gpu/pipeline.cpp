// The pipeline pass (pipeline.h).
#include "host/lower/gpu/pipeline.h"

#include <map>
#include <set>

#include "host/ir/mutator.h"
#include "host/ir/simplify.h"
#include "host/lower/thread_blocks.h"

namespace fettle::lower {

namespace {

using ir::Expr;
using ir::Stmt;

constexpr std::int64_t kMostKept = 64;  // elements that a thread keeps in registers of one array

struct Problem {
  std::string what;
};  // thrown inside this file only

using Renamed = std::map<ir::Buffer, ir::Buffer>;

ir::Buffer with_stages(const ir::Buffer& buffer, int stages) {
  ir::BufferDecl decl = *buffer;
  decl.shape.insert(decl.shape.begin(), stages);
  return std::make_shared<const ir::BufferDecl>(std::move(decl));
}

// One iteration's part of the loop.
struct Iteration {
  std::vector<Stmt> makes, uses;
};

Iteration parts_of(const ir::For& loop) {
  const auto* block = std::get_if<ir::Block>(&loop.body->node);
  Iteration parts;
  int barriers = 0;
  for (const Stmt& stmt : block ? block->stmts : std::vector<Stmt>{}) {
    if (std::holds_alternative<ir::Barrier>(stmt->node)) {
      ++barriers;
    } else {
      (barriers == 0 ? parts.makes : parts.uses).push_back(stmt);
    }
  }
  const bool ends = block && std::holds_alternative<ir::Barrier>(block->stmts.back()->node);
  if (barriers != 2 || !ends || parts.makes.empty()) {
    throw Problem{"loop " + loop.var->name + " does not stage what it reads"};
  }
  return parts;
}

// What the statements write that a block shares.
std::set<ir::Buffer> shared_by(const std::vector<Stmt>& stmts) {
  std::set<ir::Buffer> buffers;
  for (const Stmt& stmt : stmts) {
    ir::walk(
        stmt,
        [&](const Stmt& s) {
          const auto* store = std::get_if<ir::Store>(&s->node);
          if (store && ir::row_of(store->buffer->scope).sharing == ir::Sharing::Block) {
            buffers.insert(store->buffer);
          }
        },
        nullptr);
  }
  return buffers;
}

// The staged arrays' part number `stage` in place of the arrays.
class InStage : public ir::Mutator {
 public:
  InStage(const Renamed& renamed, Expr stage) : renamed_(renamed), stage_(std::move(stage)) {}
  using ir::Mutator::mutate;

  Expr mutate(const Expr& expr) override {
    const Expr e = ir::Mutator::mutate(expr);
    const auto* load = e ? std::get_if<ir::Load>(&e->node) : nullptr;
    const auto to = load ? renamed_.find(load->buffer) : renamed_.end();
    if (to == renamed_.end()) return e;
    return ir::load(to->second, placed(load->indices), load->predicate, e->type.lanes);
  }
  Stmt mutate(const Stmt& stmt) override {
    const Stmt s = ir::Mutator::mutate(stmt);
    const auto* store = s ? std::get_if<ir::Store>(&s->node) : nullptr;
    const auto to = store ? renamed_.find(store->buffer) : renamed_.end();
    if (to == renamed_.end()) return s;
    return ir::make_store(to->second, placed(store->indices), store->value, store->predicate);
  }

 private:
  std::vector<Expr> placed(const std::vector<Expr>& indices) const {
    std::vector<Expr> at{stage_};
    at.insert(at.end(), indices.begin(), indices.end());
    return at;
  }

  const Renamed& renamed_;
  Expr stage_;
};

// Stores of staged arrays go to registers, or come from there: an element for each iteration of
// the loops around the store, which are unrolled, so that its place is a constant.
class Kept : public ir::Mutator {
 public:
  Kept(const Renamed& renamed, bool reads) : renamed_(renamed), reads_(reads) {}
  using ir::Mutator::mutate;
  std::vector<ir::Buffer> registers;  // by store; given, or made where values are read

  Stmt mutate(const Stmt& stmt) override {
    const auto* loop = stmt ? std::get_if<ir::For>(&stmt->node) : nullptr;
    if (loop && loop->kind != ir::ForKind::Bound) {
      const std::int64_t *min = ir::as_int(loop->min), *extent = ir::as_int(loop->extent);
      if (!min || *min != 0 || !extent) throw Problem{"a copy's loop has no constant bounds"};
      const auto [before, place] = std::pair{count_, place_};
      place_ = place_ * ir::int_imm(*extent) + ir::var_ref(loop->var);
      count_ *= *extent;
      const Stmt body = mutate(loop->body);
      count_ = before, place_ = place;
      return ir::make_for(loop->var, loop->min, loop->extent, ir::ForKind::Unrolled, body);
    }
    const auto* store = stmt ? std::get_if<ir::Store>(&stmt->node) : nullptr;
    if (!store || !renamed_.contains(store->buffer)) return ir::Mutator::mutate(stmt);
    if (store->predicate || store->value->type.lanes != 1) throw Problem{"a copy of vectors"};
    if (count_ > kMostKept) throw Problem{"a thread copies too much to keep in registers"};
    if (reads_) {
      ir::BufferDecl decl{store->buffer->name + ".next", store->buffer->type, {count_}};
      decl.scope = ir::Scope::Register;
      registers.push_back(std::make_shared<const ir::BufferDecl>(std::move(decl)));
      return ir::make_store(registers.back(), {place_}, store->value);
    }
    return ir::make_store(store->buffer, store->indices, ir::load(registers[next_++], {place_}));
  }

 private:
  const Renamed& renamed_;
  bool reads_;
  Expr place_ = ir::int_imm(0);
  std::int64_t count_ = 1;
  std::size_t next_ = 0;
};

class Pipelines : public ir::Mutator {
 public:
  using ir::Mutator::mutate;

  // Arrays are allocated around the loops that fill them.
  void find(const Stmt& body) {
    ir::walk(
        body,
        [&](const Stmt& s) {
          const auto* loop = std::get_if<ir::For>(&s->node);
          if (!loop || loop->pipeline.stages < 2) return;
          for (const ir::Buffer& buffer : shared_by(parts_of(*loop).makes)) {
            renamed_[buffer] = with_stages(buffer, loop->pipeline.stages);
          }
        },
        nullptr);
  }

  Stmt mutate(const Stmt& stmt) override {
    if (!stmt) return stmt;
    if (const auto* allocate = std::get_if<ir::Allocate>(&stmt->node)) {
      const auto to = renamed_.find(allocate->buffer);
      if (to != renamed_.end()) return ir::make_allocate(to->second, mutate(allocate->body));
    }
    const auto* loop = std::get_if<ir::For>(&stmt->node);
    if (!loop || loop->kind == ir::ForKind::Bound) return ir::Mutator::mutate(stmt);
    if (loop->pipeline.stages >= 2) return staged(*loop);
    const std::int64_t* extent = ir::as_int(loop->extent);
    const bool again = !extent || *extent > 1;
    around_ += again;
    Stmt out = ir::Mutator::mutate(stmt);
    around_ -= again;
    return out;
  }

 private:
  Stmt staged(const ir::For& loop) {
    const std::int64_t *min = ir::as_int(loop.min), *extent = ir::as_int(loop.extent);
    if (!min || *min != 0 || !extent) throw Problem{"a loop in stages has no constant bounds"};
    if (!loop.pipeline.async && loop.pipeline.stages != 2) {
      throw Problem{"more than two stages through registers"};
    }
    const Iteration parts = parts_of(loop);
    std::vector<Stmt> all = loop.pipeline.async ? beside(loop, parts, *extent)
                                                : through_registers(loop, parts, *extent);
    // Nobody fills the first place again before all have used the last.
    if (around_ > 0) all.push_back(ir::make_barrier(ir::Scope::BlockShared));
    return ir::make_block(std::move(all));
  }

  Stmt uses(const ir::For& loop, const Iteration& parts) {
    return in_turn(ir::make_block(parts.uses), ir::var_ref(loop.var), loop.pipeline.stages);
  }
  Stmt makes(const ir::For& loop, const Stmt& what, const Expr& iteration) {
    return in_turn(ir::substitute(what, {{loop.var, iteration}}), iteration, loop.pipeline.stages);
  }
  // In the place that an iteration has.
  Stmt in_turn(const Stmt& what, const Expr& iteration, int stages) {
    const Expr turn = ir::simplify(ir::binary(ir::BinaryOp::Mod, iteration, ir::int_imm(stages)));
    if (ir::as_int(turn)) return InStage(renamed_, turn).mutate(what);
    const ir::Var place = ir::make_var("place");
    return ir::make_let(place, turn, InStage(renamed_, ir::var_ref(place)).mutate(what));
  }
  static Stmt serial(const ir::For& loop, std::vector<Stmt> body) {
    return ir::make_for(loop.var, loop.min, loop.extent, loop.kind,
                        ir::make_block(std::move(body)));
  }

  // A group for each iteration that would follow, so that what is awaited can be counted.
  std::vector<Stmt> beside(const ir::For& loop, const Iteration& parts, std::int64_t extent) {
    const int ahead = loop.pipeline.stages - 1;
    const Stmt all = ir::make_block(parts.makes);
    std::vector<Stmt> out;
    for (int i = 0; i < ahead; ++i) {
      out.push_back(ir::make_async_copies(i < extent ? makes(loop, all, ir::int_imm(i))
                                                     : ir::make_block({})));
    }
    const Expr next = ir::var_ref(loop.var) + ir::int_imm(ahead);
    const Stmt more = ir::make_async_copies(ir::make_if(
        ir::binary(ir::BinaryOp::Lt, next, ir::int_imm(extent)), makes(loop, all, next)));
    out.push_back(
        serial(loop, {ir::make_await_copies(ahead - 1), ir::make_barrier(ir::Scope::BlockShared),
                      more, uses(loop, parts)}));
    return out;
  }

  std::vector<Stmt> through_registers(const ir::For& loop, const Iteration& parts,
                                      std::int64_t extent) {
    const Stmt all = ir::make_block(parts.makes);
    Kept reads(renamed_, true), writes(renamed_, false);
    const Stmt read = reads.mutate(all);
    writes.registers = reads.registers;
    const Stmt write = writes.mutate(all);
    const Expr next = ir::var_ref(loop.var) + ir::int_imm(1),
               more = ir::binary(ir::BinaryOp::Lt, next, ir::int_imm(extent));
    Stmt body = ir::make_block({ir::make_if(more, makes(loop, read, next)), uses(loop, parts),
                                ir::make_if(more, makes(loop, write, next))});
    for (const ir::Buffer& buffer : reads.registers) body = ir::make_allocate(buffer, body);
    return {makes(loop, all, ir::int_imm(0)),
            serial(loop, {ir::make_barrier(ir::Scope::BlockShared), body})};
  }

  Renamed renamed_;
  int around_ = 0;  // loops that come to the one at hand again
};

}  // namespace

Result<ir::Function> pipeline(ir::Function function) {
  try {
    Pipelines pipelines;
    pipelines.find(function.body);
    function.body = pipelines.mutate(function.body);
  } catch (const Problem& problem) {
    return Error{ErrorCode::InvalidArgument, problem.what};
  }
  if (auto met = check_barriers(function); !met) return std::move(met).error();
  return function;
}

}  // namespace fettle::lower
