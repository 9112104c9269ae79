// Mutator: rebuilds a tree bottom up; a pass overrides what it changes. Visitor
// needs are met by walk(), which shows every node.
//
// A node that a statement's expressions share is mutated once, and stays shared: a
// polynomial in an expression of many nodes would else become one of very many.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <unordered_map>

#include "host/ir/stmt.h"

namespace fettle::ir {

class Mutator {
 public:
  virtual ~Mutator() = default;
  // Null stays null. A node whose children did not change is returned as it is.
  virtual Expr mutate(const Expr& expr);
  virtual Stmt mutate(const Stmt& stmt);

 protected:
  std::vector<Expr> mutate_all(const std::vector<Expr>& exprs);
  // As mutate_all(); empty where none of them changes, which is most of the time.
  std::optional<std::vector<Expr>> changed(const std::vector<Expr>& exprs);

  // While it lives, what was mutated before counts for nothing: a variable may mean something else.
  class Apart {
   public:
    explicit Apart(Mutator& mutator) : mutator_(mutator) { around_.swap(mutator_.shared_); }
    ~Apart() { around_.swap(mutator_.shared_); }
    Apart(const Apart&) = delete;

   private:
    Mutator& mutator_;
    std::unordered_map<Expr, Expr> around_;
  };

 private:
  Expr child(const Expr& expr);
  Stmt rebuilt(const Stmt& stmt);

  // Of the statement at hand. Keys live as long as their entries.
  std::unordered_map<Expr, Expr> shared_;
};

// Calls on_expr for each expression and on_stmt for each statement below, parents first;
// once for an expression that a statement's expressions share.
void walk(const Expr& expr, const std::function<void(const Expr&)>& on_expr);
void walk(const Stmt& stmt, const std::function<void(const Stmt&)>& on_stmt,
          const std::function<void(const Expr&)>& on_expr);

using Substitution = std::map<Var, Expr>;
Expr substitute(const Expr& expr, const Substitution& values);
Stmt substitute(const Stmt& stmt, const Substitution& values);

}  // namespace fettle::ir
