// LLVM's target machine for a space::CpuTarget, and what each architecture adds to it.
#include "host/backend/cpu_llvm/llvm_target.h"

#include <algorithm>
#include <mutex>

#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/SubtargetFeature.h>
#include <llvm/TargetParser/Triple.h>

namespace fettle::backend::cpu_llvm {
namespace {

void initialize_targets() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo(), LLVMInitializeX86Target(), LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter(), LLVMInitializeX86Disassembler(), LLVMInitializeX86AsmParser();
    LLVMInitializeAArch64TargetInfo(), LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC(), LLVMInitializeAArch64AsmPrinter();
    LLVMInitializeAArch64Disassembler(), LLVMInitializeAArch64AsmParser();
    LLVMInitializeARMTargetInfo(), LLVMInitializeARMTarget(), LLVMInitializeARMTargetMC();
    LLVMInitializeARMAsmPrinter(), LLVMInitializeARMDisassembler(), LLVMInitializeARMAsmParser();
  });
}

// LLVM itself goes on with an unknown name, as if it were not there, or ends the process.
Result<void> check_names(const llvm::Target& llvm_target, const std::string& triple,
                         const std::string& cpu, const std::string& features) {
  const std::unique_ptr<llvm::MCSubtargetInfo> known(
      llvm_target.createMCSubtargetInfo(triple, "", ""));
  if (!known->isCPUStringValid(cpu)) {
    return Error{ErrorCode::InvalidArgument, "LLVM knows no cpu \"" + cpu + "\" of " + triple +
                                                 "; \"generic\" is one of every architecture"};
  }
  const llvm::SubtargetFeatures list(features);
  for (const std::string& feature : list.getFeatures()) {
    const std::string name = llvm::SubtargetFeatures::StripFlag(feature).str();
    const auto all = known->getAllProcessorFeatures();
    if (std::none_of(all.begin(), all.end(), [&](const auto& row) { return name == row.Key; })) {
      return Error{ErrorCode::InvalidArgument,
                   "LLVM knows no feature \"" + name + "\" of " + triple};
    }
  }
  return {};
}

}  // namespace

Result<std::string> triple_of(const space::CpuTarget& target) {
  initialize_targets();
  std::string fallback;
  if (target.arch == "x86_64") fallback = "x86_64-unknown-linux-gnu";
  if (target.arch == "aarch64") fallback = "aarch64-unknown-linux-gnu";
  if (target.arch == "armv7") fallback = "armv7-unknown-linux-gnueabihf";
  if (fallback.empty()) {
    return Error{ErrorCode::InvalidArgument,
                 "cpu_llvm builds for x86_64, aarch64 and armv7, not for \"" + target.arch + "\""};
  }
  return target.triple.empty() ? fallback : llvm::Triple::normalize(target.triple);
}

std::string features_of(const space::CpuTarget& target) {
  std::string text;
  auto add = [&](const std::string& feature) { text += (text.empty() ? "" : ",") + feature; };
  if (target.arch == "armv7") add("+neon"), add("+vfp3");
  for (const std::string& feature : target.features) {
    add(feature.starts_with('+') || feature.starts_with('-') ? feature : "+" + feature);
  }
  if (target.arch == "armv7") add(target.fma ? "+vfp4" : "-vfp4d16sp");
  // LLVM would split vmla for cores like Cortex-A9, whose single one stalls what follows it;
  // many sums side by side hide that, and two instructions need another register.
  if (target.arch == "armv7") add("-expand-fp-mlx");
  // Of LLVM's two schedulers the one that minds registers: the other one gathers the
  // multiply-adds of a sum, so that all that they read is live at a time and spilled.
  if (target.arch == "armv7") add("+use-misched");
  if (target.arch == "x86_64" && !target.fma) add("-fma"), add("-fma4"), add("-avx512f");
  return text;
}

Result<std::unique_ptr<llvm::TargetMachine>> make_target_machine(const space::CpuTarget& target) {
  Result<std::string> triple = triple_of(target);
  if (!triple) return std::move(triple).error();
  std::string problem;
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(*triple, problem);
  if (found == nullptr) {
    return Error{ErrorCode::InvalidArgument, "LLVM knows no target " + *triple + ": " + problem};
  }
  const std::string cpu = target.cpu.empty() ? "generic" : target.cpu;
  auto names = check_names(*found, *triple, cpu, features_of(target));
  if (!names) return std::move(names).error();
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  options.FunctionSections = true;
  options.ExceptionModel = llvm::ExceptionHandling::None;
  if (target.arch == "armv7") options.FloatABIType = llvm::FloatABI::Hard;
  std::unique_ptr<llvm::TargetMachine> machine(
      found->createTargetMachine(*triple, cpu, features_of(target), options, llvm::Reloc::PIC_,
                                 llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
  if (machine == nullptr) {
    return Error{ErrorCode::InvalidArgument,
                 "LLVM refuses cpu \"" + target.cpu + "\" for " + *triple};
  }
  return machine;
}

}  // namespace fettle::backend::cpu_llvm
