// The reference interpreter (interpreter.h).
#include "host/ir/interpreter.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "host/ir/fold.h"
#include "host/ir/printer.h"
#include "schemas/half/half.h"

namespace fettle::ir {

namespace {

constexpr int kMostLanes = 128;

// Lanes are integers or doubles, as the type says.
struct Value {
  DataType type;
  union {
    std::int64_t i[kMostLanes];
    double f[kMostLanes];
  };
  Value() {}
};

double round_to(double value, Scalar scalar) {
  return scalar == Scalar::Float32 ? static_cast<float>(value) : value;
}

// sum + the products of the four bytes of a and b.
std::int64_t dot_product(std::int64_t a, std::int64_t b, std::int64_t sum, bool unsigned_a) {
  for (int shift = 0; shift < 32; shift += 8) {
    const auto left = static_cast<std::uint8_t>(a >> shift);
    const auto right = static_cast<std::int8_t>(b >> shift);
    sum += (unsigned_a ? std::int64_t(left) : std::int64_t(static_cast<std::int8_t>(left))) * right;
  }
  return sum;
}

struct Storage {
  std::uint8_t* bytes = nullptr;
  std::int64_t elements = 0;
  std::vector<bool>* written = nullptr;  // null: its contents were given
};

// What went wrong; stops the run. Caught in run() below, never seen outside.
struct Stop {
  std::string what;
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
    if (const auto* n = std::get_if<For>(&s->node)) {
      const std::int64_t min = integer(n->min), count = integer(n->extent);
      for (std::int64_t i = min; i < min + count; ++i) {
        variables_[n->var.get()] = i;
        run(n->body);
      }
    } else if (const auto* n = std::get_if<Store>(&s->node)) {
      try {
        store(*n);
      } catch (Stop& stop) {
        if (stop.what.find(" in: ") == std::string::npos) stop.what += " in: " + print(s);
        throw;
      }
    } else if (const auto* n = std::get_if<Block>(&s->node)) {
      for (const Stmt& child : n->stmts) run(child);
    } else if (const auto* n = std::get_if<IfThenElse>(&s->node)) {
      if (integer(n->condition)) {
        run(n->then_stmt);
      } else if (n->else_stmt) {
        run(n->else_stmt);
      }
    } else if (const auto* n = std::get_if<Allocate>(&s->node)) {
      allocate(*n);
    } else if (const auto* n = std::get_if<Let>(&s->node)) {
      variables_[n->var.get()] = integer(n->value);
      run(n->body);
    }
    // Prefetch changes nothing.
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
    if (const auto* n = std::get_if<IntImm>(&e->node)) {
      out.i[0] = n->value;
    } else if (const auto* n = std::get_if<FloatImm>(&e->node)) {
      out.f[0] = n->value;
    } else if (const auto* n = std::get_if<VarRef>(&e->node)) {
      auto it = variables_.find(n->var.get());
      if (it == variables_.end()) throw Stop{"variable " + n->var->name + " has no value"};
      out.i[0] = it->second;
    } else if (const auto* n = std::get_if<Load>(&e->node)) {
      load(*n, type, out);
    } else if (const auto* n = std::get_if<Ramp>(&e->node)) {
      eval(n->base, out);
      const std::int64_t base = out.i[0];
      for (int l = 0; l < lanes; ++l) out.i[l] = wrap(base + n->stride * l, type.scalar);
    } else if (const auto* n = std::get_if<Broadcast>(&e->node)) {
      eval(n->value, out);
      for (int l = 1; l < lanes; ++l) out.i[l] = out.i[0];
    } else if (const auto* n = std::get_if<Binary>(&e->node)) {
      binary_op(*n, out);
    } else if (const auto* n = std::get_if<MulAdd>(&e->node)) {
      Value b, c;
      eval(n->a, out);
      eval(n->b, b);
      eval(n->c, c);
      for (int l = 0; l < lanes; ++l) {
        out.f[l] = round_to(std::fma(out.f[l], b.f[l], c.f[l]), type.scalar);
      }
    } else if (const auto* n = std::get_if<Dot4>(&e->node)) {
      Value b, c;
      eval(n->a, out);
      eval(n->b, b);
      eval(n->c, c);
      for (int l = 0; l < lanes; ++l) {
        out.i[l] = wrap(dot_product(out.i[l], b.i[l], c.i[l], n->unsigned_a), type.scalar);
      }
    } else if (const auto* n = std::get_if<Unary>(&e->node)) {
      eval(n->a, out);
      for (int l = 0; l < lanes; ++l) unary_op(n->op, type, out, l);
    } else if (const auto* n = std::get_if<Select>(&e->node)) {
      Value condition, other;
      eval(n->condition, condition);
      eval(n->then_value, out);
      eval(n->else_value, other);
      for (int l = 0; l < lanes; ++l) {
        if (!condition.i[l]) out.i[l] = other.i[l];
      }
    } else if (const auto* n = std::get_if<Cast>(&e->node)) {
      eval(n->value, out);
      for (int l = 0; l < lanes; ++l) cast_lane(out.type, type, out, l);
    } else {
      reinterpret(std::get<Reinterpret>(e->node), type, out);
    }
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

