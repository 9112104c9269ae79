// Attention (ONNX opset 23): softmax(Q K' scale + mask) V, of what the library has.
#include <algorithm>
#include <cmath>
#include <limits>

#include "host/model/onnx/composer.h"

namespace fettle::model {
namespace {

using List = NodeReader::List;

// [batch, heads, length, size], of that or of [batch, length, heads * size].
ValueId by_heads(Composer& make, ValueId x, std::int64_t heads) {
  const List shape = make.shape(x);
  if (shape.size() != 3) return x;
  const ValueId split = make.reshape(x, {shape[0], shape[1], heads, shape[2] / heads});
  return make("Transpose", {split}, {{"perm", List{0, 2, 1, 3}}});
}

// 0 where a place may look at another one, -infinity where that comes later. The first `past` of
// the keys come before the first query.
ValueId causal_mask(Composer& make, std::int64_t queries, std::int64_t keys, std::int64_t past,
                    ir::Scalar scalar) {
  std::vector<double> values;
  for (std::int64_t q = 0; q < queries; ++q) {
    for (std::int64_t k = 0; k < keys; ++k) {
      values.push_back(k <= q + past ? 0 : -std::numeric_limits<double>::infinity());
    }
  }
  return make.constant(values, {scalar, {queries, keys}});
}

// Added to what queries and keys make; a condition says which pairs count.
ValueId bias_of(Composer& make, ValueId mask, ir::Scalar scalar) {
  if (make.type(mask).scalar != ir::Scalar::Bool) return mask;
  return make("Where", {mask, make.number(0, scalar),
                        make.number(-std::numeric_limits<double>::infinity(), scalar)});
}

// Which queries may look at nothing: they have zeros, by an erratum of ONNX. kNoValue: none surely.
ValueId blind_queries(Composer& make, ValueId bias, ir::Scalar scalar) {
  const auto rank = std::ssize(make.shape(bias));
  if (rank == 0) return kNoValue;
  const double none = -std::numeric_limits<double>::infinity();
  const ValueId blind =
      make("Equal", {make.reduce("ReduceMax", bias, {rank - 1}), make.number(none, scalar)});
  const auto known = make.numbers(blind);
  const bool any =
      !known || std::any_of(known->begin(), known->end(), [](double one) { return one != 0; });
  return any ? blind : kNoValue;
}

// Queries, keys and values by heads, and how many heads of queries share one of keys.
struct Heads {
  List q, k, v;  // shapes
  std::int64_t group = 1;
};

Result<Heads> checked(const NodeReader& node) {
  Heads of{node.shape(0), node.shape(1), node.shape(2), 1};
  const bool flat = of.q.size() == 3;
  const std::int64_t q_heads = node.integer("q_num_heads", 0),
                     kv_heads = node.integer("kv_num_heads", 0);
  for (List* shape : {&of.q, &of.k, &of.v}) {
    if (shape->size() != (flat ? 3 : 4)) return node.invalid("its inputs differ in their axes");
    if (!flat) continue;
    const std::int64_t heads = shape == &of.q ? q_heads : kv_heads;
    if (heads < 1 || shape->back() % heads != 0) {
      return node.invalid("its heads do not divide its inputs");
    }
    *shape = {(*shape)[0], heads, (*shape)[1], (*shape)[2] / heads};
  }
  const bool fit = of.q[0] == of.k[0] && of.k[0] == of.v[0] && of.k[1] == of.v[1] &&
                   of.k[2] == of.v[2] && of.q[3] == of.k[3] && of.q[1] % of.k[1] == 0;
  if (!fit) return node.invalid("its queries, keys and values do not fit each other");
  of.group = of.q[1] / of.k[1];
  return of;
}

Outputs attention(const NodeReader& node) {
  if (!node.has_input(1) || !node.has_input(2)) return node.invalid("lacks keys or values");
  if (std::fabs(node.number("softcap", 0)) > 0) return node.unsupported("a softcap");
  const bool causal = node.integer("is_causal", 0) != 0, past = node.has_input(4);
  if (node.has_input(6)) return node.unsupported("lengths that are known as the network runs");
  if (past != node.has_input(5))
    return node.invalid("has past keys without values, or those alone");
  auto of = checked(node);
  if (!of) return std::move(of).error();
  const ir::Scalar scalar = node.type(0).scalar;
  if (!ir::DataType{scalar}.is_float()) return node.unsupported("of whole numbers");
  const std::int64_t queries = of->q[2];
  const std::int64_t before = past && node.shape(4).size() == 4 ? node.shape(4)[2] : 0;
  if (causal && queries * (before + of->k[2]) > (std::int64_t{1} << 24)) {
    return node.unsupported("a causal mask of more than 2^24 pairs");
  }

  Composer make(node);
  const ValueId q = by_heads(make, node.input(0), of->q[1]);
  ValueId k = by_heads(make, node.input(1), of->k[1]);
  ValueId v = by_heads(make, node.input(2), of->v[1]);
  if (past) {
    k = make("Concat", {node.input(4), k}, {{"axis", 2}});
    v = make("Concat", {node.input(5), v}, {{"axis", 2}});
    if (make.error()) return *make.error();
  }
  const std::int64_t keys = make.shape(k)[2], kv_heads = of->k[1];
  // Heads of queries that share keys are more queries of one head.
  const ValueId grouped = make.reshape(q, {of->q[0], kv_heads, of->group * queries, of->q[3]});
  ValueId pairs = make("MatMul", {grouped, make("Transpose", {k}, {{"perm", List{0, 1, 3, 2}}})});
  const double scale = node.number("scale", 1 / std::sqrt(static_cast<double>(of->q[3])));
  pairs = make("Mul", {pairs, make.number(scale, scalar)});
  pairs = make.reshape(pairs, {of->q[0], of->q[1], queries, keys});
  ValueId bias = node.has_input(3) ? bias_of(make, node.input(3), scalar) : kNoValue;
  if (causal) {
    const ValueId later = causal_mask(make, queries, keys, before, scalar);
    bias = bias == kNoValue ? later : make("Add", {bias, later});
  }
  if (bias != kNoValue) pairs = make("Add", {pairs, bias});
  if (!make.error() && make.shape(pairs) != List{of->q[0], of->q[1], queries, keys}) {
    return node.invalid("its mask is none of its queries and keys");
  }
  const ValueId blind = node.has_input(3) ? blind_queries(make, bias, scalar) : kNoValue;
  ValueId shares = make("Softmax", {pairs}, {{"axis", -1}});
  shares = make.reshape(shares, {of->q[0], kv_heads, of->group * queries, keys});
  ValueId y = make.reshape(make("MatMul", {shares, v}), {of->q[0], of->q[1], queries, of->v[3]});
  if (blind != kNoValue) y = make("Where", {blind, make.number(0, scalar), y});
  if (node.shape(0).size() == 3) {
    y = make.reshape(make("Transpose", {y}, {{"perm", List{0, 2, 1, 3}}}),
                     {of->q[0], queries, of->q[1] * of->v[3]});
  }
  return make.end({y, k, v});
}

constexpr ReaderRow kAttentionReaders[] = {{"Attention", attention}};

}  // namespace

std::span<const ReaderRow> attention_readers() { return kAttentionReaders; }

}  // namespace fettle::model
