// Elements put at places that a tensor of whole numbers names, known when the network runs or
// before. Places from the end are negative; what lies outside is put nowhere. Where several are put
// at one place, the last one stays, or all are combined.
#include <algorithm>
#include <functional>

#include "host/model/operators/call.h"

namespace fettle::model {
namespace {

using ir::BinaryOp;
using space::Combiner;

// Each element of the data is held to each place.
constexpr std::int64_t kMostCompared = std::int64_t{1} << 32;

Result<void> check(const NodeCall& call, const Shape& data, std::int64_t places) {
  const ir::DataType type{call.scalar(0)};
  if (!type.is_int()) return invalid("its indices are " + ir::to_string(type));
  std::int64_t compared = std::max<std::int64_t>(places, 1);
  for (const std::int64_t extent : data) {
    if (extent > 0 && compared > kMostCompared / extent) {
      return unsupported("so many places of so many elements");
    }
    compared *= extent;
  }
  return {};
}

// Whether the input names, at these indices, that place of an axis of `extent`.
ir::Expr names(const NodeCall& call, const std::vector<ir::Expr>& indices, ir::Expr inside,
               const ir::Expr& place, std::int64_t extent) {
  const ir::Expr named = widened(element_where(call, 0, indices, std::move(inside)));
  const auto same = [&](const ir::Expr& wanted) {
    return ir::binary(BinaryOp::Eq, named, ir::cast(named->type, wanted));
  };
  return ir::binary(BinaryOp::Or, same(place), same(place - ir::int_imm(extent)));
}

// What places put at elements, each of which is named by those where `here` holds: the number of
// the last one, -1 where there is none, without a second input; or the updates combined.
Written put(const NodeCall& call, const std::vector<space::Axis>& axes, const space::Axis& k,
            const ir::Expr& here, const std::function<ir::Expr()>& update, Combiner combiner) {
  if (!call.has(1)) {
    return written(call.add("last", axes, {k},
                            ir::select(here, ir::var_ref(k.var), ir::int_imm(-1)), Combiner::Max));
  }
  // Neutral in the input's own type, to which it is made again.
  const ir::Expr none = widened(space::neutral_of(combiner, {call.scalar(1), 1}));
  return written(call.add("put", axes, {k}, ir::select(here, widened(update()), none), combiner));
}

Result<Combiner> combiner_of(const NodeCall& call) {
  const std::string word = call.word("combine");
  if (word == "add") return Combiner::Sum;
  if (word == "max") return Combiner::Max;
  if (word == "min") return Combiner::Min;
  return invalid("combines by " + word);
}

// At elements of `extents`, by [k, n] places in n axes; updates are [k, …], slices of the behind.
Result<Written> put_at(const NodeCall& call) {
  const Shape &places = call.shape(0), extents = call.list("extents");
  const auto combiner = combiner_of(call);
  if (!combiner) return combiner.error();
  if (places.size() != 2 || extents.empty() || places[1] != std::ssize(extents) ||
      (call.has(1) && (call.shape(1).empty() || call.shape(1)[0] != places[0]))) {
    return invalid("its indices do not fit its input");
  }
  Shape to = extents;
  if (call.has(1)) to.insert(to.end(), call.shape(1).begin() + 1, call.shape(1).end());
  if (auto right = check(call, to, places[0]); !right) return std::move(right).error();
  const auto axes = axes_of(to);
  const auto at = indices_of(axes);
  const space::Axis k = space::make_axis("k", places[0]);
  ir::Expr here;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    const ir::Expr named =
        names(call, {ir::var_ref(k.var), ir::int_imm(std::int64_t(d))}, nullptr, at[d], extents[d]);
    here = here ? ir::binary(BinaryOp::And, here, named) : named;
  }
  call.names_places(0, *std::max_element(extents.begin(), extents.end()));
  const auto update = [&] {
    std::vector<ir::Expr> from = {ir::var_ref(k.var)};
    from.insert(from.end(), at.begin() + std::ssize(extents), at.end());
    return element(call, 1, from);
  };
  return put(call, axes, k, here, update, *combiner);
}

// Along an axis of data of shape `extents`: places and updates stand where they are put but for
// that axis, and may be fewer along the others.
Result<Written> put_along(const NodeCall& call) {
  const Shape &places = call.shape(0), extents = call.list("extents");
  const auto combiner = combiner_of(call);
  if (!combiner) return combiner.error();
  auto axis = axis_number(call.integer("axis"), extents.size());
  if (!axis) return std::move(axis).error();
  if (places.size() != extents.size()) return invalid("its indices have another rank");
  if (call.has(1) && call.shape(1) != places) return invalid("its updates do not fit its indices");
  if (auto right = check(call, extents, places[*axis]); !right) return std::move(right).error();
  const auto axes = axes_of(extents);
  auto at = indices_of(axes);
  ir::Expr inside;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    if (d == *axis || places[d] == extents[d]) continue;
    if (places[d] > extents[d]) return invalid("its indices are more than its elements");
    const ir::Expr before = ir::binary(BinaryOp::Lt, at[d], ir::int_imm(places[d]));
    inside = inside ? ir::binary(BinaryOp::And, inside, before) : before;
  }
  const space::Axis k = space::make_axis("k", places[*axis]);
  const ir::Expr place = at[*axis];
  at[*axis] = ir::var_ref(k.var);
  ir::Expr here = names(call, at, inside, place, extents[*axis]);
  if (inside) here = ir::binary(BinaryOp::And, inside, here);
  call.names_places(0, extents[*axis]);
  const auto update = [&] { return element_where(call, 1, at, inside); };
  return put(call, axes, k, here, update, *combiner);
}

constexpr Operator kScatter[] = {
    {"PutAt", 1, 2, put_at, nullptr},
    {"PutAlong", 1, 2, put_along, nullptr},
};

}  // namespace

std::span<const Operator> scatter_operators() { return kScatter; }

}  // namespace fettle::model
