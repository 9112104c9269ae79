// Static libraries of CPU code (host/backend/static_library.h): one object, whose functions LLVM
// compiles, whose images are sections of an assembler text and whose constants are read-only data.
#include "host/backend/static_library.h"

#include <algorithm>
#include <cstring>
#include <map>

#include <fmt/format.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Object/ArchiveWriter.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

#include "host/backend/cpu_llvm/llvm_target.h"
#include "host/backend/cpu_llvm/object_writer.h"
#include "host/space/cpu_target.h"

namespace fettle::backend {
namespace {

std::string entry_symbol(const StaticLibrary& library, std::size_t image, std::size_t entry) {
  return fmt::format("{}_code_{}_{}", library.name, image, entry);
}

void append_words(std::string& text, ByteView bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += 4) {
    std::uint32_t word = 0;
    if (bytes.size() - at < 4) {
      for (; at < bytes.size(); ++at) text += fmt::format(".byte {}\n", bytes[at]);
      return;
    }
    std::memcpy(&word, &bytes[at], sizeof word);
    text += fmt::format(".long {}\n", word);
  }
}

// The image in a section of its own, as long as in memory, its entry points local symbols. Its code
// is position independent, but AArch64's adrp counts pages from where it stands.
Result<std::string> image_text(const StaticLibrary& library, std::size_t index,
                               const space::CpuTarget& target) {
  const auto& [image, bytes] = library.images[index];
  const wire::CpuLayoutT& layout = *image->cpu;
  if (layout.memory_bytes > layout.text_bytes || !layout.relocations.empty()) {
    return Error{ErrorCode::Unsupported, "code with writable data cannot be exported"};
  }
  std::multimap<std::uint64_t, std::size_t> entries;
  for (std::size_t e = 0; e < image->entries.size(); ++e) {
    entries.emplace(image->entries[e]->offset, e);
  }
  std::string text = fmt::format(".section .text.{}_code_{},\"ax\",%progbits\n.p2align {}\n",
                                 library.name, index, target.arch == "aarch64" ? 12 : 6);
  std::uint64_t from = 0;
  for (const auto& [offset, entry] : entries) {
    if (target.arch == "armv7" && offset % 2 == 1) {
      return Error{ErrorCode::Unsupported, "Thumb code cannot be exported"};
    }
    if (offset >= bytes.size()) {
      return Error{ErrorCode::Malformed, "the code of '" + image->entries[entry]->name +
                                             "' lies behind its image's bytes"};
    }
    append_words(text, bytes.subspan(from, offset - from));
    const std::string symbol = entry_symbol(library, index, entry);
    text += fmt::format(".type {0},%function\n{0}:\n", symbol);
    from = offset;
  }
  append_words(text, bytes.subspan(from));
  if (bytes.size() < layout.text_bytes) {
    text += fmt::format(".zero {}\n", layout.text_bytes - bytes.size());
  }
  return text;
}

class Writer {
 public:
  Writer(const StaticLibrary& library, llvm::Module& module)
      : library_(library), module_(module), builder_(module.getContext()) {
    pointer_ = builder_.getPtrTy();
    size_ = module.getDataLayout().getIntPtrType(module.getContext());
    entry_type_ = llvm::FunctionType::get(
        builder_.getVoidTy(),
        {pointer_, builder_.getInt32Ty(), builder_.getInt32Ty(), builder_.getInt32Ty()}, false);
  }

  void run() {
    for (std::size_t i = 0; i < library_.constants.size(); ++i) add_constant(i);
    add_workspace_bytes();
    for (const LibraryFunction& function : library_.functions) add_function(function);
  }

 private:
  void add_constant(std::size_t index) {
    const auto& [bytes, alignment] = library_.constants[index];
    const llvm::StringRef text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    llvm::Constant* const contents =
        llvm::ConstantDataArray::getRaw(text, bytes.size(), builder_.getInt8Ty());
    auto* const made = new llvm::GlobalVariable(
        module_, contents->getType(), true, llvm::GlobalValue::InternalLinkage, contents,
        fmt::format("{}_constant_{}", library_.name, index));
    made->setAlignment(llvm::Align(alignment));
    constants_.push_back(made);
  }

  llvm::Function* begin(const std::string& name, llvm::Type* result,
                        const std::vector<llvm::Type*>& parameters) {
    auto* const function =
        llvm::Function::Create(llvm::FunctionType::get(result, parameters, false),
                               llvm::GlobalValue::ExternalLinkage, name, module_);
    function->setDoesNotThrow();
    function->setDSOLocal(true);
    builder_.SetInsertPoint(llvm::BasicBlock::Create(module_.getContext(), "", function));
    return function;
  }

  void add_workspace_bytes() {
    begin(library_.name + "_workspace_bytes", size_, {});
    const std::uint64_t bytes = library_.workspace_bytes + library_.workspace_alignment - 1;
    builder_.CreateRet(llvm::ConstantInt::get(size_, bytes));
  }

  llvm::Constant* number(std::uint64_t value) { return llvm::ConstantInt::get(size_, value); }

  // Leaves the function where a parameter is not where it has to be.
  void check(llvm::Function* function, const std::vector<std::uint32_t>& alignments) {
    llvm::Value* wrong = number(0);
    for (std::size_t i = 0; i < alignments.size(); ++i) {
      llvm::Value* const address = builder_.CreatePtrToInt(function->getArg(i + 1), size_);
      wrong = builder_.CreateOr(wrong, builder_.CreateAnd(address, number(alignments[i] - 1)));
    }
    auto* const leave = llvm::BasicBlock::Create(module_.getContext(), "", function);
    auto* const go_on = llvm::BasicBlock::Create(module_.getContext(), "", function);
    builder_.CreateCondBr(builder_.CreateICmpEQ(wrong, number(0)), go_on, leave);
    builder_.SetInsertPoint(leave);
    builder_.CreateRet(builder_.getInt32(static_cast<std::uint32_t>(-1)));
    builder_.SetInsertPoint(go_on);
  }

