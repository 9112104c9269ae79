// Printing IR (printer.h).
#include "host/ir/printer.h"

#include <charconv>
#include <map>
#include <set>

#include "host/ir/intrinsics.h"
#include "host/ir/visit.h"

namespace fettle::ir {

namespace {

constexpr const char* kBinary[] = {"+",  "-",  "*",  "/",  "%",  "min", "max", "and",
                                   "or", "<<", ">>", "==", "!=", "<",   "<="};
constexpr const char* kUnary[] = {"-", "not ", "sqrt", "floor", "abs", "tf32", "round"};
constexpr const char* kKinds[] = {"for", "unrolled", "vectorized", "parallel"};
constexpr const char* kRoles[] = {"input", "output", "constant", "scratch"};

std::string number(double value) {
  char text[40];  // with a point, whatever the locale
  const auto end =
      std::to_chars(text, text + sizeof text, value, std::chars_format::general, 9).ptr;
  std::string s(text, end);
  if (s.find_first_of(".en") == std::string::npos) s += ".0";
  return s;
}

class Printer {
 public:
  std::string text;

  std::string expr(const Expr& e) {
    return visit(
        e,
        [&](const IntImm& n) {
          if (e->type.is_bool()) return std::string(n.value ? "true" : "false");
          return std::to_string(n.value);
        },
        [&](const FloatImm& n) { return number(n.value); },
        [&](const VarRef& n) { return name(n.var.get(), n.var->name); },
        [&](const Unary& n) { return std::string(kUnary[int(n.op)]) + "(" + expr(n.a) + ")"; },
        [&](const Binary& n) {
          const std::string op = kBinary[int(n.op)], a = expr(n.a), b = expr(n.b);
          if (n.op == BinaryOp::Min || n.op == BinaryOp::Max) return op + "(" + a + ", " + b + ")";
          return "(" + a + " " + op + " " + b + ")";
        },
        [&](const MulAdd& n) { return call("mul_add", {n.a, n.b, n.c}); },
        [&](const Intrinsic& n) { return call(n.row->name, n.args); },
        [&](const Select& n) { return call("select", {n.condition, n.then_value, n.else_value}); },
        [&](const Cast& n) { return call(to_string(e->type), {n.value}); },
        [&](const Reinterpret& n) { return call("bits_as_" + to_string(e->type), {n.value}); },
        [&](const Load& n) {
          return access(n.buffer, n.indices) + (n.predicate ? " if " + expr(n.predicate) : "");
        },
        [&](const Ramp& n) {
          return "ramp(" + expr(n.base) + ", " + std::to_string(n.stride) + ", " +
                 std::to_string(e->type.lanes) + ")";
        },
        [&](const Broadcast& n) { return call("x" + std::to_string(e->type.lanes), {n.value}); });
  }

  void stmt(const Stmt& s, int indent) {
    visit(
        s,
        [&](const For& n) {
          const std::string min = expr(n.min), extent = expr(n.extent);
          const std::string kind =
              n.kind == ForKind::Bound ? row_of(n.axis).name : kKinds[int(n.kind)];
          const std::string ahead =
              n.pipeline.stages > 1 ? " in " + std::to_string(n.pipeline.stages) + " stages" : "";
          line(indent, kind + " " + name(n.var.get(), n.var->name) + " in " + min + " +" + extent +
                           ahead + " {");
          stmt(n.body, indent + 1);
          line(indent, "}");
        },
        [&](const Store& n) {
          const std::string to = access(n.buffer, n.indices);
          line(indent,
               to + " = " + expr(n.value) + (n.predicate ? " where " + expr(n.predicate) : ""));
        },
        [&](const Block& n) {
          for (const Stmt& child : n.stmts) stmt(child, indent);
        },
        [&](const IfThenElse& n) {
          line(indent, "if " + expr(n.condition) + " {");
          stmt(n.then_stmt, indent + 1);
          if (n.else_stmt) {
            line(indent, "} else {");
            stmt(n.else_stmt, indent + 1);
          }
          line(indent, "}");
        },
        [&](const Allocate& n) {
          line(indent, "allocate " + declaration(n.buffer));
          stmt(n.body, indent);
        },
        [&](const Let& n) {
          const std::string value = expr(n.value);
          line(indent, "let " + name(n.var.get(), n.var->name) + " = " + value);
          stmt(n.body, indent);
        },
        [&](const Barrier& n) { line(indent, std::string("barrier ") + row_of(n.scope).name); },
        [&](const TileCall& n) {
          std::string text;
          for (const Expr& operand : n.operands) text += (text.empty() ? "" : ", ") + expr(operand);
          line(indent, std::string(n.row->name) + "(" + text + ")");
        },
        [&](const AsyncCopies& n) {
          line(indent, "async_copies {");
          stmt(n.body, indent + 1);
          line(indent, "}");
        },
        [&](const AwaitCopies& n) { line(indent, "await_copies but " + std::to_string(n.left)); });
  }

