// The unroll pass (unroll.h).
#include "host/lower/unroll.h"

#include <unordered_map>

#include "host/ir/simplifier.h"

namespace fettle::lower {

namespace {

// An index of an unrolled body. From iteration to iteration only its constant differs, so all
// of them share what is in front of that.
class Index {
 public:
  explicit Index(const ir::Expr& expr) : form_(ir::affine_of(expr)) {
    if (form_ && form_->is_written_as(expr)) as_it_is_ = expr;
  }

  // Null: it is no sum of variables and a constant, or one of them stands for another sum.
  ir::Expr where(const ir::KnownSums& known, ir::DataType type) {
    if (!form_ || form_->terms.size() > kMostTerms) return nullptr;
    std::uint64_t fixed = 0;  // a bit for each term
    std::int64_t constant = form_->constant;
    for (std::size_t i = 0; i < form_->terms.size(); ++i) {
      const auto& [var, coefficient] = form_->terms[i];
      const auto found = known.find(var);
      if (found == known.end()) continue;
      if (!found->second.terms.empty()) return nullptr;
      fixed |= std::uint64_t{1} << i;
      constant += coefficient * found->second.constant;
    }
    if (fixed == 0 && as_it_is_) return as_it_is_;
    if (!moving_ || fixed != fixed_) {
      ir::Affine moving;
      for (std::size_t i = 0; i < form_->terms.size(); ++i) {
        if ((fixed >> i & 1) == 0) moving.terms.push_back(form_->terms[i]);
      }
      moving_ = moving.expr(type);
      fixed_ = fixed;
    }
    return ir::plus(moving_, constant);
  }

 private:
  static constexpr std::size_t kMostTerms = 64;
  std::optional<ir::Affine> form_;
  ir::Expr as_it_is_, moving_;
  std::uint64_t fixed_ = 0;
};

struct Problem {
  std::string what;
};  // thrown inside this file only

class Unroll : public ir::StmtSimplifier {
 public:
  explicit Unroll(std::int64_t most) : ir::StmtSimplifier({}), left_(most) {}
  using ir::StmtSimplifier::mutate;

  ir::Expr mutate(const ir::Expr& expr) override {
    const bool is_index = expr && expr->type.is_int() && expr->type.lanes == 1;
    if (depth_ == 0 || !is_index || ir::as_int(expr)) return ir::StmtSimplifier::mutate(expr);
    auto place = indices_.find(expr);
    if (place == indices_.end()) place = indices_.emplace(expr, expr).first;
    ir::Expr here = place->second.where(known(), expr->type);
    return here ? here : ir::StmtSimplifier::mutate(expr);
  }

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
    ++depth_;
    for (std::int64_t i = *from; i < *from + *count; ++i) {
      ir::Affine constant;
      constant.constant = i;
      iterations.push_back(with_known(loop.var, std::move(constant), loop.body));
    }
    --depth_;
    return ir::make_block(std::move(iterations));
  }

 private:
  std::int64_t left_;
  int depth_ = 0;  // of unrolled loops
  std::unordered_map<ir::Expr, Index> indices_;
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
