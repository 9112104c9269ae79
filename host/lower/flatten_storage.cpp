// The storage flattening pass (flatten_storage.h).
#include "host/lower/flatten_storage.h"

#include <map>

#include "host/ir/mutator.h"
#include "host/ir/simplify.h"

namespace fettle::lower {

namespace {

class Flatten : public ir::Mutator {
 public:
  using ir::Mutator::mutate;

  ir::Expr mutate(const ir::Expr& expr) override {
    if (expr) {
      if (const auto* load = std::get_if<ir::Load>(&expr->node)) {
        return ir::load(renamed(load->buffer), {flat(load->buffer, mutate_all(load->indices))},
                        mutate(load->predicate), expr->type.lanes);
      }
    }
    return ir::Mutator::mutate(expr);
  }

  ir::Stmt mutate(const ir::Stmt& stmt) override {
    if (stmt) {
      if (const auto* store = std::get_if<ir::Store>(&stmt->node)) {
        return ir::make_store(renamed(store->buffer),
                              {flat(store->buffer, mutate_all(store->indices))},
                              mutate(store->value), mutate(store->predicate));
      }
      if (const auto* allocate = std::get_if<ir::Allocate>(&stmt->node)) {
        ir::BufferDecl decl = *allocate->buffer;
        decl.shape = {decl.elements()};
        const auto one_dimensional = std::make_shared<const ir::BufferDecl>(std::move(decl));
        renamed_[allocate->buffer] = one_dimensional;
        return ir::make_allocate(one_dimensional, mutate(allocate->body));
      }
    }
    return ir::Mutator::mutate(stmt);
  }

 private:
  ir::Buffer renamed(const ir::Buffer& buffer) const {
    auto it = renamed_.find(buffer);
    return it == renamed_.end() ? buffer : it->second;
  }

  static ir::Expr flat(const ir::Buffer& buffer, const std::vector<ir::Expr>& indices) {
    ir::Expr rows = ir::int_imm(0);  // elements before the last dimension's
    for (std::size_t d = 0; d + 1 < indices.size(); ++d) {
      rows = (rows + indices[d]) * ir::int_imm(buffer->shape[d + 1]);
    }
    if (indices.empty()) return rows;
    return ir::with_base(indices.back(),
                         [&](const ir::Expr& last) { return ir::simplify(rows + last); });
  }

  std::map<ir::Buffer, ir::Buffer> renamed_;
};

}  // namespace

ir::Stmt flatten_storage(const ir::Stmt& stmt) { return Flatten().mutate(stmt); }

}  // namespace fettle::lower
