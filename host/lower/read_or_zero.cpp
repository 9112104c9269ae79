// The pass of branchless reads (read_or_zero.h).
#include "host/lower/read_or_zero.h"

#include "host/ir/equal.h"
#include "host/ir/mutator.h"

namespace fettle::lower {

namespace {

// The store that the branch of a statement is; null: it is more than that.
const ir::Store* store_of(const ir::Stmt& stmt) {
  const ir::Store* store = stmt ? std::get_if<ir::Store>(&stmt->node) : nullptr;
  return store && !store->predicate && store->indices.size() == 1 ? store : nullptr;
}

// The load to be made under the condition; null: the branches are others.
const ir::Load* read_of(const ir::Store& read, const ir::Store& zero) {
  const ir::Load* load = std::get_if<ir::Load>(&read.value->node);
  const bool fits = load && !load->predicate && read.buffer == zero.buffer &&
                    read.buffer->scope == ir::Scope::Register &&
                    ir::equal(read.indices[0], zero.indices[0]) &&
                    ir::equal(zero.value, ir::zero_of(read.value->type));
  return fits ? load : nullptr;
}

class ReadOrZero : public ir::Mutator {
 public:
  using ir::Mutator::mutate;
  ir::Stmt mutate(const ir::Stmt& stmt) override {
    const auto* branch = stmt ? std::get_if<ir::IfThenElse>(&stmt->node) : nullptr;
    const ir::Store* read = branch ? store_of(branch->then_stmt) : nullptr;
    const ir::Store* zero = branch ? store_of(branch->else_stmt) : nullptr;
    const ir::Load* load = read && zero ? read_of(*read, *zero) : nullptr;
    if (!load) return ir::Mutator::mutate(stmt);
    const int lanes = read->value->type.lanes;
    const ir::Expr condition =
        lanes > 1 ? ir::broadcast(branch->condition, lanes) : branch->condition;
    return ir::make_store(read->buffer, read->indices,
                          ir::load(load->buffer, load->indices, condition, lanes));
  }
};

}  // namespace

ir::Stmt read_or_zero(const ir::Stmt& stmt) { return ReadOrZero().mutate(stmt); }

}  // namespace fettle::lower
