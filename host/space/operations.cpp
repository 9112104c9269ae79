// Nominal operations of a DAG (operations.h).
#include "host/space/operations.h"

#include <unordered_set>

namespace fettle::space {
namespace {

class Counter {
 public:
  double of(const ir::Expr& e) {
    if (!seen_.insert(e.get()).second) return 0;
    return std::visit([&](const auto& n) { return count(n); }, e->node);
  }

 private:
  double count(const ir::Unary& n) { return 1 + of(n.a); }
  double count(const ir::Binary& n) { return 1 + of(n.a) + of(n.b); }
  double count(const ir::MulAdd& n) { return 2 + of(n.a) + of(n.b) + of(n.c); }
  double count(const ir::Select& n) { return of(n.then_value) + of(n.else_value); }
  double count(const ir::Cast& n) { return of(n.value); }
  double count(const ir::Reinterpret& n) { return of(n.value); }
  template <typename Leaf>
  double count(const Leaf&) {  // literals, axes, loads with their indices
    return 0;
  }

  std::unordered_set<const ir::ExprNode*> seen_;
};

}  // namespace

double nominal_operations(const ComputeDag& dag) {
  double sum = 0;
  for (const Stage& stage : dag.stages) {
    if (stage.placeholder()) continue;
    double iterations = 1;
    for (const auto* axes : {&stage.axes, &stage.reduce_axes}) {
      for (const Axis& axis : *axes) iterations *= double(axis.extent);
    }
    sum += iterations * (Counter().of(stage.body) + (stage.reduce_axes.empty() ? 0 : 1));
  }
  return sum;
}

}  // namespace fettle::space
