// By number, where the architecture has them (driver_calls.h).
#include "agent/sandbox/driver_calls.h"

#include <sys/syscall.h>

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
#ifndef __NR_quotactl_fd
#define __NR_quotactl_fd 443
#endif
#ifndef __NR_process_mrelease
#define __NR_process_mrelease 448
#endif
#ifndef __NR_fchmodat2
#define __NR_fchmodat2 452
#endif
#ifndef __NR_setxattrat
#define __NR_setxattrat 463
#define __NR_removexattrat 466
#endif
#ifndef __NR_open_tree_attr
#define __NR_open_tree_attr 467
#endif
#ifndef __NR_file_setattr
#define __NR_file_setattr 469
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
    __NR_process_mrelease,
    __NR_kcmp,
    __NR_setns,
    __NR_unshare,
    __NR_personality,
#if defined(__NR_migrate_pages)
    __NR_migrate_pages,
#endif
    __NR_shmget,
    __NR_shmat,
    __NR_shmctl,
    __NR_semget,
    __NR_semctl,
    __NR_semop,
    __NR_msgget,
    __NR_msgsnd,
    __NR_msgrcv,
    __NR_msgctl,
    __NR_mq_open,
    __NR_mq_unlink,
#if defined(__NR_semtimedop)
    __NR_semtimedop,
#endif
#if defined(__NR_semtimedop_time64)
    __NR_semtimedop_time64,
#endif
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
    // what files are beside their contents, which Landlock does not know, and their lengths, which
    // it knows since Linux 6.2
    __NR_truncate,
    __NR_fchmod,
    __NR_fchmodat,
    __NR_fchmodat2,
    __NR_fchown,
    __NR_fchownat,
    __NR_utimensat,
    __NR_setxattr,
    __NR_lsetxattr,
    __NR_fsetxattr,
    __NR_setxattrat,
    __NR_removexattr,
    __NR_lremovexattr,
    __NR_fremovexattr,
    __NR_removexattrat,
    __NR_file_setattr,
#if defined(__NR_chmod)
    __NR_chmod,
    __NR_chown,
    __NR_lchown,
    __NR_utimes,
    __NR_futimesat,
#endif
#if defined(__NR_utime)
    __NR_utime,
#endif
#if defined(__NR_chown32)  // Arm's, beside those of old
    __NR_truncate64,
    __NR_chown32,
    __NR_lchown32,
    __NR_fchown32,
    __NR_utimensat_time64,
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
    __NR_open_tree_attr,
    __NR_fanotify_init,
    __NR_fanotify_mark,
    __NR_open_by_handle_at,
    __NR_userfaultfd,
    __NR_kexec_load,
#if defined(__NR_kexec_file_load)
    __NR_kexec_file_load,
#endif
    __NR_acct,
    __NR_quotactl,
    __NR_quotactl_fd,
#if defined(__NR_iopl)
    __NR_iopl,
    __NR_ioperm,
#endif
    __NR_reboot,
    __NR_swapon,
    __NR_swapoff,
    __NR_settimeofday,
    __NR_clock_settime,
    __NR_adjtimex,
    __NR_clock_adjtime,
#if defined(__NR_clock_settime64)
    __NR_clock_settime64,
    __NR_clock_adjtime64,
#endif
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
    __NR_setfsuid,
    __NR_setfsgid,
#if defined(__NR_setuid32)
    __NR_setuid32,
    __NR_setgid32,
    __NR_setreuid32,
    __NR_setregid32,
    __NR_setresuid32,
    __NR_setresgid32,
    __NR_setgroups32,
    __NR_setfsuid32,
    __NR_setfsgid32,
#endif
    __NR_vhangup,
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
    __NR_ftruncate,  // of a file that was open before
    __NR_fallocate,
#if defined(__NR_ftruncate64)
    __NR_ftruncate64,
#endif
#if defined(__NR_unlink)
    __NR_unlink,
    __NR_rmdir,
    __NR_rename,
    __NR_mkdir,
    __NR_mknod,
    __NR_link,
    __NR_symlink,
    __NR_creat,
#endif
};

}  // namespace

std::span<const unsigned> calls_of_no_driver() { return kForbidden; }
std::span<const unsigned> calls_of_builders() { return kBuilding; }

}  // namespace fettle::agent
