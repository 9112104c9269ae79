// From ir::Module to a relocatable object in memory.
#include "host/backend/cpu_llvm/codegen.h"

#include <map>
#include <set>

#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Vectorize/LoadStoreVectorizer.h>

#include "host/backend/cpu_llvm/cpu_function.h"
#include "host/backend/cpu_llvm/kept_objects.h"
#include "host/backend/cpu_llvm/llvm_target.h"
#include "host/backend/cpu_llvm/object_writer.h"
#include "host/ir/fingerprint.h"

namespace fettle::backend::cpu_llvm {
namespace {

constexpr std::size_t kMostKept = std::size_t{16} << 20;  // bytes, of all objects

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
// register tiles into SSA form, share addresses and hoist them. InstCombine behind that, another
// EarlyCSE and DCE took a twentieth of a build; without them the densest loops of random programs
// are as good or a little better.
class Optimizer {
 public:
  // lanes: the CPU multiplies by one lane of a vector, so that neighbouring scalars (inputs
  // of one reduction step after another) are better loaded as one vector.
  Optimizer(llvm::TargetMachine& machine, bool lanes) : builder_(&machine) {
    builder_.registerModuleAnalyses(modules_);
    builder_.registerCGSCCAnalyses(components_);
    builder_.registerFunctionAnalyses(functions_);
    builder_.registerLoopAnalyses(loops_);
    builder_.crossRegisterProxies(loops_, functions_, components_, modules_);

    llvm::FunctionPassManager passes;
    passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
    passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
    passes.addPass(llvm::SimplifyCFGPass());
    llvm::LoopPassManager hoist;
    hoist.addPass(llvm::LICMPass(llvm::LICMOptions()));
    passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(hoist), /*UseMemorySSA=*/true));
    if (lanes) {
      passes.addPass(llvm::LoadStoreVectorizerPass());
      passes.addPass(llvm::InstCombinePass());  // a lane's copies become one shuffle
    }
    passes.addPass(llvm::SimplifyCFGPass());
    passes_.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(passes)));
  }

  void run(llvm::Module& module) {
    passes_.run(module, modules_);
    // What was found out is of this module, and its functions go with it.
    loops_.clear(), functions_.clear(), components_.clear(), modules_.clear();
  }

 private:
  llvm::LoopAnalysisManager loops_;
  llvm::FunctionAnalysisManager functions_;
  llvm::CGSCCAnalysisManager components_;
  llvm::ModuleAnalysisManager modules_;
  llvm::PassBuilder builder_;
  llvm::ModulePassManager passes_;
};

llvm_emit::EmitOptions options_for(const space::CpuTarget& target, llvm::TargetMachine& machine) {
  const auto has = [&](const char* feature) {
    return machine.getMCSubtargetInfo()->checkFeatures(feature);
  };
  llvm_emit::EmitOptions options;
  options.fused = target.fma;
  options.ask_for_fma = target.fma && target.arch == "armv7";
  options.fences_halves = target.arch == "armv7";
  options.vector_bits = target.vector_bits;
  options.shares_addresses = true;
  options.instructions = target.instructions();
  options.has_round = target.arch == "aarch64" || (target.arch == "x86_64" && has("+sse4.1"));
  options.holds_constants = true;
  return options;
}

// Functions that launches before the last one run: copies into order, padding, transforms of the
// inputs. Only few knobs change them, and they come again from candidate to candidate. (The others
// come again where knobs change nothing.)
std::set<int> earlier_functions(const ir::Module& module) {
  std::set<int> earlier;
  for (const ir::Launch& launch : module.launches) earlier.insert(launch.function);
  if (!module.launches.empty()) earlier.erase(module.launches.back().function);
  return earlier;
}

}  // namespace

struct Compiler::State {
  std::unique_ptr<llvm::TargetMachine> machine;
  llvm_emit::EmitOptions options;
  Optimizer optimizer;
  std::unique_ptr<ObjectWriter> writer;
  KeptObjects kept{kMostKept};  // by their functions' fingerprints

  State(std::unique_ptr<llvm::TargetMachine> made, const space::CpuTarget& target)
      : machine(std::move(made)),
        options(options_for(target, *machine)),
        optimizer(*machine, target.arch != "x86_64") {}

  Result<void> make_writer() {
    auto made = ObjectWriter::make(*machine);
    if (!made) return std::move(made).error();
    writer = std::move(*made);
    return {};
  }

