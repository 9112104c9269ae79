// FunctionEmitter, second part: values.
#include "host/backend/llvm_emit/function_emitter.h"

#include <llvm/IR/Intrinsics.h>

#include "host/ir/visit.h"

namespace fettle::backend::llvm_emit {
namespace {

bool is_signed(ir::DataType type) { return type.is_int() && type.scalar != ir::Scalar::UInt8; }

}  // namespace

llvm::Type* FunctionEmitter::memory_type(ir::DataType type) {
  if (!type.is_bool()) return this->type(type);
  llvm::Type* byte = builder_.getInt8Ty();
  return type.lanes == 1 ? byte : llvm::FixedVectorType::get(byte, type.lanes);
}

llvm::Type* FunctionEmitter::type(ir::DataType type) {
  llvm::Type* element = nullptr;
  switch (type.scalar) {
    case ir::Scalar::Bool:
      element = builder_.getInt1Ty();
      break;
    case ir::Scalar::Int8:
    case ir::Scalar::UInt8:
      element = builder_.getInt8Ty();
      break;
    case ir::Scalar::Int16:
      element = builder_.getInt16Ty();
      break;
    case ir::Scalar::Int32:
      element = builder_.getInt32Ty();
      break;
    case ir::Scalar::Int64:
      element = builder_.getInt64Ty();
      break;
    case ir::Scalar::Float16:
      element = builder_.getHalfTy();
      break;
    case ir::Scalar::Float32:
      element = builder_.getFloatTy();
      break;
    case ir::Scalar::Float64:
      element = builder_.getDoubleTy();
      break;
  }
  if (type.lanes == 1) return element;
  return llvm::FixedVectorType::get(element, type.lanes);
}

llvm::Value* FunctionEmitter::broadcast(llvm::Value* scalar, int lanes) {
  if (lanes == 1) return scalar;
  llvm::Value*& known = made_.copies(builder_.GetInsertBlock(), scalar, lanes);
  if (!known) known = builder_.CreateVectorSplat(static_cast<unsigned>(lanes), scalar);
  return known;
}

llvm::Value* FunctionEmitter::value(const ir::Expr& expr) {
  if (expr.use_count() < 2 || ir::is_leaf(expr)) return computed(expr);
  if (auto known = shared_.find(expr);
      known != shared_.end() && known->second.second == builder_.GetInsertBlock()) {
    return known->second.first;
  }
  llvm::Value* made = computed(expr);
  shared_[expr] = {made, builder_.GetInsertBlock()};
  return made;
}

// After a failure it returns poison of the right type; emit() reports the error.
llvm::Value* FunctionEmitter::computed(const ir::Expr& expr) {
  llvm::Value* nothing = llvm::PoisonValue::get(type(expr->type));
  if (error_) return nothing;
  const ir::ExprNode& node = *expr;
  return ir::visit(
      expr,
      [&](const ir::IntImm& imm) -> llvm::Value* {
        return llvm::ConstantInt::getSigned(type(node.type), imm.value);
      },
      [&](const ir::FloatImm& imm) -> llvm::Value* {
        return llvm::ConstantFP::get(type(node.type), imm.value);
      },
      [&](const ir::VarRef& ref) {
        auto found = variables_.find(ref.var.get());
        if (found != variables_.end()) return found->second.value;
        fail("variable " + ref.var->name + " is not bound");
        return nothing;
      },
      [&](const ir::OneOf<ir::Unary, ir::Binary, ir::MulAdd, ir::Intrinsic> auto& n) {
        return value_of(node, n);
      },
      [&](const ir::Select& select) {
        llvm::Value* condition = value(select.condition);
        llvm::Value* yes = value(select.then_value);
        return builder_.CreateSelect(condition, yes, value(select.else_value));
      },
      [&](const ir::Cast& cast) { return converted(node.type, cast.value); },
      [&](const ir::Reinterpret& same) {
        return builder_.CreateBitCast(value(same.value), type(node.type));
      },
      [&](const ir::Load& read) { return load(node, read); },
      [&](const ir::Ramp& ramp) {
        std::vector<llvm::Constant*> steps;
        for (int lane = 0; lane < node.type.lanes; ++lane) {
          steps.push_back(
              llvm::ConstantInt::getSigned(type(node.type.element()), lane * ramp.stride));
        }
        return builder_.CreateAdd(broadcast(value(ramp.base), node.type.lanes),
                                  llvm::ConstantVector::get(steps));
      },
      [&](const ir::Broadcast& copies) { return broadcast(value(copies.value), node.type.lanes); });
}

llvm::Value* FunctionEmitter::value_of(const ir::ExprNode& node, const ir::Unary& unary) {
  llvm::Value* a = value(unary.a);
  const bool is_float = node.type.is_float();
  switch (unary.op) {
    case ir::UnaryOp::Neg:
      return is_float ? builder_.CreateFNeg(a) : builder_.CreateNeg(a);
    case ir::UnaryOp::Not:
      return builder_.CreateNot(a);
    case ir::UnaryOp::Sqrt:
      return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, a);
    case ir::UnaryOp::Floor:
      return is_float ? rounded_down(a) : a;
    case ir::UnaryOp::Abs:
      if (is_float) return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a);
      if (!is_signed(node.type)) return a;
      return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, a, builder_.getFalse());
    case ir::UnaryOp::RoundEven:
      return rounded_even(a);
    case ir::UnaryOp::Tf32: {
      llvm::Type* bits = a->getType()->getWithNewType(builder_.getInt32Ty());
      const auto all = [&](std::uint32_t of) { return llvm::ConstantInt::get(bits, of); };
      llvm::Value* half_more = builder_.CreateAdd(builder_.CreateBitCast(a, bits), all(1u << 12));
      llvm::Value* cut = builder_.CreateAnd(half_more, all(~((1u << 13) - 1)));
      return builder_.CreateBitCast(cut, a->getType());
    }
  }
  return a;
}

