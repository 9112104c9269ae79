// GpuFunction, third part: instructions of a whole warp on tiles of matrices: WMMA, of compute
// capability 7.0 on. Each row of ir::intrinsics() of a warp's threads is a row here.
#include <algorithm>
#include <array>

#include <llvm/IR/IntrinsicsNVPTX.h>

#include "host/backend/cuda_ptx/gpu_function.h"

namespace fettle::backend::cuda_ptx {
namespace {

namespace Id = llvm::Intrinsic;

enum class Does { Fill, Load, Multiply, Store };

// What a thread holds of a factor's tile. Of a sum's it holds eight floats.
enum class Registers {
  Halves,  // eight times two of them
  Tf32     // the bits of four floats
};

struct TileRow {
  const char* name;
  Does does;
  // Of copies: those whose elements lie side by side along the matrix's second side, and its first.
  // Of products: by how a and b were loaded: both by rows; b, a, both by columns.
  std::array<llvm::Intrinsic::ID, 4> ways{};
  // The second side.
  bool ir::Operand::* second = nullptr;
  Registers factor = Registers::Halves;  // that it loads or multiplies
};

constexpr TileRow kRows[] = {
    {"wmma_f16_zero", Does::Fill},
    {"wmma_f16_a",
     Does::Load,
     {Id::nvvm_wmma_m16n16k16_load_a_f16_row_stride, Id::nvvm_wmma_m16n16k16_load_a_f16_col_stride},
     &ir::Operand::along_k},
    {"wmma_f16_b",
     Does::Load,
     {Id::nvvm_wmma_m16n16k16_load_b_f16_row_stride, Id::nvvm_wmma_m16n16k16_load_b_f16_col_stride},
     &ir::Operand::along_n},
    {"wmma_f16",
     Does::Multiply,
     {Id::nvvm_wmma_m16n16k16_mma_row_row_f32_f32, Id::nvvm_wmma_m16n16k16_mma_row_col_f32_f32,
      Id::nvvm_wmma_m16n16k16_mma_col_row_f32_f32, Id::nvvm_wmma_m16n16k16_mma_col_col_f32_f32}},
    {"wmma_f16_store",
     Does::Store,
     {Id::nvvm_wmma_m16n16k16_store_d_f32_row_stride,
      Id::nvvm_wmma_m16n16k16_store_d_f32_col_stride},
     &ir::Operand::along_n},
    {"wmma_tf32_zero", Does::Fill},
    {"wmma_tf32_a",
     Does::Load,
     {Id::nvvm_wmma_m16n16k8_load_a_tf32_row_stride, Id::nvvm_wmma_m16n16k8_load_a_tf32_col_stride},
     &ir::Operand::along_k,
     Registers::Tf32},
    {"wmma_tf32_b",
     Does::Load,
     {Id::nvvm_wmma_m16n16k8_load_b_tf32_row_stride, Id::nvvm_wmma_m16n16k8_load_b_tf32_col_stride},
     &ir::Operand::along_n,
     Registers::Tf32},
    {"wmma_tf32",
     Does::Multiply,
     {Id::nvvm_wmma_m16n16k8_mma_row_row_tf32, Id::nvvm_wmma_m16n16k8_mma_row_col_tf32,
      Id::nvvm_wmma_m16n16k8_mma_col_row_tf32, Id::nvvm_wmma_m16n16k8_mma_col_col_tf32},
     nullptr,
     Registers::Tf32},
    {"wmma_tf32_store",
     Does::Store,
     {Id::nvvm_wmma_m16n16k8_store_d_f32_row_stride, Id::nvvm_wmma_m16n16k8_store_d_f32_col_stride},
     &ir::Operand::along_n},
};

std::int64_t coefficient(const ir::LeafSum& sum, const ir::Var& var) {
  for (const auto& [leaf, factor] : sum.terms) {
    const auto* ref = std::get_if<ir::VarRef>(&leaf->node);
    if (ref && ref->var == var) return factor;
  }
  return 0;
}

}  // namespace

// A tile of a fragment, by where it begins; a thread's part of it is so many registers.
GpuFunction::Tile& GpuFunction::tile_of(const ir::TileCall& call, std::size_t operand,
                                        llvm::Type* type, int registers) {
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
    llvm::BasicBlock& entry = current_->getEntryBlock();
    llvm::IRBuilder<> at_entry(&entry, entry.begin());
    for (int i = 0; i < registers; ++i) tile.registers.push_back(at_entry.CreateAlloca(type));
    tile.family = call.row->family;
  }
  if (std::string_view(tile.family) != call.row->family) {
    fail(std::string(call.row->name) + " takes a tile of " + tile.family);
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

// What the instruction multiplies must be TF32 already: it drops the other bits as it likes.
llvm::Value* GpuFunction::rounded_to_tf32(llvm::Value* bits) {
  return builder_.CreateIntrinsic(Id::nvvm_f2tf32_rna, {},
                                  {builder_.CreateBitCast(bits, builder_.getFloatTy())});
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
  const auto sums = [&](std::size_t operand) -> Tile& {
    return tile_of(call, operand, builder_.getFloatTy(), 8);
  };
  const auto factor = [&](std::size_t operand) -> Tile& {
    if (way->factor == Registers::Tf32) return tile_of(call, operand, builder_.getInt32Ty(), 4);
    return tile_of(call, operand, llvm::FixedVectorType::get(builder_.getHalfTy(), 2), 8);
  };
  if (way->does == Does::Fill) {
    for (llvm::AllocaInst* each : sums(last).registers) {
      builder_.CreateStore(llvm::Constant::getNullValue(each->getAllocatedType()), each);
    }
    return;
  }
  if (way->does == Does::Multiply) {
    const Tile &a = factor(0), &b = factor(1), &sum = sums(2);
    std::vector<llvm::Value*> args;
    for (const Tile* tile : {&a, &b, &sum}) {
      const bool rounds = way->factor == Registers::Tf32 && tile != &sum;
      for (llvm::Value* value : values_of(*tile)) {
        args.push_back(rounds ? rounded_to_tf32(value) : value);
      }
    }
    const std::size_t how = (a.by_columns ? 2 : 0) + (b.by_columns ? 1 : 0);
    return set(sum, builder_.CreateIntrinsic(way->ways[how], {}, args));
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
  const llvm::Intrinsic::ID id = way->ways[by_rows ? 0 : 1];
  Tile& tile = loads ? factor(last) : sums(0);
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
