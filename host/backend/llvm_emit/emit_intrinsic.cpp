// FunctionEmitter, fifth part: instructions with a shape (host/ir/intrinsics.h), one row each.
#include <algorithm>
#include <numeric>

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsAArch64.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/TargetParser/Triple.h>

#include "host/backend/llvm_emit/function_emitter.h"

namespace fettle::backend::llvm_emit {
namespace {

using Args = std::span<llvm::Value* const>;

unsigned lanes_of(llvm::Value* vector) {
  return llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements();
}

llvm::Value* sdot(llvm::IRBuilder<>& builder, Args args) {
  auto* bytes = llvm::FixedVectorType::get(builder.getInt8Ty(), 4 * lanes_of(args[2]));
  return builder.CreateIntrinsic(
      llvm::Intrinsic::aarch64_neon_sdot, {args[2]->getType(), bytes},
      {args[2], builder.CreateBitCast(args[0], bytes), builder.CreateBitCast(args[1], bytes)});
}

llvm::Value* vpdpbusd(llvm::IRBuilder<>& builder, Args args) {
  const unsigned lanes = lanes_of(args[2]);
  const auto id = lanes == 16  ? llvm::Intrinsic::x86_avx512_vpdpbusd_512
                  : lanes == 8 ? llvm::Intrinsic::x86_avx512_vpdpbusd_256
                               : llvm::Intrinsic::x86_avx512_vpdpbusd_128;
  return builder.CreateIntrinsic(id, {}, {args[2], args[0], args[1]});
}

// Of one lane: LLVM 19 has no name for it.
llvm::Value* dp4a(llvm::IRBuilder<>& builder, Args args) {
  llvm::Type* word = builder.getInt32Ty();
  auto* instruction = llvm::InlineAsm::get(llvm::FunctionType::get(word, {word, word, word}, false),
                                           "dp4a.s32.s32 $0, $1, $2, $3;", "=r,r,r,r",
                                           /*hasSideEffects=*/false);
  std::vector<llvm::Value*> words;
  for (llvm::Value* arg : args) words.push_back(builder.CreateBitCast(arg, word));
  return builder.CreateBitCast(builder.CreateCall(instruction, words), args[2]->getType());
}

struct Emission {
  const char* row;  // name in ir::intrinsics()
  llvm::Triple::ArchType arch;
  int least_lanes, most_lanes;  // of its vectors; powers of two
  llvm::Value* (*emit)(llvm::IRBuilder<>& builder, Args args);
};

constexpr Emission kEmissions[] = {
    {"dot4_s8s8", llvm::Triple::aarch64, 4, 4, sdot},
    {"dot4_s8s8", llvm::Triple::nvptx64, 1, 1, dp4a},
    {"dot4_u8s8", llvm::Triple::x86_64, 4, 16, vpdpbusd},
};

}  // namespace

// Vectors that the instruction does not have are taken apart, short ones filled up.
llvm::Value* FunctionEmitter::value_of(const ir::ExprNode& node, const ir::Intrinsic& call) {
  llvm::Value* nothing = llvm::PoisonValue::get(type(node.type));
  const auto arch = llvm::Triple(module_.getTargetTriple()).getArch();
  const auto* way = std::find_if(std::begin(kEmissions), std::end(kEmissions), [&](const auto& e) {
    return e.arch == arch && std::string_view(e.row) == call.row->name;
  });
  const auto& there = options_.instructions;
  if (way == std::end(kEmissions) ||
      std::find(there.begin(), there.end(), call.row) == there.end()) {
    fail(std::string("the device has no instruction for ") + call.row->name);
    return nothing;
  }
  const int lanes = node.type.lanes;
  const int most = std::min(options_.vector_bits / 32, way->most_lanes);  // of a register
  int widest = way->least_lanes;
  while (2 * widest <= most && widest < lanes) widest *= 2;
  std::vector<llvm::Value*> operands;
  for (const ir::Expr& arg : call.args) {
    llvm::Value* v = value(arg);
    auto* one = llvm::FixedVectorType::get(v->getType()->getScalarType(), 1);
    operands.push_back(lanes == 1 ? builder_.CreateBitCast(v, one) : v);
  }
  if (lanes == widest) return way->emit(builder_, operands);
  llvm::Value* result = nothing;
  for (int at = 0; at < lanes; at += widest) {
    std::vector<int> part(static_cast<std::size_t>(widest), llvm::PoisonMaskElem);
    const int count = std::min(widest, lanes - at);
    std::iota(part.begin(), part.begin() + count, at);
    std::vector<llvm::Value*> parts;
    for (llvm::Value* operand : operands) {
      parts.push_back(builder_.CreateShuffleVector(operand, part));
    }
    llvm::Value* done = way->emit(builder_, parts);
    for (int lane = 0; lane < count; ++lane) {
      llvm::Value* sum = builder_.CreateExtractElement(done, static_cast<std::uint64_t>(lane));
      if (lanes == 1) return sum;
      result = builder_.CreateInsertElement(result, sum, static_cast<std::uint64_t>(at + lane));
    }
  }
  return result;
}

}  // namespace fettle::backend::llvm_emit
