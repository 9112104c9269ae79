// From ir::Module to relocatable objects in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "host/ir/module.h"
#include "host/space/cpu_target.h"
#include "schemas/wire/result.h"

namespace fettle::backend::cpu_llvm {

struct Object {
  std::vector<std::uint8_t> bytes;  // ELF, ET_REL
  std::string llvm_ir;              // after optimisation; only when asked for
};

// LLVM for one target, its target machine and list of passes made once. One thread at a time.
class Compiler {
 public:
  // InvalidArgument: LLVM does not know the target (llvm_target.h).
  static Result<std::unique_ptr<Compiler>> make(const space::CpuTarget& target);
  ~Compiler();

  // Every function becomes an entry point of its own name. BuildError: LLVM refuses
  // one; Internal: the IR holds what lowering should have removed.
  Result<Object> compile(std::span<const ir::Function* const> functions, bool keep_llvm_ir = false);

  // Objects of the whole module, kept by content: what launches before the last one run, which
  // often is the same in other programs of a task, one by one, and the rest together, for
  // candidates that differ in nothing.
  Result<std::vector<std::shared_ptr<const Object>>> compile(const ir::Module& module);

  // How often an object was used again.
  std::size_t kept_objects_used() const;

 private:
  struct State;
  explicit Compiler(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace fettle::backend::cpu_llvm
