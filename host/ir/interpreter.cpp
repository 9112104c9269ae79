// The reference interpreter (interpreter.h).
#include "host/ir/interpreter.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "host/ir/fold.h"
#include "host/ir/intrinsics.h"
#include "host/ir/lanes.h"
#include "host/ir/printer.h"
#include "host/ir/visit.h"

namespace fettle::ir {

namespace {

struct Storage {
  std::uint8_t* bytes = nullptr;
  std::int64_t elements = 0;
  std::vector<bool>* written = nullptr;  // null: its contents were given
};

class Interpreter {
 public:
  void bind(const Buffer& buffer, std::span<std::uint8_t> bytes) {
    if (static_cast<std::int64_t>(bytes.size()) < buffer->elements() * buffer->type.bytes()) {
      throw Stop{"buffer " + buffer->name + " has " + std::to_string(bytes.size()) + " bytes"};
    }
    storage_[buffer.get()] = {bytes.data(), buffer->elements(), nullptr};
  }
  void set(const Var& var, std::int64_t value) { variables_[var.get()] = value; }

  void run(const Stmt& s) {
    visit(
        s,
        [&](const For& n) {
          const std::int64_t min = integer(n.min), count = integer(n.extent);
          for (std::int64_t i = min; i < min + count; ++i) {
            variables_[n.var.get()] = i;
            run(n.body);
          }
        },
        [&](const Store& n) {
          try {
            store(n);
          } catch (Stop& stop) {
            if (stop.what.find(" in: ") == std::string::npos) stop.what += " in: " + print(s);
            throw;
          }
        },
        [&](const Block& n) {
          for (const Stmt& child : n.stmts) run(child);
        },
        [&](const IfThenElse& n) {
          if (integer(n.condition)) {
            run(n.then_stmt);
          } else if (n.else_stmt) {
            run(n.else_stmt);
          }
        },
        [&](const Allocate& n) { allocate(n); },
        [&](const Let& n) {
          variables_[n.var.get()] = integer(n.value);
          run(n.body);
        });
  }

 private:
  void allocate(const Allocate& n) {
    const std::int64_t elements = n.buffer->elements();
    std::vector<std::uint8_t> bytes(elements * n.buffer->type.bytes(), 0xCD);
    std::vector<bool> written(elements, false);
    storage_[n.buffer.get()] = {bytes.data(), elements, &written};
    run(n.body);
    storage_.erase(n.buffer.get());
  }

  std::int64_t integer(const Expr& e) {
    Value v;
    eval(e, v);
    return v.i[0];
  }

  const Storage& storage(const Buffer& buffer) {
    auto it = storage_.find(buffer.get());
    if (it == storage_.end()) throw Stop{"buffer " + buffer->name + " is not bound"};
    return it->second;
  }

  // Flat element numbers of an access, -1 for lanes that are off.
  void locate(const Buffer& buffer, const std::vector<Expr>& indices, const Expr& predicate,
              int lanes, std::int64_t* at) {
    Value on, index;
    if (predicate) eval(predicate, on);
    for (int l = 0; l < lanes; ++l) at[l] = predicate && !on.i[l] ? -1 : 0;
    const bool flat = indices.size() == 1 && buffer->shape.size() != 1;
    if (!flat && indices.size() != buffer->shape.size()) {
      throw Stop{std::to_string(indices.size()) + " indices for " + buffer->name};
    }
    for (std::size_t d = 0; d < indices.size(); ++d) {
      eval(indices[d], index);
      const std::int64_t extent = flat ? buffer->elements() : buffer->shape[d];
      if (index.type.lanes != 1 && index.type.lanes != lanes) throw Stop{"lanes of an index"};
      for (int l = 0; l < lanes; ++l) {
        if (at[l] < 0) continue;
        const std::int64_t i = index.i[index.type.lanes == 1 ? 0 : l];
        if (i < 0 || i >= extent) {
          throw Stop{buffer->name + " index " + std::to_string(i) + " of dimension " +
                     std::to_string(d) + " outside [0, " + std::to_string(extent) + ")"};
        }
        at[l] = at[l] * extent + i;
      }
    }
    // One index for several lanes names the first of neighbours only as a Ramp.
    if (lanes > 1 && (indices.empty() || index.type.lanes != lanes)) {
      throw Stop{"a vector access of " + buffer->name + " without a vector index"};
    }
  }

  void store(const Store& n) {
    Value value;
    eval(n.value, value);
    std::int64_t at[kMostLanes];
    locate(n.buffer, n.indices, n.predicate, value.type.lanes, at);
    const Storage& to = storage(n.buffer);
    for (int l = 0; l < value.type.lanes; ++l) {
      if (at[l] < 0) continue;
      put(n.buffer->type, to.bytes + at[l] * n.buffer->type.bytes(), value, l);
      if (to.written) (*to.written)[at[l]] = true;
    }
  }

