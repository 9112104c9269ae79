// GpuFunction, third part: instructions of a whole warp on tiles of matrices: WMMA, of compute
// capability 7.0 on. Each row of ir::intrinsics() of a warp's threads is a row here.
#include <algorithm>

#include <llvm/IR/IntrinsicsNVPTX.h>

#include "host/backend/cuda_ptx/gpu_function.h"

namespace fettle::backend::cuda_ptx {
namespace {

namespace Id = llvm::Intrinsic;

enum class Does { Fill, Load, Multiply, Store };

struct TileRow {
  const char* name;
  Does does;
  // Of copies: those whose elements lie side by side along the matrix's second side, and its first.
  llvm::Intrinsic::ID by_rows, by_columns;
  // The second side.
  bool ir::Operand::* second;
};

constexpr TileRow kRows[] = {
    {"wmma_zero", Does::Fill, Id::not_intrinsic, Id::not_intrinsic, nullptr},
    {"wmma_f16_a", Does::Load, Id::nvvm_wmma_m16n16k16_load_a_f16_row_stride,
     Id::nvvm_wmma_m16n16k16_load_a_f16_col_stride, &ir::Operand::along_k},
    {"wmma_f16_b", Does::Load, Id::nvvm_wmma_m16n16k16_load_b_f16_row_stride,
     Id::nvvm_wmma_m16n16k16_load_b_f16_col_stride, &ir::Operand::along_n},
    {"wmma_f16", Does::Multiply, Id::not_intrinsic, Id::not_intrinsic, nullptr},
    {"wmma_store", Does::Store, Id::nvvm_wmma_m16n16k16_store_d_f32_row_stride,
     Id::nvvm_wmma_m16n16k16_store_d_f32_col_stride, &ir::Operand::along_n},
};

// By how a and b were loaded.
llvm::Intrinsic::ID multiply(bool a_by_columns, bool b_by_columns) {
  if (a_by_columns) {
    return b_by_columns ? Id::nvvm_wmma_m16n16k16_mma_col_col_f32_f32
                        : Id::nvvm_wmma_m16n16k16_mma_col_row_f32_f32;
  }
  return b_by_columns ? Id::nvvm_wmma_m16n16k16_mma_row_col_f32_f32
                      : Id::nvvm_wmma_m16n16k16_mma_row_row_f32_f32;
}

std::int64_t coefficient(const ir::LeafSum& sum, const ir::Var& var) {
  for (const auto& [leaf, factor] : sum.terms) {
    const auto* ref = std::get_if<ir::VarRef>(&leaf->node);
    if (ref && ref->var == var) return factor;
  }
  return 0;
}

}  // namespace

// A tile of a fragment, by where it begins; a thread's part of it is eight registers.
GpuFunction::Tile& GpuFunction::tile_of(const ir::TileCall& call, std::size_t operand) {
  const auto& load = std::get<ir::Load>(call.operands[operand]->node);
  const ir::LeafSum sum = ir::leaf_sum_of(load.indices[0]);
  for (const auto& [leaf, factor] : sum.terms) {
    const auto* ref = std::get_if<ir::VarRef>(&leaf->node);
    const bool side =
        ref && (ref->var == call.row->m || ref->var == call.row->n || ref->var == call.row->k);
    if (!side) fail("a tile of " + load.buffer->name + " that is not known beforehand");
  }
  Tile& tile = tiles_[{load.buffer.get(), sum.constant}];
  if (tile.registers.empty()) {
    const bool half = load.buffer->type.scalar == ir::Scalar::Float16;
    llvm::Type* type =
        half ? llvm::FixedVectorType::get(builder_.getHalfTy(), 2) : builder_.getFloatTy();
    llvm::BasicBlock& entry = current_->getEntryBlock();
    llvm::IRBuilder<> at_entry(&entry, entry.begin());
    for (int i = 0; i < 8; ++i) tile.registers.push_back(at_entry.CreateAlloca(type));
  }
  return tile;
}

std::vector<llvm::Value*> GpuFunction::values_of(const Tile& tile) {
  std::vector<llvm::Value*> values;
  for (llvm::AllocaInst* each : tile.registers) {
    values.push_back(builder_.CreateLoad(each->getAllocatedType(), each));
  }
  return values;
}

void GpuFunction::set(const Tile& tile, llvm::Value* values) {
  for (unsigned i = 0; i < tile.registers.size(); ++i) {
    builder_.CreateStore(builder_.CreateExtractValue(values, i), tile.registers[i]);
  }
}

void GpuFunction::emit(const ir::TileCall& call) {
  const ir::IntrinsicRow& row = *call.row;
  const auto* way = std::ranges::find_if(
      kRows, [&](const TileRow& each) { return std::string_view(each.name) == row.name; });
  const auto& there = options_.instructions;
  if (way == std::end(kRows) || std::ranges::find(there, &row) == there.end()) {
    return fail(std::string("the device has no instruction for ") + row.name);
  }
  if (shape_.block[0] != row.threads) {
    return fail(std::string(row.name) + " in blocks of " + std::to_string(shape_.block[0]) +
                " threads along x");
  }
  for (const ir::Var& side : {row.m, row.n, row.k}) {
    variables_[side.get()] = {builder_.getInt32(0), llvm::ConstantInt::get(index_type_, 0), 0,
                              true};
  }
  const std::size_t last = call.operands.size() - 1;
  if (way->does == Does::Fill) {
    for (llvm::AllocaInst* each : tile_of(call, last).registers) {
      builder_.CreateStore(llvm::Constant::getNullValue(each->getAllocatedType()), each);
    }
    return;
  }
  if (way->does == Does::Multiply) {
    const Tile &a = tile_of(call, 0), &b = tile_of(call, 1), &sum = tile_of(call, 2);
    std::vector<llvm::Value*> args;
    for (const Tile* tile : {&a, &b, &sum}) {
      for (llvm::Value* value : values_of(*tile)) args.push_back(value);
    }
    set(sum, builder_.CreateIntrinsic(multiply(a.by_columns, b.by_columns), {}, args));
    return;
  }
  // Between memory, by its first operand or its last, and a fragment.
  const bool loads = way->does == Does::Load;
  const ir::Operand& operand = row.operands[loads ? 0 : last];
  const auto& memory = std::get<ir::Load>(call.operands[loads ? 0 : last]->node);
  const ir::LeafSum sum = ir::leaf_sum_of(memory.indices[0]);
  const ir::Var second = way->second == &ir::Operand::along_k ? row.k : row.n,
                first = operand.along_m ? row.m : row.k;
  const bool by_rows = coefficient(sum, second) == 1;
  const std::int64_t stride = coefficient(sum, by_rows ? first : second);
  if (!by_rows && coefficient(sum, first) != 1) {
    return fail("tiles of " + memory.buffer->name + " lie apart");
  }
  llvm::Align alignment;
  llvm::Value* at = address(memory.buffer, memory.indices[0], 0, alignment);
  llvm::Value* pitch = builder_.getInt32(static_cast<std::uint32_t>(stride));
  const llvm::Intrinsic::ID id = by_rows ? way->by_rows : way->by_columns;
  Tile& tile = tile_of(call, loads ? last : 0);
  if (error_) return;
  if (loads) {
    tile.by_columns = !by_rows;
    return set(tile, builder_.CreateIntrinsic(id, {at->getType()}, {at, pitch}));
  }
  std::vector<llvm::Value*> args{at};
  for (llvm::Value* value : values_of(tile)) args.push_back(value);
  args.push_back(pitch);
  builder_.CreateIntrinsic(id, {at->getType()}, args);
}

}  // namespace fettle::backend::cuda_ptx