  std::string declaration(const Buffer& b) {
    return name(b.get(), b->name) + " " + to_string(b->type) + shape(b) + " " +
           row_of(b->scope).name;
  }

  void function(const Function& f) {
    std::string params;
    for (std::size_t i = 0; i < f.params.size(); ++i) {
      params += (i ? ", " : "") + name(f.params[i].get(), f.params[i]->name) + " " +
                to_string(f.params[i]->type) + shape(f.params[i]) +
                (i < f.written.size() && f.written[i] ? " out" : "");
    }
    line(0, "function " + f.name + "(" + params + ") parallel " +
                (f.parallel ? name(f.parallel.get(), f.parallel->name) : "?") + " +" +
                std::to_string(f.extent) +
                (f.thread ? " thread " + name(f.thread.get(), f.thread->name) : "") + " {");
    if (f.body) stmt(f.body, 1);
    line(0, "}");
  }

  void line(int indent, const std::string& s) { text += std::string(2 * indent, ' ') + s + "\n"; }

  std::string name(const void* identity, const std::string& wanted) {
    auto known = names_.find(identity);
    if (known != names_.end()) return known->second;
    std::string unique = wanted;
    for (int i = 1; !taken_.insert(unique).second; ++i) unique = wanted + "." + std::to_string(i);
    names_[identity] = unique;
    return unique;
  }

 private:
  std::string shape(const Buffer& b) {
    std::string s = "[";
    for (std::size_t i = 0; i < b->shape.size(); ++i) {
      s += (i ? ", " : "") + std::to_string(b->shape[i]);
    }
    return s + "]";
  }

  std::string call(const std::string& function, const std::vector<Expr>& args) {
    std::string s = function + "(";
    for (std::size_t i = 0; i < args.size(); ++i) s += (i ? ", " : "") + expr(args[i]);
    return s + ")";
  }

  std::string access(const Buffer& b, const std::vector<Expr>& indices) {
    std::string s = name(b.get(), b->name) + "[";
    for (std::size_t i = 0; i < indices.size(); ++i) s += (i ? ", " : "") + expr(indices[i]);
    return s + "]";
  }

  std::map<const void*, std::string> names_;
  std::set<std::string> taken_;
};

}  // namespace

std::string print(const Expr& expr) { return Printer().expr(expr); }

std::string print(const Stmt& stmt) {
  Printer p;
  p.stmt(stmt, 0);
  return p.text;
}

std::string print(const Function& function) {
  Printer p;
  p.function(function);
  return p.text;
}

std::string print(const Module& module) {
  Printer p;
  for (const ProgramBuffer& b : module.buffers) {
    p.line(0, "buffer " + p.declaration(b.buffer) + " " + kRoles[int(b.role)]);
  }
  for (const Launch& launch : module.launches) {
    std::string args;
    for (std::size_t i = 0; i < launch.buffers.size(); ++i) {
      const Buffer& b = module.buffers[launch.buffers[i]].buffer;
      args += (i ? ", " : "") + p.name(b.get(), b->name);
    }
    p.line(0, std::string(launch.prepare ? "prepare " : "launch ") +
                  module.functions[launch.function].name + "(" + args + ")");
  }
  for (const Function& f : module.functions) {
    p.text += "\n";
    p.function(f);
  }
  return p.text;
}

}  // namespace fettle::ir
