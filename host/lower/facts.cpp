// Counting what a lowered program does (facts.h).
#include "host/lower/facts.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "host/ir/mutator.h"

namespace fettle::lower {

namespace {

// Sums over the timed launches. Of two branches each counts as taken half the time. A
// branch without another is the rule: it skips borders, which are less than half of
// anything that takes long. So it counts in full, and half of it is certain.
struct Counts {
  double certain_operations = 0;
  double operations = 0, vector_operations = 0, multiply_adds = 0;
  double loads = 0, loaded_bytes = 0, broadcast_loads = 0, stores = 0, stored_bytes = 0;
  double register_accesses = 0, loop_iterations = 0, code_stores = 0, branches = 0;
  double innermost_code = 0;  // stores in the largest innermost loop
  double register_lanes = 0;  // elements of the largest register tile
  double widest = 1;          // lanes
};

class Counter {
 public:
  Counts counts;

  // Returns the number of stores in the code below.
  double stmt(const ir::Stmt& s, double times) {
    if (const auto* n = std::get_if<ir::For>(&s->node)) {
      const std::int64_t* extent = ir::as_int(n->extent);
      const double trips = extent ? double(*extent) : 1;
      counts.loop_iterations += times * trips;
      bool inner = false;
      ir::walk(
          n->body, [&](const ir::Stmt& c) { inner |= std::get_if<ir::For>(&c->node) != nullptr; },
          nullptr);
      const double code = stmt(n->body, times * trips);
      if (!inner) counts.innermost_code = std::max(counts.innermost_code, code);
      return code;
    }
    if (const auto* n = std::get_if<ir::Store>(&s->node)) {
      const double lanes = n->value->type.lanes;
      counts.widest = std::max(counts.widest, lanes);
      counts.code_stores += 1;
      if (n->buffer->scope == ir::Scope::Register) {
        counts.register_accesses += times;
      } else {
        counts.stores += times;
        counts.stored_bytes += times * lanes * n->buffer->type.bytes();
      }
      expr(n->value, times, false);
      return 1;
    }
    if (const auto* n = std::get_if<ir::Block>(&s->node)) {
      double code = 0;
      for (const ir::Stmt& child : n->stmts) code += stmt(child, times);
      return code;
    }
    if (const auto* n = std::get_if<ir::IfThenElse>(&s->node)) {
      counts.branches += times;
      const double certain = certain_;
      certain_ = n->else_stmt ? certain : certain / 2;
      double code = stmt(n->then_stmt, n->else_stmt ? times / 2 : times);
      if (n->else_stmt) code += stmt(n->else_stmt, times / 2);
      certain_ = certain;
      return code;
    }
    if (const auto* n = std::get_if<ir::Allocate>(&s->node)) {
      if (n->buffer->scope == ir::Scope::Register) {
        counts.register_lanes = std::max(counts.register_lanes, double(n->buffer->elements()));
      }
      return stmt(n->body, times);
    }
    if (const auto* n = std::get_if<ir::Let>(&s->node)) return stmt(n->body, times);
    return 0;
  }

 private:
  void count_operations(double number) {
    counts.operations += number;
    counts.certain_operations += number * certain_;
  }

  void expr(const ir::Expr& e, double times, bool broadcasting) {
    const double lanes = e->type.lanes;
    if (const auto* n = std::get_if<ir::Load>(&e->node)) {
      if (n->buffer->scope == ir::Scope::Register) {
        counts.register_accesses += times;
      } else {
        counts.loads += times;
        counts.loaded_bytes += times * lanes * n->buffer->type.bytes();
        if (broadcasting) counts.broadcast_loads += times;
      }
      return;  // index arithmetic is not counted
    }
    if (const auto* n = std::get_if<ir::MulAdd>(&e->node)) {
      count_operations(2 * times * lanes);
      counts.vector_operations += times;
      counts.multiply_adds += times;
      for (const ir::Expr& child : {n->a, n->b, n->c}) expr(child, times, false);
    } else if (const auto* n = std::get_if<ir::Binary>(&e->node)) {
      if (e->type.is_float()) count_operations(times * lanes), counts.vector_operations += times;
      expr(n->a, times, false);
      expr(n->b, times, false);
    } else if (const auto* n = std::get_if<ir::Unary>(&e->node)) {
      if (e->type.is_float()) count_operations(times * lanes), counts.vector_operations += times;
      expr(n->a, times, false);
    } else if (const auto* n = std::get_if<ir::Select>(&e->node)) {
      for (const ir::Expr& child : {n->condition, n->then_value, n->else_value})
        expr(child, times, false);
    } else if (const auto* n = std::get_if<ir::Cast>(&e->node)) {
      expr(n->value, times, false);
    } else if (const auto* n = std::get_if<ir::Broadcast>(&e->node)) {
      expr(n->value, times, true);
    }
  }

  double certain_ = 1;  // share of what is counted now
};

float logarithm(double value) { return static_cast<float>(std::log2(1 + value)); }

}  // namespace

std::vector<std::string> feature_names() {
  return {"log_operations",
          "log_vector_operations",
          "log_multiply_adds",
          "log_loads",
          "log_loaded_bytes",
          "log_broadcast_loads",
          "log_stores",
          "log_stored_bytes",
          "log_register_accesses",
          "log_loop_iterations",
          "log_branches",
          "code_stores",
          "innermost_code",
          "register_lanes",
          "widest",
          "loads_per_multiply_add",
          "log_tasks",
          "log_operations_per_task",
          "log_compulsory_bytes",
          "log_scratch_bytes",
          "launches"};
}

ProgramFacts program_facts(const ir::Module& module) {
  ProgramFacts facts;
  Counter counter;
  std::set<int> touched;
  double tasks = 0, launches = 0;
  for (const ir::Launch& launch : module.launches) {
    if (launch.prepare) continue;
    const ir::Function& function = module.functions[launch.function];
    counter.stmt(function.body, double(function.extent));
    tasks = double(function.extent);  // of the last launch: the one that does the work
    launches += 1;
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
  // Constants that a prepare launch packs are read in their packed form.
  for (const ir::Launch& launch : module.launches) {
    if (!launch.prepare) continue;
    for (int b : launch.buffers) {
      if (module.buffers[b].role == ir::Role::Constant && !touched.count(b)) {
        facts.compulsory_bytes +=
            double(module.buffers[b].buffer->elements()) * module.buffers[b].buffer->type.bytes();
      }
    }
  }
  const Counts& c = counter.counts;
  facts.operations = c.certain_operations;
  facts.features = {logarithm(c.operations),
                    logarithm(c.vector_operations),
                    logarithm(c.multiply_adds),
                    logarithm(c.loads),
                    logarithm(c.loaded_bytes),
                    logarithm(c.broadcast_loads),
                    logarithm(c.stores),
                    logarithm(c.stored_bytes),
                    logarithm(c.register_accesses),
                    logarithm(c.loop_iterations),
                    logarithm(c.branches),
                    float(c.code_stores),
                    float(c.innermost_code),
                    float(c.register_lanes),
                    float(c.widest),
                    float(c.loads / std::max(1.0, c.multiply_adds)),
                    logarithm(tasks),
                    logarithm(c.operations / std::max(1.0, tasks)),
                    logarithm(facts.compulsory_bytes),
                    logarithm(facts.scratch_bytes),
                    float(launches)};
  return facts;
}

}  // namespace fettle::lower
