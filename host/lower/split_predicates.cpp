// The predicate pass (split_predicates.h).
#include "host/lower/split_predicates.h"

#include "host/ir/mutator.h"

namespace fettle::lower {

namespace {

// The one scalar condition of all lanes, or null.
ir::Expr uniform(const ir::Expr& predicate) {
  if (predicate->type.lanes == 1) return predicate;
  const auto* wide = std::get_if<ir::Broadcast>(&predicate->node);
  return wide ? wide->value : nullptr;
}

class Split : public ir::Mutator {
 public:
  using ir::Mutator::mutate;
  ir::Stmt mutate(const ir::Stmt& stmt) override {
    const auto* store = stmt ? std::get_if<ir::Store>(&stmt->node) : nullptr;
    const auto* load = store ? std::get_if<ir::Load>(&store->value->node) : nullptr;
    const ir::Expr condition = load && load->predicate ? uniform(load->predicate) : nullptr;
    if (!condition) return ir::Mutator::mutate(stmt);
    const ir::DataType type = store->value->type;
    return ir::make_if(
        condition,
        ir::make_store(store->buffer, store->indices,
                       ir::load(load->buffer, load->indices, nullptr, type.lanes),
                       store->predicate),
        ir::make_store(store->buffer, store->indices, ir::zero_of(type), store->predicate));
  }
};

}  // namespace

ir::Stmt split_predicates(const ir::Stmt& stmt) { return Split().mutate(stmt); }

}  // namespace fettle::lower