  // A module of these functions, not yet optimised.
  Result<std::unique_ptr<llvm::Module>> emit(llvm::LLVMContext& context,
                                             std::span<const ir::Function* const> functions) const {
    auto unit = std::make_unique<llvm::Module>("candidate", context);
    unit->setTargetTriple(machine->getTargetTriple().str());
    unit->setDataLayout(machine->createDataLayout());
    unit->setPICLevel(llvm::PICLevel::SmallPIC);
    for (const ir::Function* function : functions) {
      CpuFunction emitter(*unit, *function, options);
      if (Result<void> emitted = emitter.emit(); !emitted) return std::move(emitted).error();
    }
    std::string problem;
    llvm::raw_string_ostream complaint(problem);
    if (llvm::verifyModule(*unit, &complaint)) {
      return Error{ErrorCode::Internal, "malformed LLVM IR: " + problem};
    }
    return unit;
  }

  // `problem`: of the context's diagnostics.
  Result<Object> finish(llvm::Module& unit, const std::string& problem, bool keep_llvm_ir) {
    optimizer.run(unit);
    Object object;
    if (keep_llvm_ir) {
      llvm::raw_string_ostream text(object.llvm_ir);
      unit.print(text, nullptr);
    }
    object.bytes = writer->write(unit);
    if (!problem.empty()) {
      // What a refusal leaves in a pipeline nobody promises.
      if (Result<void> anew = make_writer(); !anew) return std::move(anew).error();
      return Error{ErrorCode::BuildError, problem};
    }
    return object;
  }

  // An object of these functions; the one that is kept, where they were compiled before.
  Result<std::shared_ptr<const Object>> compile_once(
      std::span<const ir::Function* const> functions);
};

Compiler::Compiler(std::unique_ptr<State> state) : state_(std::move(state)) {}
Compiler::~Compiler() = default;
std::size_t Compiler::kept_objects_used() const { return state_->kept.used_again(); }

Result<std::unique_ptr<Compiler>> Compiler::make(const space::CpuTarget& target) {
  Result<std::unique_ptr<llvm::TargetMachine>> machine = make_target_machine(target);
  if (!machine) return std::move(machine).error();
  auto state = std::make_unique<State>(std::move(*machine), target);
  if (Result<void> writer = state->make_writer(); !writer) return std::move(writer).error();
  return std::unique_ptr<Compiler>(new Compiler(std::move(state)));
}

Result<Object> Compiler::compile(std::span<const ir::Function* const> functions,
                                 bool keep_llvm_ir) {
  std::string problem;
  llvm::LLVMContext context;
  context.setDiagnosticHandler(std::make_unique<Diagnostics>(problem), true);
  Result<std::unique_ptr<llvm::Module>> unit = state_->emit(context, functions);
  if (!unit) return std::move(unit).error();
  return state_->finish(**unit, problem, keep_llvm_ir);
}

Result<std::shared_ptr<const Object>> Compiler::State::compile_once(
    std::span<const ir::Function* const> functions) {
  std::string all;
  for (const ir::Function* function : functions) all += ir::fingerprint(*function);
  const wire::Hash source =
      content_hash({reinterpret_cast<const std::uint8_t*>(all.data()), all.size()});
  if (std::shared_ptr<const Object> object = kept.find(source)) return object;
  std::string problem;
  llvm::LLVMContext context;
  context.setDiscardValueNames(true);  // names cost time
  context.setDiagnosticHandler(std::make_unique<Diagnostics>(problem), true);
  Result<std::unique_ptr<llvm::Module>> unit = emit(context, functions);
  if (!unit) return std::move(unit).error();
  Result<Object> made = finish(**unit, problem, false);
  if (!made) return std::move(made).error();
  auto object = std::make_shared<const Object>(std::move(*made));
  kept.keep(source, object);
  return object;
}

Result<std::vector<std::shared_ptr<const Object>>> Compiler::compile(const ir::Module& module) {
  const std::set<int> earlier = earlier_functions(module);
  std::vector<std::vector<const ir::Function*>> units(1);  // the first: all that is not earlier
  for (std::size_t i = 0; i < module.functions.size(); ++i) {
    const ir::Function* const function = &module.functions[i];
    if (earlier.contains(static_cast<int>(i))) {
      units.push_back({function});
    } else {
      units.front().push_back(function);
    }
  }
  std::vector<std::shared_ptr<const Object>> objects;
  for (const std::vector<const ir::Function*>& functions : units) {
    if (functions.empty()) continue;
    Result<std::shared_ptr<const Object>> object = state_->compile_once(functions);
    if (!object) return std::move(object).error();
    objects.push_back(std::move(*object));
  }
  return objects;
}

}  // namespace fettle::backend::cpu_llvm
