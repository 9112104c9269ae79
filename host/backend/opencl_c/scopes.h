// The text of a kernel's body while it is written: scopes inside one another, each with a head,
// where what is known at its begin is computed once.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/backend/opencl_c/types.h"

namespace fettle::backend::opencl_c {

class Scopes {
 public:
  explicit Scopes(Names& names) : names_(names) { scopes_.push_back({1}); }

  void line(const std::string& text);
  // "for (…) {" and, at its end, "}".
  void open(const std::string& line);
  void close(const std::string& line = "}");
  // After a constant's definition, whose scope goes as far as that around it.
  void enter();
  void leave();

  // The variable has a value from the innermost scope's begin on.
  void define(const ir::Var& var) { depths_[var.get()] = depth(); }
  // From the begin on of the scope in which the kernel's body stands.
  void define_outermost(const ir::Var& var) { depths_[var.get()] = 1; }
  // The outermost scope at whose begin the expression has its value. Empty: it reads memory.
  std::optional<int> depth_of(const ir::Expr& expr) const;
  // A name of that number, an int, which is computed in the head of the scope.
  std::string named(int depth, const std::string& number, const std::string& wanted);

  std::string text() const { return scopes_.front().head + scopes_.front().body; }

 private:
  struct Scope {
    int indent;
    std::string head = {}, body = {};
    std::map<std::string, std::string> named = {};  // names by what they are of
  };
  int depth() const { return static_cast<int>(scopes_.size()) - 1; }

  Names& names_;
  std::vector<Scope> scopes_;  // innermost last
  std::map<const ir::VarDecl*, int> depths_;
};

}  // namespace fettle::backend::opencl_c
