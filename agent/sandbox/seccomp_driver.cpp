// What a process with a vendor's driver must not do (seccomp.h).
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cerrno>

#include "agent/sandbox/filter_program.h"
#include "agent/sandbox/seccomp.h"

namespace fettle::agent {
namespace {

#ifndef __NR_pidfd_send_signal  // numbers that all architectures share, newer than some headers
#define __NR_pidfd_send_signal 424
#endif
#ifndef __NR_io_uring_setup
#define __NR_io_uring_setup 425
#define __NR_io_uring_enter 426
#define __NR_io_uring_register 427
#endif
#ifndef __NR_open_tree
#define __NR_open_tree 428
#define __NR_move_mount 429
#define __NR_fsopen 430
#define __NR_fsconfig 431
#define __NR_fsmount 432
#define __NR_fspick 433
#endif
#ifndef __NR_pidfd_open
#define __NR_pidfd_open 434
#endif
#ifndef __NR_pidfd_getfd
#define __NR_pidfd_getfd 438
#endif
#ifndef __NR_process_madvise
#define __NR_process_madvise 440
#endif
#ifndef __NR_mount_setattr
#define __NR_mount_setattr 442
#endif

// What no driver needs once its device is open, whatever it builds.
constexpr unsigned kForbidden[] = {
    // other processes
    __NR_ptrace,
    __NR_process_vm_readv,
    __NR_process_vm_writev,
    __NR_process_madvise,
    __NR_kill,
    __NR_tkill,
    __NR_rt_sigqueueinfo,
    __NR_rt_tgsigqueueinfo,
    __NR_pidfd_open,
    __NR_pidfd_getfd,
    __NR_pidfd_send_signal,
    __NR_kcmp,
    __NR_setns,
    __NR_unshare,
    __NR_personality,
    // calls that this filter would not see
    __NR_io_uring_setup,
    __NR_io_uring_enter,
    __NR_io_uring_register,
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
    // the machine
    __NR_mount,
    __NR_umount2,
    __NR_pivot_root,
    __NR_chroot,
    __NR_open_tree,
    __NR_move_mount,
    __NR_fsopen,
    __NR_fsconfig,
    __NR_fsmount,
    __NR_fspick,
    __NR_mount_setattr,
    __NR_open_by_handle_at,
    __NR_userfaultfd,
    __NR_kexec_load,
    __NR_acct,
    __NR_quotactl,
#if defined(__NR_iopl)
    __NR_iopl,
    __NR_ioperm,
#endif
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

// What builds programs, beside: those of a driver that has them ready do not.
constexpr unsigned kBuilding[] = {
    // programs and processes; a thread is a clone that shares the process
    __NR_execve,
    __NR_execveat,
#if defined(__NR_fork)
    __NR_fork,
    __NR_vfork,
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
};

}  // namespace

std::string install_driver_filter(bool builds) {
  constexpr std::uint32_t kRefuse = SECCOMP_RET_ERRNO | EPERM;
  FilterProgram filter(kRefuse);
  const auto allow = [&] { filter.answer(SECCOMP_RET_ALLOW); };
  for (const unsigned number : kForbidden) filter.on(number, kRefuse);
  if (!builds) {
    for (const unsigned number : kBuilding) filter.on(number, kRefuse);
#if defined(__NR_clone3)
    // Its flags lie in memory, where a filter cannot look: libc then takes clone.
    filter.on(__NR_clone3, SECCOMP_RET_ERRNO | ENOSYS);
#endif
    filter.on(__NR_clone, [&] {
      filter.where_low_has(0, CLONE_THREAD, allow);
      filter.answer(kRefuse);
    });
  }
  // Signals to this process alone. One that it starts cannot abort by a signal; it ends all the
  // same.
  filter.on(__NR_tgkill, [&] {
    filter.where_low_is(0, static_cast<std::uint32_t>(getpid()), allow);
    filter.answer(kRefuse);
  });
  allow();
  return filter.install();
}

}  // namespace fettle::agent
