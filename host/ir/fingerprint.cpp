// Fingerprints (fingerprint.h): the tree in its order, variables and buffers by number of
// appearance, and what is met again by the number of its first appearance.
#include "host/ir/fingerprint.h"

#include <cstring>
#include <type_traits>
#include <unordered_map>

#include "host/ir/visit.h"

namespace fettle::ir {
namespace {

class Writer {
 public:
  std::string bytes;

  void function(const Function& f) {
    text(f.name);
    list(f.params, [&](const Buffer& b) { buffer(b); });
    list(f.written, [&](bool written) { value(written); });
    var(f.parallel);
    value(f.extent);
    var(f.thread);
    value(f.texels);
    stmt(f.body);
  }

 private:
  // Before what they stand for; kinds of nodes are counted from 0.
  enum Mark : std::uint8_t { kNone = 0xf0, kNew, kAgain };

  template <typename T>
  void value(T v) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_pointer_v<T>);
    char raw[sizeof v];
    std::memcpy(raw, &v, sizeof v);
    bytes.append(raw, sizeof v);
  }
  void text(const std::string& t) {
    value(t.size());
    bytes += t;
  }
  template <typename List, typename F>
  void list(const List& all, F f) {
    value(all.size());
    for (const auto& each : all) f(each);
  }
  void type(DataType t) { value(t.scalar), value(t.lanes); }

  // Whether it is met for the first time, and must be told.
  template <typename T>
  bool is_new(std::unordered_map<const T*, std::uint32_t>& known, const T* one) {
    if (!one) {
      value(kNone);
      return false;
    }
    const auto [place, added] = known.emplace(one, static_cast<std::uint32_t>(known.size()));
    value(added ? kNew : kAgain);
    if (!added) value(place->second);
    return added;
  }
  void var(const Var& v) {
    if (is_new(vars_, v.get())) type(v->type);
  }
  void buffer(const Buffer& b) {
    if (!is_new(buffers_, b.get())) return;
    type(b->type);
    list(b->shape, [&](std::int64_t extent) { value(extent); });
    value(b->scope);
    value(b->alignment);
  }

  void expr(const Expr& e) {
    if (!e) return value(kNone);
    const std::uint32_t place = place_++;
    if (!is_leaf(e) && e.use_count() > 1) {
      const auto [known, added] = seen_.emplace(e.get(), place);
      if (!added) {
        value(kAgain);
        return value(known->second);
      }
    }
    value(static_cast<std::uint8_t>(e->node.index()));
    type(e->type);
    visit(
        e, [&](const OneOf<IntImm, FloatImm> auto& n) { value(n.value); },
        [&](const VarRef& n) { var(n.var); }, [&](const Unary& n) { value(n.op); },
        [&](const Binary& n) { value(n.op); }, [&](const Intrinsic& n) { value(n.row); },
        [&](const Load& n) { load(n); }, [&](const Ramp& n) { value(n.stride); },
        [](const OneOf<MulAdd, Select, Cast, Reinterpret, Broadcast> auto&) {});
    for_each_child(e, [&](const Expr& child) { expr(child); });
  }
  void load(const Load& n) {
    buffer(n.buffer);
    value(n.indices.size());
    value(n.predicate != nullptr);
  }

  void stmt(const Stmt& s) {
    if (!s) return value(kNone);
    value(static_cast<std::uint8_t>(s->node.index()));
    visit(
        s,
        [&](const For& n) {
          var(n.var);
          value(n.kind), value(n.axis), value(n.pipeline.stages), value(n.pipeline.async);
        },
        [&](const Store& n) {
          buffer(n.buffer);
          value(n.indices.size());
          value(n.predicate != nullptr);
        },
        [&](const Block& n) { value(n.stmts.size()); },
        [&](const IfThenElse& n) { value(n.else_stmt != nullptr); },
        [&](const Allocate& n) { buffer(n.buffer); }, [&](const Let& n) { var(n.var); },
        [&](const Barrier& n) { value(n.scope); }, [&](const TileCall& n) { value(n.row); },
        [](const AsyncCopies&) {}, [&](const AwaitCopies& n) { value(n.left); });
    for_each_part(s, [&](const Stmt& part) { stmt(part); }, [&](const Expr& part) { expr(part); });
  }

  std::unordered_map<const VarDecl*, std::uint32_t> vars_;
  std::unordered_map<const BufferDecl*, std::uint32_t> buffers_;
  std::unordered_map<const ExprNode*, std::uint32_t> seen_;
  std::uint32_t place_ = 0;
};

}  // namespace

std::string fingerprint(const Function& function) {
  Writer writer;
  writer.function(function);
  return std::move(writer.bytes);
}

}  // namespace fettle::ir
