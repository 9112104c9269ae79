// The compilers of a task: one for each thread that builds at the same time.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "host/backend/cpu_llvm/codegen.h"

namespace fettle::backend::cpu_llvm {

// Thread-safe.
class CompilerPool {
 public:
  explicit CompilerPool(space::CpuTarget target) : target_(std::move(target)) {}

  // use(compiler) with one that nobody else has; made at need, kept afterwards. As Compiler::make
  // where LLVM does not know the target.
  template <typename Use>
  auto with(Use&& use) const -> decltype(use(std::declval<Compiler&>())) {
    auto compiler = take();
    if (!compiler) return std::move(compiler).error();
    auto made = use(**compiler);
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(*compiler));
    return made;
  }

 private:
  Result<std::unique_ptr<Compiler>> take() const {
    const std::unique_lock lock(mutex_);
    if (idle_.empty()) return Compiler::make(target_);
    std::unique_ptr<Compiler> last = std::move(idle_.back());
    idle_.pop_back();
    return last;
  }

  space::CpuTarget target_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Compiler>> idle_;
};

}  // namespace fettle::backend::cpu_llvm
