// From ir::Module to a relocatable object in memory.
#include "host/backend/cpu_llvm/codegen.h"

#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/DCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Vectorize/LoadStoreVectorizer.h>

#include "host/backend/cpu_llvm/function_emitter.h"
#include "host/backend/cpu_llvm/llvm_target.h"
#include "host/backend/cpu_llvm/object_writer.h"

namespace fettle::backend::cpu_llvm {
namespace {

// Turns LLVM's diagnostics into the first error's text.
class Diagnostics : public llvm::DiagnosticHandler {
 public:
  explicit Diagnostics(std::string& first) : first_(first) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() == llvm::DS_Error && first_.empty()) {
      llvm::raw_string_ostream out(first_);
      llvm::DiagnosticPrinterRawOStream printer(out);
      info.print(printer);
    }
    return true;
  }

 private:
  std::string& first_;
};

// Short on purpose: the IR comes vectorised and unrolled, so what is left is to put
// register tiles into SSA form, share addresses and hoist them.
// lanes: the CPU multiplies by one lane of a vector, so that neighbouring scalars (inputs
// of one reduction step after another) are better loaded as one vector.
void optimize(llvm::Module& module, llvm::TargetMachine& machine, bool lanes) {
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
  if (lanes) {
    passes.addPass(llvm::LoadStoreVectorizerPass());
    passes.addPass(llvm::InstCombinePass());  // a lane's copies become one shuffle
  }
  passes.addPass(llvm::DCEPass());
  passes.addPass(llvm::SimplifyCFGPass());
  llvm::ModulePassManager all;
  all.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(passes)));
  all.run(module, modules);
}

}  // namespace

Result<std::vector<std::uint8_t>> write_object(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::ObjectFile,
                                  /*DisableVerify=*/true)) {
    return Error{ErrorCode::Internal,
                 "LLVM cannot write objects for " + machine.getTargetTriple().str()};
  }
  passes.run(module);
  return std::vector<std::uint8_t>(bytes.begin(), bytes.end());
}

Result<Object> compile_object(const ir::Module& module, const space::CpuTarget& target,
                              bool keep_llvm_ir) {
  Result<std::unique_ptr<llvm::TargetMachine>> machine = make_target_machine(target);
  if (!machine) return std::move(machine).error();
  std::string problem;
  llvm::LLVMContext context;
  context.setDiagnosticHandler(std::make_unique<Diagnostics>(problem), true);
  llvm::Module unit("candidate", context);
  unit.setTargetTriple((*machine)->getTargetTriple().str());
  unit.setDataLayout((*machine)->createDataLayout());
  unit.setPICLevel(llvm::PICLevel::SmallPIC);

  EmitOptions options;
  options.fused = target.fma;
  options.ask_for_fma = target.fma && target.arch == "armv7";
  options.fences_halves = target.arch == "armv7";
  options.vector_bits = target.vector_bits;
  options.instructions = target.instructions();
  options.has_round =
      target.arch == "aarch64" ||
      (target.arch == "x86_64" && (*machine)->getMCSubtargetInfo()->checkFeatures("+sse4.1"));
  options.has_masks =
      target.arch == "x86_64" && (*machine)->getMCSubtargetInfo()->checkFeatures("+avx");
  for (const ir::Function& function : module.functions) {
    FunctionEmitter emitter(unit, function, options);
    if (Result<void> emitted = emitter.emit(); !emitted) return std::move(emitted).error();
  }
  llvm::raw_string_ostream complaint(problem);
  if (llvm::verifyModule(unit, &complaint)) {
    return Error{ErrorCode::Internal, "malformed LLVM IR: " + problem};
  }
  optimize(unit, **machine, target.arch != "x86_64");

  Object object;
  if (keep_llvm_ir) {
    llvm::raw_string_ostream text(object.llvm_ir);
    unit.print(text, nullptr);
  }
  Result<std::vector<std::uint8_t>> bytes = write_object(unit, **machine);
  if (!bytes) return std::move(bytes).error();
  if (!problem.empty()) return Error{ErrorCode::BuildError, problem};
  object.bytes = std::move(*bytes);
  return object;
}

}  // namespace fettle::backend::cpu_llvm
