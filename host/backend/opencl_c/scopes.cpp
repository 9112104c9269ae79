// Scopes of a kernel's text (scopes.h).
#include "host/backend/opencl_c/scopes.h"

#include <algorithm>

#include "host/ir/mutator.h"

namespace fettle::backend::opencl_c {
namespace {

std::string indented(int indent, const std::string& text) {
  return std::string(2 * static_cast<std::size_t>(indent), ' ') + text + "\n";
}

}  // namespace

void Scopes::line(const std::string& text) {
  scopes_.back().body += indented(scopes_.back().indent, text);
}

void Scopes::open(const std::string& line) {
  this->line(line);
  scopes_.push_back({scopes_.back().indent + 1});
}

void Scopes::close(const std::string& line) {
  leave();
  this->line(line);
}

void Scopes::enter() { scopes_.push_back({scopes_.back().indent}); }

void Scopes::leave() {
  const Scope inner = std::move(scopes_.back());
  scopes_.pop_back();
  scopes_.back().body += inner.head + inner.body;
}

std::optional<int> Scopes::depth_of(const ir::Expr& expr) const {
  int depth = 1;
  bool reads = false;
  ir::walk(expr, [&](const ir::Expr& e) {
    reads |= std::holds_alternative<ir::Load>(e->node);
    if (const auto* ref = std::get_if<ir::VarRef>(&e->node)) {
      const auto known = depths_.find(ref->var.get());
      depth = std::max(depth, known == depths_.end() ? this->depth() : known->second);
    }
  });
  return reads ? std::nullopt : std::optional(depth);
}

std::string Scopes::named(int depth, const std::string& number, const std::string& wanted) {
  Scope& scope = scopes_[static_cast<std::size_t>(depth)];
  std::string& name = scope.named[number];
  if (name.empty()) {
    name = names_.fresh(wanted);
    scope.head += indented(scope.indent, "const int " + name + " = " + number + ";");
  }
  return name;
}

}  // namespace fettle::backend::opencl_c
