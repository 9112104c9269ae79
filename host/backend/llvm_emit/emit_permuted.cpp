// FunctionEmitter: loads whose lanes repeat or skip neighbouring elements, such as those of
// several groups of channels: a whole vector is loaded, and its elements are put in place.
#include "host/backend/llvm_emit/function_emitter.h"

#include <algorithm>

namespace fettle::backend::llvm_emit {

namespace {

// Most elements that are loaded for one that is used.
constexpr std::int64_t kMostLoaded = 4;
// Elements of the largest block that a window of the buffer begins and ends with.
constexpr std::int64_t kLargestBlock = 64;

std::int64_t floor_of(std::int64_t a, std::int64_t b) { return (a - ((a % b) + b) % b) / b; }

}  // namespace

// Null: the lanes are too far apart. The window that is loaded is made of whole blocks of the
// buffer, so that lanes of neighbouring indices share one load.
llvm::Value* FunctionEmitter::load_permuted(const ir::ExprNode& node, const ir::Load& load) {
  const std::optional<ir::LaneOffsets> form = ir::lane_offsets(load.indices[0]);
  if (!form) return nullptr;
  const ir::LeafSum sum = ir::leaf_sum_of(form->base);
  std::int64_t block = kLargestBlock;
  const auto divides = [&](std::int64_t value) {
    while (value % block != 0) block /= 2;
  };
  divides(load.buffer->elements());
  for (const auto& [leaf, factor] : sum.terms) divides(factor);
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

}  // namespace fettle::backend::llvm_emit
