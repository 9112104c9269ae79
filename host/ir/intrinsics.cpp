// The table of instructions with a shape (intrinsics.h), and what holds for every row.
#include "host/ir/intrinsics.h"

#include <algorithm>
#include <cassert>

#include "host/ir/equal.h"
#include "host/ir/fold.h"
#include "host/ir/visit.h"

namespace fettle::ir {

namespace {

// Sums of products of bytes in int32, four to a lane: VNNI's vpdpbusd, AArch64's
// sdot, NVIDIA's dp4a, OpenCL's dot.
IntrinsicRow sum_of_byte_products(const char* name, Scalar left,
                                  std::vector<Availability> available) {
  const Operand a{"a", make_var("a", {left, 1}), kInt32, true, false, true, Scope::Register};
  const Operand b{
      "b", make_var("b", {Scalar::Int8, 1}), kInt32, false, true, true, Scope::Register};
  const Operand sum{"sum", make_var("sum"), kInt32, true, true, false, Scope::Register};
  const Expr product = cast(kInt32, var_ref(a.element)) * cast(kInt32, var_ref(b.element));
  return {name, {1, 1, 4}, {a, b, sum}, var_ref(sum.element) + product, {}, std::move(available)};
}

// NVIDIA's WMMA: products of matrices in float32 by a warp's threads together, with tiles in
// fragments; how those get there, and their sums back.
struct Wmma {
  const char *multiply, *load_a, *load_b, *zero, *store;
  Tile tile;
  DataType factor;
  // What is multiplied of an element.
  Expr (*taken)(const Expr& element);
  std::vector<Availability> available;
};

IntrinsicRow wmma_row(const Wmma& of, const char* name, Tile tile, std::vector<Operand> operands,
                      Expr pattern) {
  IntrinsicRow row{name, tile, std::move(operands), std::move(pattern), {}, of.available};
  row.threads = 32;
  row.m = make_var("m"), row.n = make_var("n"), row.k = make_var("k");
  row.family = of.multiply;
  return row;
}

std::vector<IntrinsicRow> wmma_rows(const Wmma& of) {
  const auto operand = [](const char* name, DataType type, const char* along, Scope scope) {
    const auto lies = [&](char axis) {
      return std::string_view(along).find(axis) != std::string_view::npos;
    };
    return Operand{name, make_var(name, type), type, lies('m'), lies('n'), lies('k'), scope};
  };
  const auto copy = [&](const char* name, Tile tile, DataType type, const char* along, Scope from,
                        Scope to) {
    const Operand read = operand("from", type, along, from);
    return wmma_row(of, name, tile, {read, operand("to", type, along, to)}, var_ref(read.element));
  };
  const auto [m, n, k] = of.tile;
  const Operand a = operand("a", of.factor, "mk", Scope::Fragment),
                b = operand("b", of.factor, "nk", Scope::Fragment),
                sum = operand("sum", kFloat32, "mn", Scope::Fragment);
  const Expr product = of.taken(var_ref(a.element)) * of.taken(var_ref(b.element));
  return {wmma_row(of, of.multiply, of.tile, {a, b, sum}, var_ref(sum.element) + product),
          copy(of.load_a, {m, 1, k}, of.factor, "mk", Scope::BlockShared, Scope::Fragment),
          copy(of.load_b, {1, n, k}, of.factor, "nk", Scope::BlockShared, Scope::Fragment),
          wmma_row(of, of.zero, {m, n, 1}, {operand("to", kFloat32, "mn", Scope::Fragment)},
                   float_imm(0)),
          copy(of.store, {m, n, 1}, kFloat32, "mn", Scope::Fragment, Scope::BlockShared)};
}

std::vector<Wmma> wmmas() {
  return {
      {"wmma_f16",
       "wmma_f16_a",
       "wmma_f16_b",
       "wmma_f16_zero",
       "wmma_f16_store",
       {16, 16, 16},
       {Scalar::Float16, 1},
       [](const Expr& half) { return cast(kFloat32, half); },
       {{"cuda_ptx", {"sm_70"}}}},
      {"wmma_tf32",
       "wmma_tf32_a",
       "wmma_tf32_b",
       "wmma_tf32_zero",
       "wmma_tf32_store",
       {16, 16, 8},
       kFloat32,
       [](const Expr& value) { return unary(UnaryOp::Tf32, value); },
       {{"cuda_ptx", {"sm_80"}}}},
  };
}

std::vector<IntrinsicRow> table() {
  std::vector<IntrinsicRow> rows = {
      sum_of_byte_products("dot4_s8s8", Scalar::Int8,
                           {{"aarch64", {"+dotprod"}},
                            {"cuda_ptx", {"sm_61"}},
                            {"opencl_c", {"cl_arm_integer_dot_product_accumulate_int8"}},
                            {"opencl_c", {"cl_khr_integer_dot_product"}}}),
      sum_of_byte_products(
          "dot4_u8s8", Scalar::UInt8,
          {{"x86_64", {"+avx512vnni", "+avx512vl"}}, {"x86_64", {"+avxvnni"}, 256}}),
  };
  for (const Wmma& each : wmmas()) {
    for (IntrinsicRow& row : wmma_rows(each)) rows.push_back(std::move(row));
  }
  for (IntrinsicRow& row : rows) {
    const double steps = double(row.tile.m) * row.tile.n * row.tile.k;
    const OperationCount step = operations_of(row.pattern);
    row.operations = {steps * step.floating, steps * step.integer, steps * step.conditions};
  }
  return rows;
}

// Elements of a lane, lowest bits first.
struct Elements {
  Scalar scalar;
  std::int64_t bits;

