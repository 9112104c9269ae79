// The unroll pass (unroll.h).
#include "host/lower/unroll.h"

#include "host/ir/mutator.h"
#include "host/ir/simplify.h"

namespace fettle::lower {

namespace {

struct Problem {
  std::string what;
};  // thrown inside this file only

class Unroll : public ir::Mutator {
 public:
  explicit Unroll(std::int64_t most) : left_(most) {}
  using ir::Mutator::mutate;

  ir::Stmt mutate(const ir::Stmt& stmt) override {
    if (stmt && std::get_if<ir::Store>(&stmt->node) && --left_ < 0) {
      throw Problem{"unrolling makes too much code"};
    }
    const auto* loop = stmt ? std::get_if<ir::For>(&stmt->node) : nullptr;
    if (!loop || loop->kind != ir::ForKind::Unrolled) return ir::Mutator::mutate(stmt);
    const std::int64_t* min = ir::as_int(loop->min);
    const std::int64_t* extent = ir::as_int(loop->extent);
    if (!min || !extent)
      throw Problem{"unrolled loop " + loop->var->name + " has no constant bounds"};
    std::vector<ir::Stmt> iterations;
    for (std::int64_t i = *min; i < *min + *extent; ++i) {
      iterations.push_back(mutate(ir::simplify(
          ir::substitute(loop->body, {{loop->var, ir::int_imm(i, loop->var->type)}}))));
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