// floor() without a libcall: values of 2^23 (2^52) and more are integral already.
llvm::Value* FunctionEmitter::rounded_down(llvm::Value* value) {
  if (options_.has_round) return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, value);
  llvm::Type* type = value->getType();
  const bool single = type->getScalarType()->isFloatTy();
  llvm::Type* whole = single ? type->getWithNewType(builder_.getInt32Ty())
                             : type->getWithNewType(builder_.getInt64Ty());
  llvm::Value* limit = llvm::ConstantFP::get(type, single ? 8388608.0 : 4503599627370496.0);
  llvm::Value* small =
      builder_.CreateFCmpOLT(builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value), limit);
  llvm::Value* safe = builder_.CreateSelect(small, value, llvm::ConstantFP::get(type, 0.0));
  llvm::Value* cut = builder_.CreateSIToFP(builder_.CreateFPToSI(safe, whole), type);
  llvm::Value* down =
      builder_.CreateSelect(builder_.CreateFCmpOGT(cut, safe),
                            builder_.CreateFSub(cut, llvm::ConstantFP::get(type, 1.0)), cut);
  return builder_.CreateSelect(small, down, value);
}

// Without a libcall: beside 2^23 a float32 has no bits for a fraction, and the sum is rounded.
llvm::Value* FunctionEmitter::rounded_even(llvm::Value* value) {
  if (options_.has_round) return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, value);
  llvm::IRBuilder<>::FastMathFlagGuard guard(builder_);
  builder_.setFastMathFlags({});
  llvm::Value* limit = llvm::ConstantFP::get(value->getType(), 8388608.0);
  llvm::Value* size = builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value);
  llvm::Value* whole = builder_.CreateFSub(builder_.CreateFAdd(size, limit), limit);
  llvm::Value* rounded = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, whole, value);
  return builder_.CreateSelect(builder_.CreateFCmpOLT(size, limit), rounded, value);
}

