// Counting what a lowered program does (facts.h).
#include "host/lower/facts.h"

#include <set>

namespace fettle::lower {

namespace {

// Floating-point operations of one statement: what its expressions share is computed once.
class Operations {
 public:
  double of(const ir::Expr& e) {
    if (e.use_count() > 1 && !seen_.insert(e.get()).second) return 0;
    const double lanes = e->type.lanes;
    if (const auto* n = std::get_if<ir::MulAdd>(&e->node)) {
      return 2 * lanes + of(n->a) + of(n->b) + of(n->c);
    }
    if (const auto* n = std::get_if<ir::Dot4>(&e->node)) return of(n->a) + of(n->b) + of(n->c);
    if (const auto* n = std::get_if<ir::Binary>(&e->node)) {
      return (e->type.is_float() ? lanes : 0) + of(n->a) + of(n->b);
    }
    if (const auto* n = std::get_if<ir::Unary>(&e->node)) {
      return (e->type.is_float() ? lanes : 0) + of(n->a);
    }
    if (const auto* n = std::get_if<ir::Select>(&e->node)) {
      return of(n->condition) + of(n->then_value) + of(n->else_value);
    }
    if (const auto* n = std::get_if<ir::Cast>(&e->node)) return of(n->value);
    if (const auto* n = std::get_if<ir::Reinterpret>(&e->node)) return of(n->value);
    if (const auto* n = std::get_if<ir::Broadcast>(&e->node)) return of(n->value);
    return 0;  // index arithmetic is not counted
  }

 private:
  std::set<const ir::ExprNode*> seen_;
};

// Of two branches each counts as taken half the time; of a branch without another,
// which skips borders, half is certain.
double operations_of(const ir::Stmt& s, double times) {
  if (const auto* n = std::get_if<ir::For>(&s->node)) {
    const std::int64_t* extent = ir::as_int(n->extent);
    return operations_of(n->body, times * (extent ? double(*extent) : 1));
  }
  if (const auto* n = std::get_if<ir::Store>(&s->node)) return times * Operations().of(n->value);
  if (const auto* n = std::get_if<ir::Block>(&s->node)) {
    double sum = 0;
    for (const ir::Stmt& child : n->stmts) sum += operations_of(child, times);
    return sum;
  }
  if (const auto* n = std::get_if<ir::IfThenElse>(&s->node)) {
    return operations_of(n->then_stmt, times / 2) +
           (n->else_stmt ? operations_of(n->else_stmt, times / 2) : 0);
  }
  if (const auto* n = std::get_if<ir::Allocate>(&s->node)) return operations_of(n->body, times);
  if (const auto* n = std::get_if<ir::Let>(&s->node)) return operations_of(n->body, times);
  return 0;
}

}  // namespace

ProgramFacts program_facts(const ir::Module& module) {
  ProgramFacts facts;
  std::set<int> touched;
  for (const ir::Launch& launch : module.launches) {
    if (launch.prepare) continue;
    const ir::Function& function = module.functions[launch.function];
    facts.operations += operations_of(function.body, double(function.extent));
    touched.insert(launch.buffers.begin(), launch.buffers.end());
  }
  for (std::size_t i = 0; i < module.buffers.size(); ++i) {
    const ir::ProgramBuffer& b = module.buffers[i];
    const double bytes = double(b.buffer->elements()) * b.buffer->type.bytes();
    if (b.role == ir::Role::Scratch) {
      facts.scratch_bytes += bytes;
    } else if (touched.count(int(i))) {
      facts.compulsory_bytes += bytes;
    }
  }
  // Constants that prepare launches pack are read in their packed form, once.
  for (const ir::Launch& launch : module.launches) {
    if (!launch.prepare) continue;
    for (int b : launch.buffers) {
      if (module.buffers[b].role == ir::Role::Constant && touched.insert(b).second) {
        facts.compulsory_bytes +=
            double(module.buffers[b].buffer->elements()) * module.buffers[b].buffer->type.bytes();
      }
    }
  }
  return facts;
}

}  // namespace fettle::lower
