// Counting what a lowered program does (facts.h).
#include "host/lower/facts.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "host/ir/fold.h"
#include "host/ir/mutator.h"
#include "host/ir/operation_count.h"
#include "host/ir/visit.h"

namespace fettle::lower {

namespace {

using Values = std::map<ir::Var, std::int64_t>;

// A scalar integer expression, where the variables it reads have values.
std::optional<std::int64_t> value_of(const ir::Expr& e, const Values& values) {
  if (e->type.lanes != 1 || e->type.is_float()) return std::nullopt;
  if (const std::int64_t* constant = ir::as_int(e)) return *constant;
  if (const auto* ref = std::get_if<ir::VarRef>(&e->node)) {
    const auto known = values.find(ref->var);
    return known == values.end() ? std::nullopt : std::optional(known->second);
  }
  const auto* n = std::get_if<ir::Binary>(&e->node);
  if (!n) return std::nullopt;
  const auto a = value_of(n->a, values), b = value_of(n->b, values);
  if (n->op == ir::BinaryOp::And && ((a && !*a) || (b && !*b))) return 0;
  return a && b ? ir::fold_int(n->op, *a, *b, n->a->type.scalar) : std::nullopt;
}

// Executes the loops around branches whose sides do not do the same; all else is
// multiplied. Where that would take too many iterations, and where a condition cannot be
// told, of two sides the one that does less counts, and of one side none.
class LeastOperations {
 public:
  // Of one class of operations.
  explicit LeastOperations(double ir::OperationCount::* of_class) : of_class_(of_class) {}

  double of(const ir::Function& function) {
    return loop(function.parallel, 0, function.extent, function.body);
  }

 private:
  static constexpr std::int64_t kMostIterations = 1 << 17;  // of one function
  using Deciding = std::set<ir::Var>;

  double of(const ir::Stmt& s) {
    if (!s) return 0;
    std::vector<std::optional<std::int64_t>> decided;
    for (const ir::Var& var : deciding(s)) {
      const auto known = values_.find(var);
      decided.push_back(known == values_.end() ? std::nullopt : std::optional(known->second));
    }
    auto& found = counted_[s.get()];
    const auto before = found.find(decided);
    if (before != found.end()) return before->second;
    const double operations = count(s);
    counted_[s.get()][decided] = operations;
    return operations;
  }

  double count(const ir::Stmt& s) {
    return ir::visit(
        s,
        [&](const ir::For& n) {
          const auto min = value_of(n.min, values_), extent = value_of(n.extent, values_);
          return min && extent ? loop(n.var, *min, *extent, n.body) : 0;
        },
        [&](const ir::Store& n) { return ir::operations_of(n.value).*of_class_; },
        [&](const ir::Block& n) {
          double sum = 0;
          for (const ir::Stmt& child : n.stmts) sum += of(child);
          return sum;
        },
        [&](const ir::IfThenElse& n) {
          const auto condition = value_of(n.condition, values_);
          if (condition) return of(*condition ? n.then_stmt : n.else_stmt);
          return std::min(of(n.then_stmt), of(n.else_stmt));
        },
        [&](const ir::Allocate& n) { return of(n.body); },
        [&](const ir::Let& n) {
          if (const auto value = value_of(n.value, values_)) values_[n.var] = *value;
          const double operations = of(n.body);
          values_.erase(n.var);
          return operations;
        },
        [&](const ir::AsyncCopies& n) { return of(n.body); },
        [](const ir::OneOf<ir::Barrier, ir::AwaitCopies, ir::TileCall> auto&) { return 0.0; });
  }

  double loop(const ir::Var& var, std::int64_t min, std::int64_t extent, const ir::Stmt& body) {
    extent = std::max<std::int64_t>(extent, 0);
    if (!deciding(body).count(var) || iterations_ + extent > kMostIterations) {
      return double(extent) * of(body);
    }
    iterations_ += extent;
    double sum = 0;
    for (std::int64_t i = 0; i < extent; ++i) {
      values_[var] = min + i;
      sum += of(body);
    }
    values_.erase(var);
    return sum;
  }

  // Variables from around a statement that decide how much it does.
  const Deciding& deciding(const ir::Stmt& s) {
    const auto before = deciding_.find(s.get());
    if (before != deciding_.end()) return before->second;
    Deciding vars;
    ir::visit(
        s,
        [&](const ir::For& n) {
          vars = deciding(n.body);
          vars.erase(n.var);
          add(n.min, vars), add(n.extent, vars);
        },
        [](const ir::OneOf<ir::Store, ir::Barrier, ir::TileCall, ir::AwaitCopies> auto&) {},
        [&](const ir::Block& n) {
          for (const ir::Stmt& child : n.stmts) vars.merge(Deciding(deciding(child)));
        },
        [&](const ir::IfThenElse& n) {
          vars = deciding(n.then_stmt);
          if (n.else_stmt) vars.merge(Deciding(deciding(n.else_stmt)));
          if (!vars.empty() || of(n.then_stmt) != of(n.else_stmt)) add(n.condition, vars);
        },
        [&](const ir::OneOf<ir::Allocate, ir::AsyncCopies> auto& n) { vars = deciding(n.body); },
        [&](const ir::Let& n) {
          vars = deciding(n.body);
          if (vars.erase(n.var)) add(n.value, vars);
        });
    return deciding_[s.get()] = std::move(vars);
  }

  static void add(const ir::Expr& e, Deciding& to) {
    ir::walk(e, [&](const ir::Expr& part) {
      if (const auto* ref = std::get_if<ir::VarRef>(&part->node)) to.insert(ref->var);
    });
  }

  double ir::OperationCount::* of_class_;
  Values values_;
  std::int64_t iterations_ = 0;
  std::unordered_map<const ir::StmtNode*, Deciding> deciding_;
  // By the values of what decides.
  std::unordered_map<const ir::StmtNode*,
                     std::map<std::vector<std::optional<std::int64_t>>, double>>
      counted_;
};

}  // namespace

ProgramFacts program_facts(const ir::Module& module) {
  ProgramFacts facts;
  for (const ir::Launch& launch : module.launches) {
    if (launch.prepare) continue;
    const ir::Function& function = module.functions[launch.function];
    facts.operations += LeastOperations(&ir::OperationCount::floating).of(function);
    facts.integer_operations += LeastOperations(&ir::OperationCount::integer).of(function);
  }
  for (const ir::ProgramBuffer& b : module.buffers) {
    if (b.role != ir::Role::Scratch) continue;
    facts.scratch_bytes += double(b.buffer->elements()) * b.buffer->type.bytes();
  }
  return facts;
}

}  // namespace fettle::lower