llvm::Value* FunctionEmitter::value_of(const ir::ExprNode& node, const ir::Binary& binary) {
  using ir::BinaryOp;
  llvm::Value* a = value(binary.a);
  llvm::Value* b = value(binary.b);
  const ir::DataType operands = binary.a->type;
  const bool real = operands.is_float();
  const bool sign = is_signed(operands);
  if (binary.op == BinaryOp::Min || binary.op == BinaryOp::Max) {
    const bool less = binary.op == BinaryOp::Min;
    if (!real) {
      auto id = less ? (sign ? llvm::Intrinsic::smin : llvm::Intrinsic::umin)
                     : (sign ? llvm::Intrinsic::smax : llvm::Intrinsic::umax);
      return builder_.CreateBinaryIntrinsic(id, a, b);
    }
    // What is no number stays none. Without signed zeros this is one instruction everywhere where
    // one of the two is a constant, and always on ARM; else x86 takes three.
    llvm::IRBuilder<>::FastMathFlagGuard guard(builder_);
    llvm::FastMathFlags flags;
    flags.setNoSignedZeros();
    builder_.setFastMathFlags(flags);
    const auto id = less ? llvm::Intrinsic::minimum : llvm::Intrinsic::maximum;
    if (operands.scalar != ir::Scalar::Float16 || !options_.fences_halves) {
      return builder_.CreateBinaryIntrinsic(id, a, b);
    }
    // Of halves LLVM makes a call where the CPU has no such instruction: compared as floats.
    llvm::Type* wide = type(ir::kFloat32.with_lanes(operands.lanes));
    const auto widened = [&](llvm::Value* half) {
      return builder_.CreateArithmeticFence(builder_.CreateFPExt(half, wide), wide);
    };
    llvm::Value* chosen = builder_.CreateBinaryIntrinsic(id, widened(a), widened(b));
    return builder_.CreateFPTrunc(chosen, type(operands));
  }
  switch (binary.op) {
    case BinaryOp::Add:
      return real ? builder_.CreateFAdd(a, b) : builder_.CreateAdd(a, b);
    case BinaryOp::Sub:
      return real ? builder_.CreateFSub(a, b) : builder_.CreateSub(a, b);
    case BinaryOp::Mul:
      return real ? builder_.CreateFMul(a, b) : builder_.CreateMul(a, b);
    case BinaryOp::Div:
    case BinaryOp::Mod:
      if (!real) return integer_division(binary, a, b, sign);
      if (binary.op == BinaryOp::Div) return builder_.CreateFDiv(a, b);
      fail("Mod of floats");
      return a;
    case BinaryOp::And:
      return builder_.CreateAnd(a, b);
    case BinaryOp::Or:
      return builder_.CreateOr(a, b);
    case BinaryOp::ShiftLeft:
      return builder_.CreateShl(a, b);
    case BinaryOp::ShiftRight:
      return sign ? builder_.CreateAShr(a, b) : builder_.CreateLShr(a, b);
    case BinaryOp::Eq:
      return real ? builder_.CreateFCmpOEQ(a, b) : builder_.CreateICmpEQ(a, b);
    case BinaryOp::Ne:
      return real ? builder_.CreateFCmpUNE(a, b) : builder_.CreateICmpNE(a, b);
    case BinaryOp::Lt:
      if (real) return builder_.CreateFCmpOLT(a, b);
      return sign ? builder_.CreateICmpSLT(a, b) : builder_.CreateICmpULT(a, b);
    case BinaryOp::Le:
      if (real) return builder_.CreateFCmpOLE(a, b);
      return sign ? builder_.CreateICmpSLE(a, b) : builder_.CreateICmpULE(a, b);
    default:
      break;
  }
  fail("binary operation of type " + ir::to_string(node.type) + " that is not known here");
  return a;
}

// Toward minus infinity; the divisor is positive. Signed machine division rounds
// toward zero, so a negative remainder is mended; none where it cannot be.
llvm::Value* FunctionEmitter::integer_division(const ir::Binary& binary, llvm::Value* a,
                                               llvm::Value* b, bool is_signed) {
  const bool divide = binary.op == ir::BinaryOp::Div;
  if (!is_signed || non_negative(binary.a)) {
    return divide ? builder_.CreateUDiv(a, b) : builder_.CreateURem(a, b);
  }
  if (const std::int64_t* divisor = ir::as_int(binary.b)) {
    const auto bits = static_cast<std::uint64_t>(*divisor);
    if (*divisor > 0 && (bits & (bits - 1)) == 0) {
      llvm::Type* type = a->getType();
      if (!divide) return builder_.CreateAnd(a, llvm::ConstantInt::get(type, bits - 1));
      return builder_.CreateAShr(
          a, llvm::ConstantInt::get(type, static_cast<unsigned>(__builtin_ctzll(bits))));
    }
  }
  llvm::Value* remainder = builder_.CreateSRem(a, b);
  llvm::Value* zero = llvm::Constant::getNullValue(a->getType());
  llvm::Value* below = builder_.CreateICmpSLT(remainder, zero);
  if (!divide) return builder_.CreateSelect(below, builder_.CreateAdd(remainder, b), remainder);
  llvm::Value* quotient = builder_.CreateSDiv(a, b);
  return builder_.CreateAdd(quotient, builder_.CreateSExt(below, a->getType()));
}

