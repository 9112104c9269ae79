// Machine code back to text, to look at it and to prove what it does not hold.
#include "host/backend/cpu_llvm/disassemble.h"

#include <array>
#include <cstdlib>

#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/raw_ostream.h>

#include "host/backend/cpu_llvm/llvm_target.h"

namespace fettle::backend::cpu_llvm {
namespace {

// "\tvfmadd231ps\t%ymm0, …" → mnemonic and operands.
void split(const std::string& text, Instruction& out) {
  const std::size_t from = text.find_first_not_of(" \t");
  if (from == std::string::npos) return;
  const std::size_t end = text.find_first_of(" \t", from);
  out.mnemonic = text.substr(from, end - from);
  if (end == std::string::npos) return;
  const std::size_t rest = text.find_first_not_of(" \t", end);
  if (rest != std::string::npos) out.operands = text.substr(rest);
}

bool touches_memory(const Instruction& i, const std::string& arch) {
  if (arch == "x86_64") {
    return i.operands.find('(') != std::string::npos && !i.mnemonic.starts_with("lea");
  }
  // An address begins an operand; a bracket behind a register is its lane: v1.s[3].
  return i.operands.starts_with('[') || i.operands.find(" [") != std::string::npos;
}

bool is_store(const Instruction& i, const std::string& arch) {
  if (!touches_memory(i, arch)) return false;
  if (arch == "x86_64") {  // AT&T: the destination is last
    return i.operands.ends_with(')') && i.mnemonic.find("mov") != std::string::npos;
  }
  return i.mnemonic.starts_with("st") || i.mnemonic.starts_with("vst") ||
         i.mnemonic.starts_with("push");
}

bool on_stack(const Instruction& i, const std::string& arch) {
  if (!touches_memory(i, arch)) return false;
  if (arch == "x86_64") return i.operands.find("(%rsp") != std::string::npos;
  return i.operands.find("[sp") != std::string::npos ||
         i.operands.find("[r11") != std::string::npos;
}

bool multiplies(const std::string& m) {
  return m.starts_with("vmul") || m.starts_with("mulp") || m.starts_with("muls") ||
         m.starts_with("fmul") || m.starts_with("vmla") || m.starts_with("vmls");
}

// Where a relative branch goes; none for other instructions. The printers give the
// distance (x86: from the next instruction; AArch64: from this one, "#-40";
// ARM: from this one plus 8).
std::optional<std::int64_t> branch_target(const Instruction& i, const std::string& arch) {
  const std::string& m = i.mnemonic;
  const auto here = static_cast<std::int64_t>(i.offset);
  auto number = [](const std::string& text) { return std::strtoll(text.c_str(), nullptr, 0); };
  const std::size_t hash = i.operands.rfind('#');
  if (arch == "x86_64") {
    if (!m.starts_with('j') || i.operands.empty() || i.operands[0] == '*') return std::nullopt;
    return here + i.bytes + number(i.operands);
  }
  if (hash == std::string::npos || m == "bl" || m == "blx" || m == "bic" || m == "bfi" ||
      m == "bfc")
    return std::nullopt;
  const bool branch = m.starts_with("b") || m.starts_with("cb") || m.starts_with("tb");
  if (!branch) return std::nullopt;
  return here + number(i.operands.substr(hash + 1)) + (arch == "armv7" ? 8 : 0);
}

}  // namespace

Result<std::vector<Instruction>> disassemble(std::span<const std::uint8_t> code,
                                             std::uint64_t offset, const space::CpuTarget& target) {
  Result<std::string> triple = triple_of(target);
  if (!triple) return std::move(triple).error();
  std::string problem;
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(*triple, problem);
  if (found == nullptr) return Error{ErrorCode::InvalidArgument, problem};
  const char* features = target.arch == "armv7"     ? "+neon,+vfp4,+d32,+fullfp16,+hwdiv-arm"
                         : target.arch == "aarch64" ? "+all"
                                                    : "";
  const llvm::MCTargetOptions options;
  std::unique_ptr<llvm::MCRegisterInfo> registers(found->createMCRegInfo(*triple));
  std::unique_ptr<llvm::MCAsmInfo> assembly(found->createMCAsmInfo(*registers, *triple, options));
  std::unique_ptr<llvm::MCInstrInfo> instructions(found->createMCInstrInfo());
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget(
      found->createMCSubtargetInfo(*triple, "", features));
  llvm::MCContext context(llvm::Triple(*triple), assembly.get(), registers.get(), subtarget.get());
  std::unique_ptr<llvm::MCDisassembler> decoder(found->createMCDisassembler(*subtarget, context));
  std::unique_ptr<llvm::MCInstPrinter> printer(
      found->createMCInstPrinter(llvm::Triple(*triple), assembly->getAssemblerDialect(), *assembly,
                                 *instructions, *registers));
  if (decoder == nullptr || printer == nullptr)
    return Error{ErrorCode::Internal, "LLVM has no disassembler for " + *triple};

  std::vector<Instruction> result;
  const std::uint64_t smallest = target.arch == "x86_64" ? 1 : 4;
  for (std::uint64_t at = 0; at < code.size();) {
    llvm::MCInst decoded;
    std::uint64_t size = 0;
    llvm::ArrayRef<std::uint8_t> rest(code.data() + at, code.size() - at);
    const auto status = decoder->getInstruction(decoded, size, rest, offset + at, llvm::nulls());
    Instruction instruction;
    instruction.offset = offset + at;
    if (status == llvm::MCDisassembler::Fail) {
      size = std::min<std::uint64_t>(smallest, code.size() - at);
    } else {
      std::string text;
      llvm::raw_string_ostream out(text);
      printer->printInst(&decoded, offset + at, "", *subtarget, out);
      split(text, instruction);
    }
    instruction.bytes = static_cast<std::uint32_t>(size);
    at += size;
    result.push_back(std::move(instruction));
  }
  return result;
}

Result<std::vector<Instruction>> disassemble(const wire::ImageT& image,
                                             const space::CpuTarget& target) {
  if (image.cpu == nullptr || image.cpu->code.empty()) {
    return Error{ErrorCode::InvalidArgument, "not a CPU image"};
  }
  std::vector<Instruction> all;
  for (const wire::CodeRange& range : image.cpu->code) {
    if (range.end() > image.bytes.size() || range.begin() > range.end()) {
      return Error{ErrorCode::InvalidArgument, "instructions outside the image"};
    }
    const auto bytes = std::span(image.bytes).subspan(range.begin(), range.end() - range.begin());
    Result<std::vector<Instruction>> part = disassemble(bytes, range.begin(), target);
    if (!part) return part;
    all.insert(all.end(), part->begin(), part->end());
  }
  return all;
}

bool is_fused(const std::string& arch, const std::string& m) {
  static const std::array<const char*, 6> kX86 = {"vfmadd",  "vfmsub",  "vfnmadd",
                                                  "vfnmsub", "vfcmadd", "v4fmadd"};
  static const std::array<const char*, 4> kArm = {"vfma", "vfms", "vfnma", "vfnms"};
  static const std::array<const char*, 9> kAArch64 = {"fmadd", "fmsub", "fnmadd", "fnmsub", "fmla",
                                                      "fmls",  "fmad",  "fnmla",  "fmopa"};
  auto any = [&](const auto& prefixes) {
    for (const char* prefix : prefixes) {
      if (m.starts_with(prefix)) return true;
    }
    return false;
  };
  return arch == "x86_64" ? any(kX86) : arch == "armv7" ? any(kArm) : any(kAArch64);
}

bool is_dot_product(const std::string& arch, const std::string& m) {
  static const std::array<const char*, 2> kX86 = {"vpdpb", "vpdpw"};
  // ARMv7's smmla is another: the upper half of a product of words.
  static const std::array<const char*, 4> kArm = {"vsdot", "vudot", "vusdot", "vsudot"};
  static const std::array<const char*, 7> kAArch64 = {"sdot",  "udot",  "usdot", "sudot",
                                                      "smmla", "ummla", "usmmla"};
  auto any = [&](const auto& prefixes) {
    for (const char* prefix : prefixes) {
      if (m.starts_with(prefix)) return true;
    }
    return false;
  };
  return arch == "x86_64" ? any(kX86) : arch == "armv7" ? any(kArm) : any(kAArch64);
}

CodeCounts count(std::span<const Instruction> code, const std::string& arch) {
  CodeCounts counts;
  for (const Instruction& each : code) {
    ++counts.instructions;
    counts.fused += is_fused(arch, each.mnemonic);
    counts.dot_products += is_dot_product(arch, each.mnemonic);
    counts.multiplies += multiplies(each.mnemonic);
    const bool store = is_store(each, arch);
    counts.stores += store;
    counts.loads += touches_memory(each, arch) && !store;
    counts.stack_accesses += on_stack(each, arch);
  }
  return counts;
}

std::vector<std::span<const Instruction>> innermost_loops(std::span<const Instruction> code,
                                                          const std::string& arch) {
  std::vector<std::span<const Instruction>> loops;
  std::int64_t last_end =
      -1;  // of the previous backward branch: a loop that holds it is not innermost
  for (std::size_t i = 0; i < code.size(); ++i) {
    const std::optional<std::int64_t> target = branch_target(code[i], arch);
    if (!target || *target > static_cast<std::int64_t>(code[i].offset)) continue;
    std::size_t from = i;
    while (from > 0 && static_cast<std::int64_t>(code[from].offset) > *target) --from;
    if (last_end < *target) loops.push_back(code.subspan(from, i - from + 1));
    last_end = static_cast<std::int64_t>(code[i].offset);
  }
  return loops;
}

std::span<const Instruction> hottest_loop(std::span<const Instruction> code,
                                          const std::string& arch) {
  std::span<const Instruction> best;
  int best_work = -1;
  for (const std::span<const Instruction> loop : innermost_loops(code, arch)) {
    const CodeCounts counts = count(loop, arch);
    const int work = counts.fused + counts.dot_products + counts.multiplies;
    if (work > best_work) {
      best_work = work;
      best = loop;
    }
  }
  return best;
}

std::span<const Instruction> densest_loop(std::span<const Instruction> code,
                                          const space::CpuTarget& target) {
  std::span<const Instruction> densest;
  double most = 0;
  for (const std::span<const Instruction> loop : innermost_loops(code, target.arch)) {
    const CodeCounts counts = count(loop, target.arch);
    const double share =
        double(counts.dot_products + (target.fma ? counts.fused : counts.multiplies)) /
        counts.instructions;
    if (share > most) most = share, densest = loop;
  }
  return densest;
}

std::string to_text(std::span<const Instruction> code) {
  std::string text;
  for (const Instruction& each : code) {
    char place[24];
    std::snprintf(place, sizeof place, "%6llx:  ", static_cast<unsigned long long>(each.offset));
    text += place + (each.mnemonic.empty() ? std::string("(data)") : each.mnemonic) + " " +
            each.operands + "\n";
  }
  return text;
}

}  // namespace fettle::backend::cpu_llvm
