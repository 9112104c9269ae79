// ObjectWriter (object_writer.h).
#include "host/backend/cpu_llvm/object_writer.h"

#include "host/backend/llvm_emit/pass_options.h"

namespace fettle::backend::cpu_llvm {

Result<std::unique_ptr<ObjectWriter>> ObjectWriter::make(llvm::TargetMachine& machine) {
  std::unique_ptr<ObjectWriter> writer(new ObjectWriter);
  const llvm_emit::PassOptions options(machine.getTargetTriple().isX86()
                                           ? llvm_emit::Passes::ForX86Kernels
                                           : llvm_emit::Passes::AsLlvmHasThem);
  if (machine.addPassesToEmitFile(writer->passes_, writer->out_, nullptr,
                                  llvm::CodeGenFileType::ObjectFile, /*DisableVerify=*/true)) {
    return Error{ErrorCode::Internal,
                 "LLVM cannot write objects for " + machine.getTargetTriple().str()};
  }
  return writer;
}

std::vector<std::uint8_t> ObjectWriter::write(llvm::Module& module) {
  bytes_.clear();
  passes_.run(module);
  return {bytes_.begin(), bytes_.end()};
}

Result<std::vector<std::uint8_t>> write_object(llvm::Module& module, llvm::TargetMachine& machine) {
  auto writer = ObjectWriter::make(machine);
  if (!writer) return std::move(writer).error();
  return (*writer)->write(module);
}

}  // namespace fettle::backend::cpu_llvm
