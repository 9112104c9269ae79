// A quick look at the bytes, and the disassembler where that finds something (system_calls.h).
#include "host/backend/cpu_llvm/system_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string>

#include "host/backend/cpu_llvm/disassemble.h"

namespace fettle::backend::cpu_llvm {
namespace {

// x86-64: 0F 05 syscall, 0F 34 sysenter, CD int; wherever they lie, also within another one.
bool may_hold_x86(std::span<const std::uint8_t> code) {
  for (std::size_t i = 0; i + 1 < code.size(); ++i) {
    if (code[i] == 0xcd && code[i + 1] == 0x80) return true;
    if (code[i] == 0x0f && (code[i + 1] == 0x05 || code[i + 1] == 0x34)) return true;
  }
  return false;
}

// AArch64 (C6.2 of the Arm ARM): 1101_0100_000 imm16 000 LL, LL 01 svc, 10 hvc, 11 smc. A32 (F5.1):
// svc is 1111 in bits 27 to 24; hvc and smc are 0001_0100 and 0001_0110 with 0111 in bits 7 to 4.
bool may_hold_arm(std::span<const std::uint8_t> code, bool wide) {
  for (std::size_t i = 0; i + 4 <= code.size(); i += 4) {
    std::uint32_t word;
    std::memcpy(&word, code.data() + i, 4);
    if (wide && (word & 0xffe0001c) == 0xd4000000 && (word & 3) != 0) return true;
    if (!wide && (word & 0x0f000000) == 0x0f000000) return true;
    if (!wide && (word & 0x0fd000f0) == 0x01400070) return true;
  }
  return false;
}

bool enters_system(const std::string& mnemonic) {
  for (const char* each : {"syscall", "sysenter", "int", "svc", "hvc", "smc"}) {
    if (mnemonic == each) return true;
  }
  return false;
}

}  // namespace

Result<void> check_no_system_calls(const wire::ImageT& image, const space::CpuTarget& target) {
  const bool suspicious = std::any_of(
      image.cpu->code.begin(), image.cpu->code.end(), [&](const wire::CodeRange& range) {
        const auto code =
            std::span(image.bytes).subspan(range.begin(), range.end() - range.begin());
        return target.arch == "x86_64" ? may_hold_x86(code)
                                       : may_hold_arm(code, target.arch == "aarch64");
      });
  if (!suspicious) return {};
  const auto code = disassemble(image, target);
  if (!code) return code.error();
  for (const Instruction& each : *code) {
    if (!enters_system(each.mnemonic)) continue;
    return Error{ErrorCode::BuildError,
                 fmt::format("the code calls the operating system ({} {} at offset {}), which no "
                             "kernel may",
                             each.mnemonic, each.operands, each.offset)};
  }
  return {};
}

}  // namespace fettle::backend::cpu_llvm