  llvm::Value* address(const LibraryPlace& place, llvm::Function* function,
                       llvm::Value* workspace) {
    llvm::Value* base = workspace;
    if (place.in == LibraryPlace::In::Constant) base = constants_[place.index];
    if (place.in == LibraryPlace::In::Parameter) base = function->getArg(place.index + 1);
    return builder_.CreateGEP(builder_.getInt8Ty(), base, number(place.offset));
  }

  void add_function(const LibraryFunction& what) {
    const bool checked = !what.alignments.empty();
    const std::vector<llvm::Type*> parameters(what.alignments.size() + 1, pointer_);
    llvm::Function* const function =
        begin(what.name, checked ? builder_.getInt32Ty() : builder_.getVoidTy(), parameters);
    std::size_t most = 1;
    for (const LibraryCall& call : what.calls) most = std::max(most, call.args.size());
    llvm::Value* const args =
        builder_.CreateAlloca(pointer_, builder_.getInt32(static_cast<std::uint32_t>(most)));
    if (checked) check(function, what.alignments);
    const std::uint64_t last = library_.workspace_alignment - 1;
    llvm::Value* const any = builder_.CreatePtrToInt(function->getArg(0), size_);
    llvm::Value* const workspace = builder_.CreateIntToPtr(
        builder_.CreateAnd(builder_.CreateAdd(any, number(last)), number(~last)), pointer_);
    for (const auto& [offset, bytes] : what.zeros) {
      builder_.CreateMemSet(builder_.CreateGEP(builder_.getInt8Ty(), workspace, number(offset)),
                            builder_.getInt8(0), bytes, llvm::MaybeAlign());
    }
    for (const LibraryCall& call : what.calls) {
      for (std::size_t i = 0; i < call.args.size(); ++i) {
        builder_.CreateStore(address(call.args[i], function, workspace),
                             builder_.CreateConstGEP1_32(pointer_, args, static_cast<unsigned>(i)));
      }
      builder_.CreateCall(
          entry_type_, entry(call),
          {args, builder_.getInt32(0), builder_.getInt32(call.extent), builder_.getInt32(0)});
    }
    if (checked) {
      builder_.CreateRet(builder_.getInt32(0));
    } else {
      builder_.CreateRetVoid();
    }
  }

  // Of the assembler text, in the same object.
  llvm::Function* entry(const LibraryCall& call) {
    const std::string symbol = entry_symbol(library_, call.image, call.entry);
    llvm::Function* function = module_.getFunction(symbol);
    if (function != nullptr) return function;
    function =
        llvm::Function::Create(entry_type_, llvm::GlobalValue::ExternalLinkage, symbol, module_);
    function->setVisibility(llvm::GlobalValue::HiddenVisibility);
    function->setDSOLocal(true);
    function->setDoesNotThrow();
    return function;
  }

  const StaticLibrary& library_;
  llvm::Module& module_;
  llvm::IRBuilder<> builder_;
  llvm::Type* pointer_;
  llvm::Type* size_;
  llvm::FunctionType* entry_type_;
  std::vector<llvm::GlobalVariable*> constants_;
};

Result<std::vector<std::uint8_t>> archive_of(const std::string& name,
                                             const std::vector<std::uint8_t>& object) {
  const llvm::StringRef bytes(reinterpret_cast<const char*>(object.data()), object.size());
  std::vector<llvm::NewArchiveMember> members;
  members.emplace_back(llvm::MemoryBufferRef(bytes, name));
  auto archive =
      llvm::writeArchiveToBuffer(members, llvm::SymtabWritingMode::NormalSymtab,
                                 llvm::object::Archive::K_GNU, /*Deterministic=*/true, false);
  if (!archive) {
    return Error{ErrorCode::Internal,
                 "writing the archive: " + llvm::toString(archive.takeError())};
  }
  const llvm::StringRef all = (*archive)->getBuffer();
  return std::vector<std::uint8_t>(all.begin(), all.end());
}

}  // namespace

Result<std::vector<std::uint8_t>> write_static_library(const StaticLibrary& library,
                                                       const space::Target& target) {
  auto cpu = space::CpuTarget::parse(target);
  if (!cpu) return Error{ErrorCode::Unsupported, "libraries are for CPUs: " + cpu.error().message};
  auto machine = cpu_llvm::make_target_machine(*cpu);
  if (!machine) return std::move(machine).error();
  llvm::LLVMContext context;
  llvm::Module module(library.name, context);
  module.setTargetTriple((*machine)->getTargetTriple().str());
  module.setDataLayout((*machine)->createDataLayout());
  module.setPICLevel(llvm::PICLevel::SmallPIC);
  for (std::size_t i = 0; i < library.images.size(); ++i) {
    auto text = image_text(library, i, *cpu);
    if (!text) return std::move(text).error();
    module.appendModuleInlineAsm(*text);
  }
  Writer(library, module).run();
  std::string problem;
  llvm::raw_string_ostream complaint(problem);
  if (llvm::verifyModule(module, &complaint)) {
    return Error{ErrorCode::Internal, "malformed LLVM IR: " + problem};
  }
  auto object = cpu_llvm::write_object(module, **machine);
  if (!object) return std::move(object).error();
  return archive_of(library.name + ".o", *object);
}

}  // namespace fettle::backend
