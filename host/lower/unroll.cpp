// The unroll pass (unroll.h).
#include "host/lower/unroll.h"

#include "host/ir/simplifier.h"

namespace fettle::lower {

namespace {

struct Problem {
  std::string what;
};  // thrown inside this file only

class Unroll : public ir::StmtSimplifier {
 public:
  explicit Unroll(std::int64_t most) : ir::StmtSimplifier({}), left_(most) {}
  using ir::StmtSimplifier::mutate;

  ir::Stmt mutate(const ir::Stmt& stmt) override {
    if (stmt && std::get_if<ir::Store>(&stmt->node) && --left_ < 0) {
      throw Problem{"unrolling makes too much code"};
    }
    return ir::StmtSimplifier::mutate(stmt);
  }

 protected:
  ir::Stmt simplify_for(const ir::For& loop) override {
    if (loop.kind != ir::ForKind::Unrolled) return ir::StmtSimplifier::simplify_for(loop);
    const ir::Expr min = mutate(loop.min), extent = mutate(loop.extent);
    const std::int64_t *from = ir::as_int(min), *count = ir::as_int(extent);
    if (!from || !count) {
      throw Problem{"unrolled loop " + loop.var->name + " has no constant bounds"};
    }
    std::vector<ir::Stmt> iterations;
    for (std::int64_t i = *from; i < *from + *count; ++i) {
      ir::Affine constant;
      constant.constant = i;
      iterations.push_back(with_known(loop.var, std::move(constant), loop.body));
    }
    return ir::make_block(std::move(iterations));
  }

 private:
  std::int64_t left_;
};

}  // namespace

Result<ir::Stmt> unroll(const ir::Stmt& stmt, std::int64_t most) {
  try {
    return Unroll(most).mutate(stmt);
  } catch (const Problem& problem) {
    return Error{ErrorCode::InvalidArgument, problem.what};
  }
}

}  // namespace fettle::lower
