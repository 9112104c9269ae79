// Expressions and stores of the interpreter (evaluator.h).
#include "host/ir/evaluator.h"

#include <algorithm>
#include <cmath>

#include "host/ir/fold.h"
#include "host/ir/intrinsics.h"
#include "host/ir/visit.h"

namespace fettle::ir {

void Meetings::read(std::int64_t element, int thread, std::int64_t barriers,
                    const std::string& buffer) {
  Element& last = last_[element];
  if (last.write.barriers == barriers && last.write.thread != thread) {
    throw Stop{buffer + " element " + std::to_string(element) +
               " read without a barrier after another thread wrote it"};
  }
  const bool others = last.read.barriers == barriers && last.read.thread != thread;
  last.read = {others ? kSeveral : thread, barriers};
}

void Meetings::written(std::int64_t element, int thread, std::int64_t barriers,
                       const std::string& buffer) {
  Element& last = last_[element];
  if (last.read.barriers == barriers && last.read.thread != thread) {
    throw Stop{buffer + " element " + std::to_string(element) +
               " written without a barrier after another thread read it"};
  }
  const bool others = last.write.barriers == barriers && last.write.thread != thread;
  last.write = {others ? kSeveral : thread, barriers};
}

void Evaluator::bind(const Buffer& buffer, std::span<std::uint8_t> bytes) {
  if (static_cast<std::int64_t>(bytes.size()) < buffer->elements() * buffer->type.bytes()) {
    throw Stop{"buffer " + buffer->name + " has " + std::to_string(bytes.size()) + " bytes"};
  }
  here_.storage[buffer.get()] = {bytes.data(), buffer->elements(), nullptr};
}
std::int64_t Evaluator::integer(const Expr& e) {
  Value v;
  ++evaluation_;
  eval(e, v);
  return v.i[0];
}

const Storage& Evaluator::storage(const Buffer& buffer) {
  auto it = here_.storage.find(buffer.get());
  if (it == here_.storage.end()) throw Stop{"buffer " + buffer->name + " is not bound"};
  return it->second.others ? it->second.others->of(here_.thread) : it->second;
}

const Storage& OfThreads::of(int thread) {
  auto [place, fresh] = own_.try_emplace(thread);
  Own& own = place->second;
  if (fresh) {
    own.bytes.assign(std::size_t(elements_) * std::size_t(bytes_), 0xCD);
    own.written.assign(std::size_t(elements_), false);
    own.storage = {own.bytes.data(), elements_, &own.written};
  }
  return own.storage;
}

// Flat element numbers of an access, -1 for lanes that are off.
void Evaluator::locate(const Buffer& buffer, const std::vector<Expr>& indices,
                       const Expr& predicate, int lanes, std::int64_t* at) {
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

void Evaluator::store(const Store& n) {
  Value value;
  ++evaluation_;
  eval(n.value, value);
  std::int64_t at[kMostLanes];
  locate(n.buffer, n.indices, n.predicate, value.type.lanes, at);
  const Storage& to = storage(n.buffer);
  LateStore late{n.buffer, {}, {}, here_.thread};
  const int bytes = n.buffer->type.bytes();
  for (int l = 0; l < value.type.lanes; ++l) {
    if (at[l] < 0) continue;
    if (later_ && to.meetings) {
      late.at.push_back(at[l]);
      late.bytes.resize(late.bytes.size() + std::size_t(bytes));
      put(n.buffer->type, &late.bytes[late.bytes.size() - std::size_t(bytes)], value, l);
      // It may be there at once, too.
      to.meetings->written(at[l], here_.thread, barriers_, n.buffer->name);
      continue;
    }
    put(n.buffer->type, to.bytes + at[l] * n.buffer->type.bytes(), value, l);
    if (to.written) (*to.written)[at[l]] = true;
    if (to.meetings) to.meetings->written(at[l], here_.thread, barriers_, n.buffer->name);
  }
  if (!late.at.empty()) here_.copies.back().push_back(std::move(late));
}

void Evaluator::await_copies(int left) {
  for (; here_.copies.size() > std::size_t(left); here_.copies.pop_front()) {
    for (const LateStore& late : here_.copies.front()) put_late(late);
  }
}

void Evaluator::put_late(const LateStore& late) {
  const Storage& to = storage(late.buffer);
  const auto bytes = std::size_t(late.buffer->type.bytes());
  for (std::size_t i = 0; i < late.at.size(); ++i) {
    const std::int64_t at = late.at[i];
    std::copy_n(&late.bytes[i * bytes], bytes, to.bytes + at * std::int64_t(bytes));
    (*to.written)[std::size_t(at)] = true;
    to.meetings->written(at, late.thread, barriers_, late.buffer->name);
  }
}

void Evaluator::eval(const Expr& e, Value& out) {
  if (e.use_count() < 2 || is_leaf(e)) return compute(e, out);
  Known& known = known_[e.get()];
  const auto copy = [lanes = e->type.lanes](const Value& from, Value& to) {
    to.type = from.type;
    std::copy_n(from.i, lanes, to.i);
  };
  if (known.evaluation == evaluation_) return copy(known.value, out);
  compute(e, out);
  known.evaluation = evaluation_;
  copy(out, known.value);
}

void Evaluator::compute(const Expr& e, Value& out) {
  const DataType type = e->type;
  const int lanes = type.lanes;
  if (lanes > kMostLanes) throw Stop{"more than 128 lanes"};
  visit(
      e, [&](const IntImm& n) { out.i[0] = n.value; },
      [&](const FloatImm& n) { out.f[0] = n.value; },
      [&](const VarRef& n) {
        auto it = here_.variables.find(n.var.get());
        if (it == here_.variables.end()) throw Stop{"variable " + n.var->name + " has no value"};
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

void Evaluator::load(const Load& n, DataType type, Value& out) {
  std::int64_t at[kMostLanes];
  locate(n.buffer, n.indices, n.predicate, type.lanes, at);
  const Storage& from = storage(n.buffer);
  for (int l = 0; l < type.lanes; ++l) {
    out.i[l] = 0;  // also the double 0
    if (at[l] < 0) continue;
    if (from.written && !(*from.written)[at[l]]) {
      throw Stop{n.buffer->name + " element " + std::to_string(at[l]) + " read before written"};
    }
    if (from.meetings) from.meetings->read(at[l], here_.thread, barriers_, n.buffer->name);
    get(n.buffer->type, from.bytes + at[l] * n.buffer->type.bytes(), out, l);
  }
}

void Evaluator::reinterpret(const Reinterpret& n, DataType type, Value& out) {
  eval(n.value, out);
  const DataType from = n.value->type;
  std::uint8_t bytes[8 * kMostLanes];
  if (from.bytes() * from.lanes != type.bytes() * type.lanes) throw Stop{"size of reinterpret"};
  for (int l = 0; l < from.lanes; ++l) put(from, bytes + l * from.bytes(), out, l);
  for (int l = 0; l < type.lanes; ++l) get(type, bytes + l * type.bytes(), out, l);
}

}  // namespace fettle::ir
