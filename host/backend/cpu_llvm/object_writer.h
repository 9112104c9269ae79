// The last step of compilation, shared by candidates and the runtime.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include "schemas/wire/result.h"

namespace fettle::backend::cpu_llvm {

// Writes modules as ELF relocatable objects, one after another, with one pipeline: making that
// costs a twentieth of running it. Each object is as a fresh writer's would be. One thread at a
// time.
class ObjectWriter {
 public:
  // `machine` must outlive the writer. Internal: LLVM writes no objects for it.
  static Result<std::unique_ptr<ObjectWriter>> make(llvm::TargetMachine& machine);

  // Runs instruction selection, which uses the module up. What LLVM refuses it tells the handler of
  // diagnostics of the module's context.
  std::vector<std::uint8_t> write(llvm::Module& module);

 private:
  ObjectWriter() : out_(bytes_) {}

  llvm::SmallVector<char, 0> bytes_;
  llvm::raw_svector_ostream out_;
  llvm::legacy::PassManager passes_;
};

// As a writer of its own does.
Result<std::vector<std::uint8_t>> write_object(llvm::Module& module, llvm::TargetMachine& machine);

}  // namespace fettle::backend::cpu_llvm
