// What a process with a vendor's driver must not do (seccomp.h).
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cerrno>

#include "agent/sandbox/driver_calls.h"
#include "agent/sandbox/filter_program.h"
#include "agent/sandbox/seccomp.h"

namespace fettle::agent {
namespace {

#ifndef __NR_openat2
#define __NR_openat2 437
#endif

// Numbers as in Linux' headers, which give some of them to C libraries only.
constexpr std::uint32_t kSetOwner = 8, kSetSignal = 10, kSetOwnerEx = 15;  // of fcntl
constexpr std::uint32_t kOneProcess = 1;                                   // of ioprio_set
// Of ioctl. Sockets' owners, who get their signals; words put into a terminal's input, and what
// else a terminal does to those who have it.
constexpr std::uint32_t kForbiddenControls[] = {
    0x8901 /* FIOSETOWN */, 0x8902 /* SIOCSPGRP */,
    0x5412 /* TIOCSTI */,   0x541c /* TIOCLINUX */,
    0x540e /* TIOCSCTTY */, 0x5423 /* TIOCSETD */,
    0x541d /* TIOCCONS */,  0x401c5820 /* FS_IOC_FSSETXATTR */};
// By their second byte, those of file systems: flags of files, generations of inodes, clones,
// fs-verity, encryption, FAT, Btrfs, F2FS. They take files that are open to be read only.
constexpr std::uint32_t kFileSystems[] = {0x6600, 0x7600, 0x7200, 0x9400, 0xf500};

constexpr std::uint32_t kRefuse = SECCOMP_RET_ERRNO | EPERM;

// By these a process ends others of its user, or takes their cores from them. A filter knows one
// number as its own: that of the process, which is also its first thread's.
constexpr unsigned kOfAProcess[] = {
    __NR_prlimit64,      __NR_sched_setaffinity, __NR_sched_setscheduler,
    __NR_sched_setparam, __NR_sched_setattr,     __NR_move_pages,
};
constexpr unsigned kFileControl[] = {
#if defined(__NR_fcntl64)
    __NR_fcntl64,
#endif
    __NR_fcntl,
};

void keep_to_own_process(FilterProgram& filter) {
  const auto own = static_cast<std::uint32_t>(getpid());
  const auto allow = [&] { filter.answer(SECCOMP_RET_ALLOW); };
  const auto refuse = [&] { filter.answer(kRefuse); };
  const auto if_own = [&](int argument) {
    filter.where_low_is(argument, 0, allow);
    filter.where_low_is(argument, own, allow);
  };
  // Ids are ints: what stands above their low word is not looked at by the kernel either.
  for (const unsigned number : kOfAProcess) {
    filter.on(number, [&] {
      if_own(0);
      refuse();
    });
  }
  filter.on(__NR_setpriority, [&] {
    filter.where_low_is(0, PRIO_PROCESS, [&] {
      if_own(1);
      refuse();
    });
    refuse();
  });
  filter.on(__NR_ioprio_set, [&] {
    filter.where_low_is(0, kOneProcess, [&] {
      if_own(1);
      refuse();
    });
    refuse();
  });
  // One that it starts cannot abort by a signal; it ends all the same.
  filter.on(__NR_tgkill, [&] {
    filter.where_low_is(0, own, allow);
    refuse();
  });
  for (const unsigned number : kFileControl) {
    filter.on(number, [&] {
      for (const std::uint32_t what : {kSetOwner, kSetOwnerEx, kSetSignal}) {
        filter.where_low_is(1, what, refuse);
      }
      allow();
    });
  }
  filter.on(__NR_madvise, [&] {
    filter.where_at_least(2, kFirstPoison, refuse);
    allow();
  });
  // Datagrams go to whoever is named in each.
  filter.on(__NR_socketpair, [&] {
    filter.where_low_masked_is(1, 0xf, SOCK_STREAM, allow);
    filter.where_low_masked_is(1, 0xf, SOCK_SEQPACKET, allow);
    refuse();
  });
}

// Landlock looks at what a file is opened for. Before Linux 6.2 it overlooks that one opened to be
// read, or for neither, is cut off.
void cut_no_file_by_opening(FilterProgram& filter) {
  const auto refuse_cutting = [&](int flags) {
    constexpr std::uint32_t looked_at = O_TRUNC | O_ACCMODE, neither = O_ACCMODE;
    for (const std::uint32_t access : {std::uint32_t{O_RDONLY}, neither}) {
      filter.where_low_masked_is(flags, looked_at, O_TRUNC | access,
                                 [&] { filter.answer(kRefuse); });
    }
    filter.answer(SECCOMP_RET_ALLOW);
  };
  filter.on(__NR_openat, [&] { refuse_cutting(2); });
#if defined(__NR_open)
  filter.on(__NR_open, [&] { refuse_cutting(1); });
#endif
  // Its flags lie in memory, where a filter cannot look: libraries then take openat.
  filter.on(__NR_openat2, SECCOMP_RET_ERRNO | ENOSYS);
}

}  // namespace

std::string install_driver_filter(bool builds) {
  FilterProgram filter(kRefuse);
  const auto allow = [&] { filter.answer(SECCOMP_RET_ALLOW); };
  const auto refuse = [&] { filter.answer(kRefuse); };
  filter.on(__NR_ioctl, [&] {
    for (const std::uint32_t what : kForbiddenControls) filter.where_low_is(1, what, refuse);
    for (const std::uint32_t what : kFileSystems) {
      filter.where_low_masked_is(1, 0xff00, what, refuse);
    }
    allow();
  });
  for (const unsigned number : calls_of_no_driver()) filter.on(number, kRefuse);
  if (!builds) {
    for (const unsigned number : calls_of_builders()) filter.on(number, kRefuse);
#if defined(__NR_clone3)
    // Its flags lie in memory as well: libc then takes clone.
    filter.on(__NR_clone3, SECCOMP_RET_ERRNO | ENOSYS);
#endif
    filter.on(__NR_clone, [&] {
      filter.where_low_has(0, CLONE_THREAD, allow);
      refuse();
    });
  }
  keep_to_own_process(filter);
  cut_no_file_by_opening(filter);
  allow();
  return filter.install();
}

}  // namespace fettle::agent
