// The simplifier as a mutator (simplify.h), for passes that simplify what they make.
#pragma once

#include <map>

#include "host/ir/affine.h"
#include "host/ir/mutator.h"

namespace fettle::ir {

// Variables that are known to be a sum of others or a constant; no such sum holds one of them.
using KnownSums = std::map<Var, Affine>;

// Expressions within ranges that its caller keeps: many are simplified within the same ones.
class ExprSimplifier : public Mutator {
 public:
  ExprSimplifier(const Ranges& ranges, const KnownSums& known) : ranges_(ranges), known_(known) {}

  using Mutator::mutate;
  Expr mutate(const Expr& expr) override;

 protected:
  const KnownSums& known() const { return known_; }

 private:
  Expr decide(const Expr& e, const Binary& op) const;

  const Ranges& ranges_;
  const KnownSums& known_;
};

// Statements: their loops and names come and go in ranges of its own.
class StmtSimplifier : public ExprSimplifier {
 public:
  explicit StmtSimplifier(Ranges ranges)
      : ExprSimplifier(ranges_, known_), ranges_(std::move(ranges)) {}

  using ExprSimplifier::mutate;
  Stmt mutate(const Stmt& stmt) override;

 protected:
  virtual Stmt simplify_for(const For& loop);
  // `body` with `var` as a name of `sum`, whose own variables are not known otherwise.
  Stmt with_known(const Var& var, Affine sum, const Stmt& body);

 private:
  Stmt simplify_if(const IfThenElse& branch);
  Stmt simplify_let(const Let& let);

  Ranges ranges_;
  KnownSums known_;
};

}  // namespace fettle::ir
