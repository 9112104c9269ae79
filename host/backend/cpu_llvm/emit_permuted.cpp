// FunctionEmitter: loads whose lanes repeat or skip neighbouring elements, such as those of
// several groups of channels: a whole vector is loaded, and its elements are put in place.
#include "host/backend/cpu_llvm/function_emitter.h"

#include <algorithm>

namespace fettle::backend::cpu_llvm {

namespace {

// Most elements that are loaded for one that is used.
constexpr std::int64_t kMostLoaded = 4;
// Elements of the largest block that a window of the buffer begins and ends with.
constexpr std::int64_t kLargestBlock = 64;

std::int64_t floor_of(std::int64_t a, std::int64_t b) { return (a - ((a % b) + b) % b) / b; }

bool same_in_each_lane(const std::vector<std::int64_t>& offsets) {
  return std::all_of(offsets.begin(), offsets.end(),
                     [&](std::int64_t offset) { return offset == offsets[0]; });
}

}  // namespace

// The index as base + a constant of each lane's own, when it has that form.
std::optional<FunctionEmitter::LaneForm> FunctionEmitter::as_lanes(const ir::Expr& expr) const {
  const auto lanes = static_cast<std::size_t>(expr->type.lanes);
  if (const std::int64_t* constant = ir::as_int(expr)) {
    return LaneForm{ir::int_imm(0, expr->type.element()),
                    std::vector<std::int64_t>(lanes, *constant)};
  }
  if (std::optional<RampForm> ramp = as_ramp(expr)) {
    const std::int64_t* constant = ir::as_int(ramp->base);
    LaneForm form{constant ? ir::int_imm(0, expr->type.element()) : ramp->base, {}};
    for (std::size_t i = 0; i < lanes; ++i) {
      form.offsets.push_back((constant ? *constant : 0) +
                             static_cast<std::int64_t>(i) * ramp->stride);
    }
    return form;
  }
  const auto* binary = std::get_if<ir::Binary>(&expr->node);
  if (binary == nullptr) return std::nullopt;
  std::optional<LaneForm> a = as_lanes(binary->a), b = as_lanes(binary->b);
  if (!a || !b) return std::nullopt;
  const auto each = [&](const ir::Expr& base, const auto& f) {
    LaneForm form{base, {}};
    for (std::size_t i = 0; i < lanes; ++i) form.offsets.push_back(f(a->offsets[i], b->offsets[i]));
    return form;
  };
  const std::int64_t *a_base = ir::as_int(a->base), *b_base = ir::as_int(b->base);
  switch (binary->op) {
    case ir::BinaryOp::Add:
      return each(a->base + b->base, [](auto x, auto y) { return x + y; });
    case ir::BinaryOp::Sub:
      return each(a->base - b->base, [](auto x, auto y) { return x - y; });
    case ir::BinaryOp::Mul:
      if (!b_base || !same_in_each_lane(b->offsets)) return std::nullopt;
      return each(a->base * ir::int_imm(b->offsets[0], a->base->type),
                  [](auto x, auto y) { return x * y; });
    case ir::BinaryOp::Div:
      if (!a_base || !b_base || b->offsets[0] < 1) return std::nullopt;
      return each(a->base, [](auto x, auto y) { return floor_of(x, y); });
    case ir::BinaryOp::Mod:
      if (!a_base || !b_base || b->offsets[0] < 1) return std::nullopt;
      return each(a->base, [](auto x, auto y) { return x - floor_of(x, y) * y; });
    default:
      return std::nullopt;
  }
}

// Null: the lanes are too far apart. The window that is loaded is made of whole blocks of the
// buffer, so that lanes of neighbouring indices share one load.
llvm::Value* FunctionEmitter::load_permuted(const ir::ExprNode& node, const ir::Load& load) {
  const std::optional<LaneForm> form = as_lanes(load.indices[0]);
  if (!form) return nullptr;
  Linear sum;
  add_terms(form->base, 1, sum);
  std::int64_t block = kLargestBlock;
  const auto divides = [&](std::int64_t value) {
    while (value % block != 0) block /= 2;
  };
  divides(load.buffer->elements());
  for (const Term& term : sum.terms) divides(term.factor);
  const auto [least, most] = std::minmax_element(form->offsets.begin(), form->offsets.end());
  const auto window = [&](std::int64_t of) {
    const std::int64_t begin = floor_of(*least + sum.constant, of) * of,
                       end = (floor_of(*most + sum.constant, of) + 1) * of;
    return std::pair(begin, end - begin);
  };
  // Blocks larger than what is read anyway gain nothing.
  while (block > 1 && window(block / 2).second < window(block).second) block /= 2;
  const auto [begin, size] = window(block);
  if (size > kMostLoaded * node.type.lanes) return nullptr;
  llvm::Align alignment;
  llvm::Value* from = address(load.buffer, form->base, begin - sum.constant, alignment);
  auto* all =
      llvm::FixedVectorType::get(memory_type(node.type.element()), static_cast<unsigned>(size));
  std::vector<int> places;
  for (const std::int64_t offset : form->offsets) {
    places.push_back(static_cast<int>(offset + sum.constant - begin));
  }
  llvm::Value* got = builder_.CreateAlignedLoad(all, from, alignment);
  return from_memory(node.type, builder_.CreateShuffleVector(got, places));
}

}  // namespace fettle::backend::cpu_llvm