llvm::Value* FunctionEmitter::value_of(const ir::ExprNode& node, const ir::MulAdd& fused) {
  llvm::Value* a = value(fused.a);
  llvm::Value* b = value(fused.b);
  llvm::Value* c = value(fused.c);
  if (!node.type.is_float()) return builder_.CreateAdd(builder_.CreateMul(a, b), c);
  // fmuladd would let some targets fuse whatever the profile says.
  if (!options_.fused) return builder_.CreateFAdd(builder_.CreateFMul(a, b), c);
  const auto id = options_.ask_for_fma ? llvm::Intrinsic::fma : llvm::Intrinsic::fmuladd;
  return builder_.CreateIntrinsic(id, {a->getType()}, {a, b, c});
}

llvm::Value* FunctionEmitter::converted(const ir::DataType& to, const ir::Expr& from) {
  llvm::Value* source = value(from);
  const ir::DataType was = from->type;
  llvm::Type* target = type(to);
  if (was.scalar == to.scalar) return source;
  if (to.is_bool()) {
    llvm::Value* zero = llvm::Constant::getNullValue(source->getType());
    return was.is_float() ? builder_.CreateFCmpUNE(source, zero)
                          : builder_.CreateICmpNE(source, zero);
  }
  if (to.is_float()) {
    if (was.is_float()) {
      // By way of float32: few CPUs make halves of doubles, and none has the library's function.
      if (was.scalar == ir::Scalar::Float64 && to.scalar == ir::Scalar::Float16) {
        source = builder_.CreateFPTrunc(source, type(ir::kFloat32.with_lanes(to.lanes)));
      }
      llvm::Value* real = builder_.CreateFPCast(source, target);
      if (was.scalar != ir::Scalar::Float16 || !options_.fences_halves) return real;
      return builder_.CreateArithmeticFence(real, target);
    }
    return is_signed(was) ? builder_.CreateSIToFP(source, target)
                          : builder_.CreateUIToFP(source, target);
  }
  if (was.is_float()) {
    // Of what the integer cannot hold, as NaN, it is some integer, and never more than that.
    return builder_.CreateFreeze(is_signed(to) ? builder_.CreateFPToSI(source, target)
                                               : builder_.CreateFPToUI(source, target));
  }
  return is_signed(was) ? builder_.CreateSExtOrTrunc(source, target)
                        : builder_.CreateZExtOrTrunc(source, target);
}

bool FunctionEmitter::non_negative(const ir::Expr& expr) const {
  if (const std::int64_t* constant = ir::as_int(expr)) return *constant >= 0;
  if (const auto* ref = std::get_if<ir::VarRef>(&expr->node)) {
    auto found = variables_.find(ref->var.get());
    return found != variables_.end() && found->second.non_negative;
  }
  if (const auto* binary = std::get_if<ir::Binary>(&expr->node)) {
    switch (binary->op) {
      case ir::BinaryOp::Add:
      case ir::BinaryOp::Mul:
      case ir::BinaryOp::Min:
        return non_negative(binary->a) && non_negative(binary->b);
      case ir::BinaryOp::Max:
        return non_negative(binary->a) || non_negative(binary->b);
      case ir::BinaryOp::Div:
        return non_negative(binary->a);
      case ir::BinaryOp::Mod:
        return true;
      default:
        return false;
    }
  }
  return false;
}

int FunctionEmitter::depth_of(const ir::Expr& expr) const {
  if (const auto* ref = std::get_if<ir::VarRef>(&expr->node)) {
    auto found = variables_.find(ref->var.get());
    return found == variables_.end() ? 0 : found->second.depth;
  }
  if (const auto* binary = std::get_if<ir::Binary>(&expr->node)) {
    return std::max(depth_of(binary->a), depth_of(binary->b));
  }
  if (const auto* unary = std::get_if<ir::Unary>(&expr->node)) return depth_of(unary->a);
  if (const auto* cast = std::get_if<ir::Cast>(&expr->node)) return depth_of(cast->value);
  if (const auto* select = std::get_if<ir::Select>(&expr->node)) {
    return std::max(
        {depth_of(select->condition), depth_of(select->then_value), depth_of(select->else_value)});
  }
  return std::holds_alternative<ir::IntImm>(expr->node) ? 0 : depth_;
}

}  // namespace fettle::backend::llvm_emit
