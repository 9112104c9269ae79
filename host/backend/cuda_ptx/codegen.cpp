// From ir::Module to PTX (codegen.h).
#include "host/backend/cuda_ptx/codegen.h"

#include <mutex>

#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/DCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Vectorize/LoadStoreVectorizer.h>

#include "host/backend/cuda_ptx/gpu_function.h"
#include "host/backend/llvm_emit/pass_options.h"

namespace fettle::backend::cuda_ptx {
namespace {

constexpr const char* kTriple = "nvptx64-nvidia-cuda";

Result<std::unique_ptr<llvm::TargetMachine>> machine_for(const space::GpuTarget& target) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo(), LLVMInitializeNVPTXTarget(), LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  Result<int> version = space::ptx_version_of(target);
  if (!version) return std::move(version).error();
  std::string problem;
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(kTriple, problem);
  if (found == nullptr) {
    return Error{ErrorCode::Unsupported, "this LLVM writes no PTX: " + problem};
  }
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  std::unique_ptr<llvm::TargetMachine> machine(found->createTargetMachine(
      kTriple, "sm_" + std::to_string(space::ptx_sm_of(target)), "+ptx" + std::to_string(*version),
      options, std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Default));
  if (machine == nullptr) return Error{ErrorCode::Unsupported, "LLVM makes no PTX machine"};
  return machine;
}

// Short, as the CPU's: the IR comes unrolled. Neighbouring loads and stores become vectors.
void optimize(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/false));
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::InstCombinePass());
  llvm::LoopPassManager hoist;
  hoist.addPass(llvm::LICMPass(llvm::LICMOptions()));
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(hoist), /*UseMemorySSA=*/true));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(llvm::LoadStoreVectorizerPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::DCEPass());
  passes.addPass(llvm::SimplifyCFGPass());
  llvm::ModulePassManager all;
  all.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(passes)));
  all.run(module, modules);
}

}  // namespace

Result<std::string> make_ptx(const ir::Module& module, const space::GpuTarget& target) {
  Result<std::unique_ptr<llvm::TargetMachine>> machine = machine_for(target);
  if (!machine) return std::move(machine).error();
  llvm::LLVMContext context;
  llvm::Module unit("candidate", context);
  unit.setTargetTriple(kTriple);
  unit.setDataLayout((*machine)->createDataLayout());
  llvm_emit::EmitOptions options;
  options.fused = true;
  options.instructions = target.instructions();
  for (const ir::Function& function : module.functions) {
    GpuFunction emitter(unit, function, options);
    if (Result<void> emitted = emitter.emit(); !emitted) return std::move(emitted).error();
  }
  std::string problem;
  llvm::raw_string_ostream complaint(problem);
  if (llvm::verifyModule(unit, &complaint)) {
    return Error{ErrorCode::Internal, "malformed LLVM IR: " + problem};
  }
  optimize(unit, **machine);
  llvm::SmallVector<char, 0> text;
  llvm::raw_svector_ostream out(text);
  llvm::legacy::PassManager passes;
  {
    const llvm_emit::PassOptions as_llvm_has_them;
    if ((*machine)->addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::AssemblyFile,
                                        /*DisableVerify=*/true)) {
      return Error{ErrorCode::Internal, "LLVM cannot write PTX"};
    }
  }
  passes.run(unit);
  return std::string(text.begin(), text.end());
}

}  // namespace fettle::backend::cuda_ptx
