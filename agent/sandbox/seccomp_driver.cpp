// seccomp-bpf program of workers that run a vendor's driver (seccomp.h).
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <vector>

#include "agent/sandbox/seccomp.h"

namespace fettle::agent {
namespace {

#if defined(__x86_64__)
constexpr unsigned kAuditArch = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr unsigned kAuditArch = AUDIT_ARCH_AARCH64;
#else
constexpr unsigned kAuditArch = AUDIT_ARCH_ARM;
#endif

constexpr unsigned kForbidden[] = {
    // programs and processes; a thread is a clone that shares the process
    __NR_execve,
    __NR_execveat,
    __NR_ptrace,
    __NR_process_vm_readv,
    __NR_process_vm_writev,
    __NR_kill,
    __NR_tkill,
    __NR_setns,
    __NR_unshare,
    __NR_personality,
#if defined(__NR_fork)
    __NR_fork,
    __NR_vfork,
#endif
    // network
    __NR_socket,
    __NR_connect,
    __NR_bind,
    __NR_listen,
    __NR_accept4,
    __NR_sendto,
#if defined(__NR_accept)
    __NR_accept,
#endif
    // the file system
    __NR_unlinkat,
    __NR_renameat,
    __NR_renameat2,
    __NR_mkdirat,
    __NR_mknodat,
    __NR_linkat,
    __NR_symlinkat,
    __NR_truncate,
    __NR_fchmod,
    __NR_fchmodat,
    __NR_fchown,
    __NR_fchownat,
    __NR_setxattr,
    __NR_lsetxattr,
    __NR_fsetxattr,
    __NR_mount,
    __NR_umount2,
    __NR_pivot_root,
    __NR_chroot,
#if defined(__NR_unlink)
    __NR_unlink,
    __NR_rmdir,
    __NR_rename,
    __NR_mkdir,
    __NR_mknod,
    __NR_link,
    __NR_symlink,
    __NR_chmod,
    __NR_chown,
    __NR_lchown,
    __NR_creat,
#endif
    // the machine
    __NR_reboot,
    __NR_swapon,
    __NR_swapoff,
    __NR_settimeofday,
    __NR_clock_settime,
    __NR_sethostname,
    __NR_setdomainname,
    __NR_init_module,
    __NR_finit_module,
    __NR_delete_module,
    __NR_bpf,
    __NR_perf_event_open,
    __NR_keyctl,
    __NR_add_key,
    __NR_request_key,
    __NR_syslog,
    __NR_setuid,
    __NR_setgid,
    __NR_setreuid,
    __NR_setregid,
    __NR_setresuid,
    __NR_setresgid,
    __NR_setgroups,
    __NR_capset,
};

}  // namespace

std::string install_driver_filter() {
  std::vector<sock_filter> code;
  const auto statement = [&](unsigned short op, unsigned k) { code.push_back(BPF_STMT(op, k)); };
  const auto refuse = [&](int error) {
    statement(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error));
  };
  const auto unless = [&](unsigned number, unsigned char skipped) {
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, skipped));
  };
  statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch));
  code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kAuditArch, 1, 0));
  refuse(EPERM);  // calls of another architecture's table
  statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
#if defined(__x86_64__)
  code.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1));
  refuse(EPERM);  // x32's numbers
#endif
  for (const unsigned number : kForbidden) {
    unless(number, 1);
    refuse(EPERM);
  }
#if defined(__NR_clone3)
  // Its flags lie in memory, where a filter cannot look: libc then takes clone.
  unless(__NR_clone3, 1);
  refuse(ENOSYS);
#endif
  unless(__NR_clone, 4);
  statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[0]));
  code.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0));
  refuse(EPERM);
  statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  // Signals to this process alone.
  unless(__NR_tgkill, 4);
  statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[0]));
  code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(getpid()), 1, 0));
  refuse(EPERM);
  statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);

  const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return std::string("no_new_privs: ") + std::strerror(errno);
  }
  if (syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0) {
    return std::string("seccomp: ") + std::strerror(errno);
  }
  return "";
}

}  // namespace fettle::agent