  void binary_op(const Binary& n, Value& out) {
    Value b;
    eval(n.a, out);
    eval(n.b, b);
    const DataType operands = n.a->type;
    for (int l = 0; l < operands.lanes; ++l) {
      if (!operands.is_float()) {
        const auto value = fold_int(n.op, out.i[l], b.i[l], operands.scalar);
        if (!value) throw Stop{"division by " + std::to_string(b.i[l]) + " or such a shift"};
        out.i[l] = *value;
        continue;
      }
      const double x = out.f[l], y = b.f[l];
      switch (n.op) {
        case BinaryOp::Add:
          out.f[l] = round_to(x + y, operands.scalar);
          break;
        case BinaryOp::Sub:
          out.f[l] = round_to(x - y, operands.scalar);
          break;
        case BinaryOp::Mul:
          out.f[l] = round_to(x * y, operands.scalar);
          break;
        case BinaryOp::Div:
          out.f[l] = round_to(x / y, operands.scalar);
          break;
        case BinaryOp::Min:
          out.f[l] = x < y ? x : y;
          break;
        case BinaryOp::Max:
          out.f[l] = x > y ? x : y;
          break;
        case BinaryOp::Eq:
          out.i[l] = x == y;
          break;
        case BinaryOp::Ne:
          out.i[l] = x != y;
          break;
        case BinaryOp::Lt:
          out.i[l] = x < y;
          break;
        case BinaryOp::Le:
          out.i[l] = x <= y;
          break;
        default:
          throw Stop{"an integer operation on floats"};
      }
    }
  }

  static void unary_op(UnaryOp op, DataType type, Value& out, int l) {
    if (!type.is_float()) {
      const std::int64_t x = out.i[l];
      out.i[l] = wrap(op == UnaryOp::Neg   ? -x
                      : op == UnaryOp::Not ? !x
                      : x < 0              ? -x
                                           : x,
                      type.scalar);
      return;
    }
    const double x = out.f[l];
    switch (op) {
      case UnaryOp::Neg:
        out.f[l] = -x;
        break;
      case UnaryOp::Sqrt:
        out.f[l] = round_to(std::sqrt(x), type.scalar);
        break;
      case UnaryOp::Floor:
        out.f[l] = std::floor(x);
        break;
      case UnaryOp::Abs:
        out.f[l] = std::fabs(x);
        break;
      case UnaryOp::Not:
        throw Stop{"not of a float"};
    }
  }

  static void cast_lane(DataType from, DataType to, Value& v, int l) {
    if (from.is_float() && to.is_float()) {
      v.f[l] = round_to(v.f[l], to.scalar);
    } else if (from.is_float()) {
      if (!(std::fabs(v.f[l]) < 9.2e18)) throw Stop{"a float too large for its cast"};
      v.i[l] = wrap(static_cast<std::int64_t>(v.f[l]), to.scalar);
    } else if (to.is_float()) {
      v.f[l] = round_to(static_cast<double>(v.i[l]), to.scalar);
    } else {
      v.i[l] = wrap(v.i[l], to.scalar);
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

  template <typename T>
  static T read(const std::uint8_t* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  template <typename T>
  static void write(std::uint8_t* at, T value) {
    std::memcpy(at, &value, sizeof value);
  }

  static void get(DataType type, const std::uint8_t* at, Value& v, int l) {
    switch (type.scalar) {
      case Scalar::Bool:
      case Scalar::UInt8:
        v.i[l] = read<std::uint8_t>(at);
        break;
      case Scalar::Int8:
        v.i[l] = read<std::int8_t>(at);
        break;
      case Scalar::Int16:
        v.i[l] = read<std::int16_t>(at);
        break;
      case Scalar::Int32:
        v.i[l] = read<std::int32_t>(at);
        break;
      case Scalar::Int64:
        v.i[l] = read<std::int64_t>(at);
        break;
      case Scalar::Float32:
        v.f[l] = read<float>(at);
        break;
      case Scalar::Float64:
        v.f[l] = read<double>(at);
        break;
      case Scalar::Float16:
        v.f[l] = float_of_half(read<std::uint16_t>(at));
        break;
    }
  }

  static void put(DataType type, std::uint8_t* at, const Value& v, int l) {
    switch (type.scalar) {
      case Scalar::Bool:
      case Scalar::UInt8:
      case Scalar::Int8:
        write(at, static_cast<std::uint8_t>(v.i[l]));
        break;
      case Scalar::Int16:
        write(at, static_cast<std::int16_t>(v.i[l]));
        break;
      case Scalar::Int32:
        write(at, static_cast<std::int32_t>(v.i[l]));
        break;
      case Scalar::Int64:
        write(at, v.i[l]);
        break;
      case Scalar::Float32:
        write(at, static_cast<float>(v.f[l]));
        break;
      case Scalar::Float64:
        write(at, v.f[l]);
        break;
      case Scalar::Float16:
        write(at, half_of(v.f[l]));
        break;
    }
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