  int width() const { return 8 * DataType{scalar, 1}.bytes(); }
  std::int64_t get(int i) const { return wrap(bits >> (i * width()), scalar); }
  void set(int i, std::int64_t value) {
    const std::uint64_t mask = width() == 64 ? ~0ull : (1ull << width()) - 1;
    const auto kept = static_cast<std::uint64_t>(bits) & ~(mask << (i * width()));
    bits = static_cast<std::int64_t>(kept |
                                     ((static_cast<std::uint64_t>(value) & mask) << (i * width())));
  }
};

int place_of(const Operand& operand, const Tile& tile, int m, int n, int k) {
  int place = 0;
  if (operand.along_m) place = m;
  if (operand.along_n) place = place * tile.n + n;
  if (operand.along_k) place = place * tile.k + k;
  return place;
}

using Values = std::vector<std::pair<const VarDecl*, std::int64_t>>;

std::int64_t value_of(const Expr& e, const Values& values) {
  const Scalar scalar = e->type.scalar;
  return visit(
      e, [](const IntImm& n) { return n.value; },
      [&](const VarRef& n) {
        for (const auto& [var, value] : values) {
          if (var == n.var.get()) return value;
        }
        assert(false);
        return std::int64_t{0};
      },
      [&](const Cast& n) { return wrap(value_of(n.value, values), scalar); },
      [&](const Binary& n) {
        return fold_int(n.op, value_of(n.a, values), value_of(n.b, values), n.a->type.scalar)
            .value();
      },
      [](const OneOf<FloatImm, Unary, MulAdd, Intrinsic, Select, Reinterpret, Load, Ramp,
                     Broadcast> auto&) {
        assert(!"patterns of integer rows are made of sums, products and conversions");
        return std::int64_t{0};
      });
}

using Bound = std::vector<const Load*>;  // by operand; null: not met yet

bool matches(const IntrinsicRow& row, const Expr& pattern, const Expr& value, Bound& bound) {
  if (pattern->type != value->type) return false;
  if (const auto* ref = std::get_if<VarRef>(&pattern->node)) {
    const auto* load = std::get_if<Load>(&value->node);
    if (!load || load->predicate) return false;
    for (std::size_t i = 0; i < row.operands.size(); ++i) {
      if (row.operands[i].element != ref->var) continue;
      if (bound[i] && bound[i] != load) return false;
      bound[i] = load;
      return true;
    }
    return false;
  }
  if (pattern->node.index() != value->node.index()) return false;
  if (const auto* op = std::get_if<Binary>(&pattern->node)) {
    const auto& other = std::get<Binary>(value->node);
    if (op->op != other.op) return false;
    const Bound before = bound;
    if (matches(row, op->a, other.a, bound) && matches(row, op->b, other.b, bound)) return true;
    bound = before;
    const bool commutes = op->op == BinaryOp::Add || op->op == BinaryOp::Mul;
    return commutes && matches(row, op->a, other.b, bound) && matches(row, op->b, other.a, bound);
  }
  if (const auto* cast = std::get_if<Cast>(&pattern->node)) {
    return matches(row, cast->value, std::get<Cast>(value->node).value, bound);
  }
  if (const auto* op = std::get_if<Unary>(&pattern->node)) {
    const auto& other = std::get<Unary>(value->node);
    return op->op == other.op && matches(row, op->a, other.a, bound);
  }
  return equal(pattern, value);
}

}  // namespace

bool IntrinsicRow::takes_unsigned() const {
  return std::any_of(operands.begin(), operands.end(), [](const Operand& operand) {
    return operand.element->type.scalar == Scalar::UInt8;
  });
}

std::span<const IntrinsicRow> intrinsics() {
  static const std::vector<IntrinsicRow> rows = table();
  return rows;
}

std::vector<const IntrinsicRow*> intrinsics_of(
    std::string_view arch, int vector_bits,
    const std::function<bool(const std::string& feature)>& has) {
  std::vector<const IntrinsicRow*> there;
  for (const IntrinsicRow& row : intrinsics()) {
    const bool has_it =
        std::any_of(row.available.begin(), row.available.end(), [&](const Availability& where) {
          return where.arch == arch && vector_bits <= where.most_vector_bits &&
                 std::all_of(where.features.begin(), where.features.end(), has);
        });
    if (has_it) there.push_back(&row);
  }
  return there;
}

const IntrinsicRow* find_intrinsic(std::string_view name) {
  for (const IntrinsicRow& row : intrinsics()) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

const IntrinsicRow* find_sum_of_products(Scalar a, Scalar b) {
  for (const IntrinsicRow& row : intrinsics()) {
    if (row.threads == 1 && row.operands.size() == 3 && row.operands[0].element->type.scalar == a &&
        row.operands[1].element->type.scalar == b) {
      return &row;
    }
  }
  return nullptr;
}

Expr intrinsic(const IntrinsicRow& row, std::vector<Expr> args) {
  assert(args.size() == row.operands.size());
  const int lanes = args.back()->type.lanes;
  for (std::size_t i = 0; i < args.size(); ++i) {
    assert(args[i]->type == row.operands[i].packed.with_lanes(lanes));
  }
  const DataType type = row.accumulator().packed.with_lanes(lanes);
  return std::make_shared<const ExprNode>(ExprNode{type, Intrinsic{&row, std::move(args)}});
}

std::optional<std::vector<const Load*>> operands_of(const IntrinsicRow& row, const Expr& value) {
  const auto* sum = std::get_if<Binary>(&row.pattern->node);
  const auto* so_far = sum ? std::get_if<VarRef>(&sum->a->node) : nullptr;
  const bool adds = so_far && sum->op == BinaryOp::Add && so_far->var == row.accumulator().element;
  Bound bound(row.operands.size());
  if (!matches(row, adds ? sum->b : row.pattern, value, bound)) return std::nullopt;
  bound.pop_back();
  if (std::find(bound.begin(), bound.end(), nullptr) != bound.end()) return std::nullopt;
  return bound;
}

std::int64_t execute(const IntrinsicRow& row, std::span<const std::int64_t> operands) {
  std::vector<Elements> lanes;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    lanes.push_back({row.operands[i].element->type.scalar, operands[i]});
  }
  Values values(operands.size());
  for (int m = 0; m < row.tile.m; ++m) {
    for (int n = 0; n < row.tile.n; ++n) {
      for (int k = 0; k < row.tile.k; ++k) {
        for (std::size_t i = 0; i < operands.size(); ++i) {
          const Operand& operand = row.operands[i];
          values[i] = {operand.element.get(), lanes[i].get(place_of(operand, row.tile, m, n, k))};
        }
        lanes.back().set(place_of(row.accumulator(), row.tile, m, n, k),
                         value_of(row.pattern, values));
      }
    }
  }
  return wrap(lanes.back().bits, row.accumulator().packed.scalar);
}

}  // namespace fettle::ir
