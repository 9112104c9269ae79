// Accesses of a function (accesses.h).
#include "host/backend/opencl_c/accesses.h"

#include "host/ir/affine.h"
#include "host/ir/mutator.h"

namespace fettle::backend::opencl_c {
namespace {

// visit(indices, predicate) for every load of the buffer and every store to it.
template <typename Visit>
void for_each_access(const ir::Function& function, const ir::Buffer& buffer, const Visit& visit) {
  ir::walk(
      function.body,
      [&](const ir::Stmt& s) {
        const auto* store = std::get_if<ir::Store>(&s->node);
        if (store && store->buffer == buffer) visit(store->indices, store->predicate);
      },
      [&](const ir::Expr& e) {
        const auto* load = std::get_if<ir::Load>(&e->node);
        if (load && load->buffer == buffer) visit(load->indices, load->predicate);
      });
}

// Neighbours from a multiple of `lanes` on.
bool begins_at_multiple(const ir::Expr& index, int lanes) {
  const auto* ramp = std::get_if<ir::Ramp>(&index->node);
  if (!ramp || ramp->stride != 1) return false;
  const ir::LeafSum sum = ir::leaf_sum_of(ramp->base);
  bool whole = sum.constant % lanes == 0;
  for (const auto& term : sum.terms) whole &= term.second % lanes == 0;
  return whole;
}

}  // namespace

int lanes_of(const ir::Function& function, const ir::Buffer& buffer) {
  int lanes = 0;
  for_each_access(
      function, buffer, [&](const std::vector<ir::Expr>& indices, const ir::Expr& predicate) {
        if (lanes == 1) return;
        const int each = indices[0]->type.lanes;
        const bool whole = !predicate && (lanes == 0 || lanes == each) &&
                           buffer->elements() % each == 0 && begins_at_multiple(indices[0], each);
        lanes = whole ? each : 1;
      });
  return lanes == 0 ? 1 : lanes;
}

bool reads_texels(const ir::Function& function, std::size_t param) {
  const ir::Buffer& buffer = function.params[param];
  const std::int64_t texels = buffer->elements() / kTexel;
  if (texels > function.texels || buffer->elements() % kTexel != 0 || function.written[param] ||
      !buffer->type.is_float()) {
    return false;
  }
  bool any = false, whole = true;
  for_each_access(
      function, buffer, [&](const std::vector<ir::Expr>& indices, const ir::Expr& predicate) {
        any = true;
        const bool together = !predicate || predicate->type.lanes == 1 ||
                              std::holds_alternative<ir::Broadcast>(predicate->node);
        whole &= together && indices.size() == 1 && indices[0]->type.lanes % kTexel == 0 &&
                 begins_at_multiple(indices[0], kTexel);
      });
  return any && whole;
}

}  // namespace fettle::backend::opencl_c
