// A function of a CPU: its frame (cpu_function.h).
#include "host/backend/cpu_llvm/cpu_function.h"

namespace fettle::backend::cpu_llvm {

Result<void> CpuFunction::emit() {
  llvm::PointerType* pointer = builder_.getPtrTy();
  llvm::IntegerType* i32 = builder_.getInt32Ty();
  const std::size_t count = function_.params.size();
  if (function_.written.size() != count) {
    return Error{ErrorCode::Internal,
                 function_.name + ": `written` has not one entry per parameter"};
  }

  // The body: buffers as noalias parameters, then begin, end, thread.
  std::vector<llvm::Type*> types(count, pointer);
  types.insert(types.end(), 3, i32);
  auto* body =
      llvm::Function::Create(llvm::FunctionType::get(builder_.getVoidTy(), types, false),
                             llvm::GlobalValue::InternalLinkage, function_.name + ".body", module_);
  body->addFnAttr(llvm::Attribute::NoUnwind);
  body->addFnAttr(llvm::Attribute::NoInline);
  const std::string width = std::to_string(options_.vector_bits);
  body->addFnAttr("prefer-vector-width", width);
  body->addFnAttr("min-legal-vector-width", width);
  for (std::size_t i = 0; i < count; ++i) {
    const auto place = static_cast<unsigned>(i);
    describe_parameter(*body, place);
    buffers_[function_.params[i].get()] = body->getArg(place);
  }

  // The entry: void entry(void* const* args, i32 begin, i32 end, i32 thread).
  current_ = llvm::Function::Create(
      llvm::FunctionType::get(builder_.getVoidTy(), {pointer, i32, i32, i32}, false),
      llvm::GlobalValue::ExternalLinkage, function_.name, module_);
  current_->setVisibility(llvm::GlobalValue::ProtectedVisibility);
  current_->addFnAttr(llvm::Attribute::NoUnwind);
  builder_.SetInsertPoint(block("entry"));
  std::vector<llvm::Value*> arguments;
  for (std::size_t i = 0; i < count; ++i) {
    llvm::Value* slot =
        builder_.CreateConstGEP1_32(pointer, current_->getArg(0), static_cast<unsigned>(i));
    arguments.push_back(builder_.CreateLoad(pointer, slot));
  }
  for (unsigned i = 1; i <= 3; ++i) arguments.push_back(current_->getArg(i));
  builder_.CreateCall(body, arguments);
  builder_.CreateRetVoid();

  emit_body(body);
  if (error_) return *error_;
  return {};
}

void CpuFunction::emit_body(llvm::Function* body) {
  current_ = body;
  builder_.SetInsertPoint(block("entry"));
  const auto count = static_cast<unsigned>(function_.params.size());
  llvm::Value* begin = builder_.CreateSExt(body->getArg(count), index_type_);
  llvm::Value* end = builder_.CreateSExt(body->getArg(count + 1), index_type_);
  if (function_.thread) {
    llvm::Value* thread = body->getArg(count + 2);
    variables_[function_.thread.get()] = {thread, builder_.CreateSExt(thread, index_type_), 0,
                                          true};
  }
  llvm::BasicBlock* start = block("start");
  builder_.CreateBr(start);
  builder_.SetInsertPoint(start);
  emit_loop(function_.parallel, begin, end, false, true, function_.body);
  builder_.CreateRetVoid();
}

}  // namespace fettle::backend::cpu_llvm
