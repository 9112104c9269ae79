// What all filters have in common (filter_program.h).
#include "agent/sandbox/filter_program.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace fettle::agent {
namespace {

#if defined(__x86_64__)
constexpr unsigned kAuditArch = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr unsigned kAuditArch = AUDIT_ARCH_AARCH64;
#else
constexpr unsigned kAuditArch = AUDIT_ARCH_ARM;
#endif

}  // namespace

FilterProgram::FilterProgram(std::uint32_t otherwise) {
  code_.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)));
  code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kAuditArch, 1, 0));
  answer(otherwise);
  code_.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
#if defined(__x86_64__)
  jump(BPF_JGE, 0x40000000, [&] { answer(otherwise); });
#endif
}

void FilterProgram::load(int argument, int word) {
  code_.push_back(
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
               static_cast<std::uint32_t>(offsetof(seccomp_data, args) + 8 * argument + 4 * word)));
}

std::uint8_t FilterProgram::distance_from(std::size_t at) {
  const std::size_t steps = code_.size() - at - 1;
  too_long_ = too_long_ || steps > 255;
  return static_cast<std::uint8_t>(steps);
}

std::string FilterProgram::install() const {
  if (too_long_) return "seccomp: the filter has a jump that is too long";
  const sock_fprog program{static_cast<unsigned short>(code_.size()),
                           const_cast<sock_filter*>(code_.data())};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return std::string("no_new_privs: ") + std::strerror(errno);
  }
  // TSYNC: the measuring threads exist already.
  if (syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0) {
    return std::string("seccomp: ") + std::strerror(errno);
  }
  return "";
}

}  // namespace fettle::agent
