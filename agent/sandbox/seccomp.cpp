// The list of CPU workers (seccomp.h). What is not named here traps with SIGSYS, whose
// handler writes the death note.
#include "agent/sandbox/seccomp.h"

#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>

#include "agent/sandbox/filter_program.h"

namespace fettle::agent {
namespace {

// Memory is bounded by RLIMIT_AS, so mapping is allowed; talking goes through the
// one socket and the files opened before.
constexpr unsigned kAllowed[] = {
    __NR_read,
    __NR_write,
    __NR_pread64,
    __NR_close,
    __NR_munmap,
    __NR_brk,
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
    0x0f0002 /* __ARM_NR_cacheflush */,
    0x0f0005 /* __ARM_NR_set_tls */,
#endif
};

// Waiting and waking; not those with priority inheritance, whose kernel code is intricate.
constexpr unsigned kFutexCalls[] = {
    __NR_futex,
#if defined(__arm__)
    __NR_futex_time64,
#endif
};
constexpr unsigned kFutexOperations[] = {FUTEX_WAIT, FUTEX_WAKE, FUTEX_REQUEUE, FUTEX_WAIT_BITSET,
                                         FUTEX_WAKE_BITSET};

#if defined(__arm__)
constexpr unsigned kMap = __NR_mmap2;
#else
constexpr unsigned kMap = __NR_mmap;
#endif

// Of one call that makes memory writable: more than a worker's allocator ever asks for, and as far
// as a range that begins before the program's own image could reach into it.
constexpr std::uint64_t kMostWritable = std::uint64_t{1} << 30;

}  // namespace

std::string install_system_call_filter(const CodePlaces& places) {
  FilterProgram filter(SECCOMP_RET_TRAP);
  const auto allow = [&] { filter.answer(SECCOMP_RET_ALLOW); };
  const auto trap = [&] { filter.answer(SECCOMP_RET_TRAP); };
  for (const unsigned number : kAllowed) filter.on(number, SECCOMP_RET_ALLOW);
  // No looking at what comes next in its sockets.
  filter.on(__NR_recvmsg, [&] {
    filter.where_low_has(2, MSG_PEEK, trap);
    allow();
  });
  for (const unsigned number : kFutexCalls) {
    filter.on(number, [&] {
      const auto which = static_cast<std::uint32_t>(FUTEX_CMD_MASK);
      for (const unsigned operation : kFutexOperations) {
        filter.where_low_masked_is(1, which, operation, allow);
      }
      trap();
    });
  }
  // An abort signals its own process. The filter is made by the one that it confines; a pid is an
  // int: what stands above its low word is not looked at by the kernel either.
  filter.on(__NR_tgkill, [&] {
    filter.where_low_is(0, static_cast<std::uint32_t>(getpid()), allow);
    trap();
  });

  // Not what takes pages from the machine, as root may: of files they are other processes', too.
  filter.on(__NR_madvise, [&] {
    filter.where_at_least(2, kFirstPoison, trap);
    allow();
  });

  // Memory. Executable is what a loader has put into its arena, and there is no other way to it:
  // not by mapping, nor by moving a mapping over the program's own code.
  filter.on(kMap, [&] {
    filter.where_low_has(2, PROT_EXEC, trap);
    allow();
  });
  filter.on(__NR_mremap, [&] {
    filter.where_low_masked_is(3, ~std::uint32_t{MREMAP_MAYMOVE}, 0, allow);
    trap();
  });
  filter.on(__NR_mprotect, [&] {
    filter.where_low_has(2, PROT_EXEC, [&] {
      filter.where_low_has(2, PROT_WRITE, trap);
      filter.where_below(0, places.arena.begin, trap);
      filter.where_at_least(0, places.arena.end, trap);
      // What lies behind the arena is its own, as much again.
      filter.where_at_least(1, std::uint64_t{places.arena.end} - places.arena.begin + 1, trap);
      allow();
    });
    filter.where_low_has(2, PROT_WRITE, [&] {
      filter.where_at_least(1, kMostWritable + 1, trap);
      const std::uint64_t begin = places.own.begin;
      filter.where_at_least(0, begin - std::min(begin, kMostWritable),
                            [&] { filter.where_below(0, places.own.end, trap); });
      allow();
    });
    allow();
  });
  trap();
  return filter.install();
}

}  // namespace fettle::agent
