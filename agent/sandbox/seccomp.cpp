// seccomp-bpf program of CPU workers (seccomp.h). What is not named here traps
// with SIGSYS, whose handler writes the death note.
#include "agent/sandbox/seccomp.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <vector>

namespace fettle::agent {
namespace {

#if defined(__x86_64__)
constexpr unsigned kAuditArch = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr unsigned kAuditArch = AUDIT_ARCH_AARCH64;
#else
constexpr unsigned kAuditArch = AUDIT_ARCH_ARM;
#endif

// Memory is bounded by RLIMIT_AS, so mapping is allowed; talking goes through the
// one socket and the files opened before.
constexpr unsigned kAllowed[] = {
    __NR_read,
    __NR_write,
    __NR_pread64,
    __NR_recvmsg,
    __NR_close,
    __NR_munmap,
    __NR_mremap,
    __NR_madvise,
    __NR_brk,
    __NR_futex,
    __NR_sched_yield,
    __NR_nanosleep,
    __NR_clock_nanosleep,
    __NR_clock_gettime,
    __NR_getrusage,
    __NR_getpid,
    __NR_gettid,
    __NR_getrandom,
    __NR_restart_syscall,
    __NR_rt_sigreturn,
    __NR_rt_sigprocmask,
    __NR_sigaltstack,
    __NR_exit,
    __NR_exit_group,
#if defined(__arm__)
    __NR_clock_gettime64,
    __NR_clock_nanosleep_time64,
    __NR_futex_time64,
    0x0f0002 /* __ARM_NR_cacheflush */,
    0x0f0005 /* __ARM_NR_set_tls */,
#endif
};

// Mapping calls may not ask for memory that is writable and executable at once.
constexpr unsigned kMapping[] = {
    __NR_mprotect,
#if defined(__arm__)
    __NR_mmap2,
#else
    __NR_mmap,
#endif
};

// An abort signals its own process. The filter is made by the one that it confines.
constexpr unsigned kSignal = __NR_tgkill;

}  // namespace

std::string install_system_call_filter() {
  std::vector<sock_filter> code;
  auto statement = [&](unsigned short op, unsigned k) { code.push_back(BPF_STMT(op, k)); };
  auto jump_if = [&](unsigned k, unsigned char yes, unsigned char no) {
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, k, yes, no));
  };
  statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch));
  jump_if(kAuditArch, 1, 0);
  statement(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
  statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
  for (unsigned number : kAllowed) {
    jump_if(number, 0, 1);
    statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  }
  jump_if(kSignal, 0, 4);
  // A pid is an int: what stands above its low word is not looked at by the kernel either.
  statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[0]));
  jump_if(static_cast<unsigned>(getpid()), 0, 1);
  statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  statement(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
  for (unsigned number : kMapping) {
    jump_if(number, 0, 5);
    statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2]));
    statement(BPF_ALU | BPF_AND | BPF_K, PROT_WRITE | PROT_EXEC);
    jump_if(PROT_WRITE | PROT_EXEC, 1, 0);
    statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    statement(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
  }
  statement(BPF_RET | BPF_K, SECCOMP_RET_TRAP);

  const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
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