  void eval(const Expr& e, Value& out) {
    const DataType type = e->type;
    const int lanes = type.lanes;
    if (lanes > kMostLanes) throw Stop{"more than 128 lanes"};
    visit(
        e, [&](const IntImm& n) { out.i[0] = n.value; },
        [&](const FloatImm& n) { out.f[0] = n.value; },
        [&](const VarRef& n) {
          auto it = variables_.find(n.var.get());
          if (it == variables_.end()) throw Stop{"variable " + n.var->name + " has no value"};
          out.i[0] = it->second;
        },
        [&](const Load& n) { load(n, type, out); },
        [&](const Ramp& n) {
          eval(n.base, out);
          const std::int64_t base = out.i[0];
          for (int l = 0; l < lanes; ++l) out.i[l] = wrap(base + n.stride * l, type.scalar);
        },
        [&](const Broadcast& n) {
          eval(n.value, out);
          for (int l = 1; l < lanes; ++l) out.i[l] = out.i[0];
        },
        [&](const Binary& n) {
          Value b;
          eval(n.a, out);
          eval(n.b, b);
          for (int l = 0; l < lanes; ++l) apply(n.op, n.a->type, out, b, l);
        },
        [&](const MulAdd& n) {
          Value b, c;
          eval(n.a, out);
          eval(n.b, b);
          eval(n.c, c);
          for (int l = 0; l < lanes; ++l) {
            out.f[l] = round_to(std::fma(out.f[l], b.f[l], c.f[l]), type.scalar);
          }
        },
        [&](const Intrinsic& n) {
          std::vector<Value> args(n.args.size());
          for (std::size_t i = 0; i < args.size(); ++i) eval(n.args[i], args[i]);
          std::vector<std::int64_t> operands(args.size());
          for (int l = 0; l < lanes; ++l) {
            for (std::size_t i = 0; i < args.size(); ++i) operands[i] = args[i].i[l];
            out.i[l] = execute(*n.row, operands);
          }
        },
        [&](const Unary& n) {
          eval(n.a, out);
          for (int l = 0; l < lanes; ++l) apply(n.op, type, out, l);
        },
        [&](const Select& n) {
          Value condition, other;
          eval(n.condition, condition);
          eval(n.then_value, out);
          eval(n.else_value, other);
          for (int l = 0; l < lanes; ++l) {
            if (!condition.i[l]) out.i[l] = other.i[l];
          }
        },
        [&](const Cast& n) {
          eval(n.value, out);
          for (int l = 0; l < lanes; ++l) cast_lane(out.type, type, out, l);
        },
        [&](const Reinterpret& n) { reinterpret(n, type, out); });
    out.type = type;
  }

  void load(const Load& n, DataType type, Value& out) {
    std::int64_t at[kMostLanes];
    locate(n.buffer, n.indices, n.predicate, type.lanes, at);
    const Storage& from = storage(n.buffer);
    for (int l = 0; l < type.lanes; ++l) {
      out.i[l] = 0;  // also the double 0
      if (at[l] < 0) continue;
      if (from.written && !(*from.written)[at[l]]) {
        throw Stop{n.buffer->name + " element " + std::to_string(at[l]) + " read before written"};
      }
      get(n.buffer->type, from.bytes + at[l] * n.buffer->type.bytes(), out, l);
    }
  }

  void reinterpret(const Reinterpret& n, DataType type, Value& out) {
    eval(n.value, out);
    const DataType from = n.value->type;
    std::uint8_t bytes[8 * kMostLanes];
    if (from.bytes() * from.lanes != type.bytes() * type.lanes) throw Stop{"size of reinterpret"};
    for (int l = 0; l < from.lanes; ++l) put(from, bytes + l * from.bytes(), out, l);
    for (int l = 0; l < type.lanes; ++l) get(type, bytes + l * type.bytes(), out, l);
  }

  std::unordered_map<const BufferDecl*, Storage> storage_;
  std::unordered_map<const VarDecl*, std::int64_t> variables_;
};

}  // namespace

Problem interpret(const Stmt& stmt, const Memory& memory,
                  const std::map<Var, std::int64_t>& variables) {
  try {
    Interpreter interpreter;
    for (const auto& [buffer, bytes] : memory) interpreter.bind(buffer, bytes);
    for (const auto& [var, value] : variables) interpreter.set(var, value);
    interpreter.run(stmt);
  } catch (const Stop& stop) {
    return stop.what;
  }
  return std::nullopt;
}

Problem interpret(const Function& function, std::span<const std::span<std::uint8_t>> args,
                  std::int64_t begin, std::int64_t end, std::int64_t thread) {
  try {
    if (args.size() != function.params.size()) throw Stop{"number of arguments"};
    Interpreter interpreter;
    for (std::size_t i = 0; i < args.size(); ++i) interpreter.bind(function.params[i], args[i]);
    if (function.thread) interpreter.set(function.thread, thread);
    for (std::int64_t i = begin; i < end; ++i) {
      interpreter.set(function.parallel, i);
      interpreter.run(function.body);
    }
  } catch (const Stop& stop) {
    return function.name + ": " + stop.what;
  }
  return std::nullopt;
}

Problem interpret(const Module& module, std::vector<std::vector<std::uint8_t>>& buffers,
                  int threads) {
  for (const bool prepare : {true, false}) {
    for (const Launch& launch : module.launches) {
      if (launch.prepare != prepare) continue;
      const Function& function = module.functions[launch.function];
      std::vector<std::span<std::uint8_t>> args;
      for (int b : launch.buffers) args.emplace_back(buffers[b]);
      for (int t = 0; t < threads; ++t) {
        const std::int64_t begin = function.extent * t / threads;
        const std::int64_t end = function.extent * (t + 1) / threads;
        if (auto problem = interpret(function, args, begin, end, t)) return problem;
      }
    }
  }
  return std::nullopt;
}

}  // namespace fettle::ir
